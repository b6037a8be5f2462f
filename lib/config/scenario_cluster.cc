// nodes, network, partitions, qos, policy and reservations of a scenario or cluster file. See scenario_read.h.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/scenario_keys.h"
#include "config/scenario_read.h"

namespace gw::config {
namespace {

using model::Partition;

template <typename T>
std::optional<T> given(const Value& map, std::string_view key, T value) {
  return map.find(key) == nullptr ? std::nullopt : std::optional<T>(std::move(value));
}

std::vector<std::string> node_names(const ScenarioCluster& c) {
  std::vector<std::string> names;
  for (const ScenarioNode& node : c.nodes) names.push_back(node.name);
  return names;
}

// Scalars are short for an entry with a name alone: `nodes: [n0, n1]`, `qos: [a, b]`.
template <typename T>
bool read_entry(std::span<const Key<T>> keys, std::span<const std::string_view> others, const Value& item,
                std::string_view what, T& line, const Reading& reading) {
  if (item.kind != Value::Kind::kScalar) return read_line(keys, others, item, what, line, reading.problems);
  read_value(keys[0].info, keys[0].at(line), item, reading.problems);
  return true;
}

// ---- Nodes

ScenarioNode node_of(const NodeLine& line, const Value& item, const Reading& reading) {
  ScenarioNode node;
  node.place = reading.place(place_of(item, "topology"));
  node.topology = line.topology;
  node.gpus = given(item, "gpus", line.gpus);
  node.cpus = given(item, "cpus", line.cpus);
  node.mem_mb = given(item, "memory", line.mem_mb);
  node.gpu_type = base::to_lower(line.gpu_type);
  node.features = line.features;
  node.weight = line.weight;
  return node;
}

void read_nodes_of(const Value& root, ScenarioCluster& c, const Reading& reading) {
  std::map<std::string, uint32_t> lines;
  for (const Value& item : list_items(root, "nodes", reading.problems)) {
    NodeLine line;
    if (!read_entry(node_line_keys(), {}, item, "an entry of nodes", line, reading)) continue;
    if (line.names.empty() && item.kind == Value::Kind::kMap && item.find("name") == nullptr)
      reading.problems.error(item, "this node has no name", "write `name: n0` or `name: \"n[0-3]\"`");
    ScenarioNode node = node_of(line, item, reading);
    for (const std::string& name : line.names) {
      if (c.nodes.size() >= base::kMaxHosts)
        return reading.problems.error(item, fmt::format("more than {} nodes", base::kMaxHosts));
      if (!is_new_name(name, item, "node", lines, reading)) continue;
      node.name = name;
      c.nodes.push_back(node);
    }
  }
}

// ---- Partitions

// As scenarios say: nothing is kept back for GPUs, and a part of a GPU is given where a job asks for one.
Partition simulated_partition() {
  Partition p;
  p.cores_per_gpu_kept = 0;
  p.allow_shared_gpus = true;
  return p;
}

void set_state(PartitionEntry& entry) {
  using model::PartitionState;
  for (PartitionState state :
       {PartitionState::kUp, PartitionState::kDown, PartitionState::kDrain, PartitionState::kInactive})
    if (base::iequals(model::name(state), entry.state)) entry.p.state = state;
}

void set_default_for(PartitionEntry& entry, const Value& item, const Reading& reading) {
  const std::vector<std::string> known = {"compute", "aux"};
  check_names(entry.default_for, known, "kind of jobs", place_of(item, "default_for"), reading);
  for (const std::string& word : entry.default_for) {
    if (word == known[0]) entry.p.default_for_compute = true;
    if (word == known[1]) entry.p.default_for_aux = true;
  }
}

void read_partition(const Value& item, const std::vector<std::string>& nodes, std::map<std::string, uint32_t>& lines,
                    ScenarioCluster& c, const Reading& reading) {
  PartitionEntry entry{simulated_partition(), "up", {}, {}};
  std::vector<Bound> keys;
  for (const auto* key : simulated_partition_keys()) keys.push_back({&key->info, key->at(entry)});
  if (!read_bound(keys, {}, item, "an entry of partitions", reading.problems)) return;
  if (!is_new_name(entry.p.name, item, "partition", lines, reading)) return;
  set_state(entry);
  set_default_for(entry, item, reading);
  take_turns(entry, item, reading.problems);
  if (item.find("nodes") == nullptr)
    reading.problems.error(item, fmt::format("partition {} does not say which nodes it has", entry.p.name),
                           "write `nodes: ALL` or a host list");
  if (entry.p.nodes.size() == 1 && base::iequals(entry.p.nodes[0], "all")) entry.p.nodes = nodes;
  check_names(entry.p.nodes, nodes, "node", place_of(item, "nodes"), reading);
  if (entry.p.is_default && std::any_of(c.partitions.begin(), c.partitions.end(), [](auto& p) { return p.is_default; }))
    reading.problems.error(place_of(item, "default"), "a second partition is the default", "leave one");
  c.partitions.push_back(std::move(entry.p));
}

void read_partitions_of(const Value& root, ScenarioCluster& c, const Reading& reading) {
  const std::vector<std::string> nodes = node_names(c);
  std::map<std::string, uint32_t> lines;
  for (const Value& item : list_items(root, "partitions", reading.problems))
    read_partition(item, nodes, lines, c, reading);
  if (!c.partitions.empty()) return;
  Partition all = simulated_partition();
  all.name = "default";
  all.is_default = true;
  all.nodes = nodes;
  c.partitions.push_back(std::move(all));
}

// ---- QOS

model::Amounts read_amounts(const Value& item, std::string_view key, const Reading& reading) {
  model::Amounts amounts;
  const Value* map = item.find(key);
  if (map == nullptr || map->kind == Value::Kind::kNull) return amounts;
  if (map->kind != Value::Kind::kMap) {
    reading.problems.error(*map, fmt::format("{} is a map of resources", key), "write {gpu: 16}");
    return amounts;
  }
  MapKeys seen;
  for (size_t i = 0; i + 1 < map->items.size(); i += 2) {
    const Value& name = map->items[i];
    if (!seen.is_new(name, reading.problems)) continue;
    const auto resource = model::parse_resource(name.text);
    if (!resource) {
      reading.problems.error(name, resource.error());
      continue;
    }
    const auto amount = model::parse_amount(*resource, map->items[i + 1].text);
    if (amount)
      amounts[*resource] = *amount;
    else
      reading.problems.error(map->items[i + 1], amount.error());
  }
  return amounts;
}

void read_one_qos(const Value& item, std::map<std::string, uint32_t>& lines, ScenarioCluster& c,
                  const Reading& reading) {
  QosLine line;
  if (!read_entry(qos_line_keys(), kQosMaps, item, "an entry of qos", line, reading)) return;
  if (!is_new_name(line.name, item, "QOS", lines, reading)) return;
  if (line.name == "cluster")
    return reading.problems.error(item, "the root of the QOS tree (cluster) is implied", "choose another name");
  ScenarioQos qos;
  qos.place = reading.place(item);
  qos.name = line.name;
  qos.parent = line.parent == "cluster" ? "" : line.parent;
  qos.guaranteed = read_amounts(item, "guaranteed", reading);
  qos.limit = read_amounts(item, "limit", reading);
  qos.limit_per_user = read_amounts(item, "limit_per_user", reading);
  qos.weight = line.weight;
  qos.priority = line.priority;
  qos.min_runtime = read_offset(line.min_runtime, false, {}, item, "min_runtime", reading);
  if (!line.grace.empty()) qos.grace = read_offset(line.grace, false, {}, item, "grace", reading);
  if (!line.patience.empty()) qos.patience = read_offset(line.patience, false, {}, item, "patience", reading);
  qos.max_wall = read_offset(line.max_wall, false, {}, item, "max_wall", reading);
  qos.max_jobs = line.max_jobs;
  qos.max_jobs_per_user = line.max_jobs_per_user;
  qos.preempt_children = line.preempt_children;
  if (line.order.empty() && !line.order_weights.empty())
    reading.problems.error(place_of(item, "order_weights"), "weights of no order", "write `order: NAME`, too");
  qos.order = line.order;
  qos.order_weights = line.order_weights;
  c.qos.push_back(std::move(qos));
}

const ScenarioQos* find_qos(const ScenarioCluster& c, const std::string& name) {
  const auto found = std::find_if(c.qos.begin(), c.qos.end(), [&name](const auto& q) { return q.name == name; });
  return found == c.qos.end() ? nullptr : &*found;
}

void check_parents(std::span<const Value> items, const ScenarioCluster& c, const Reading& reading) {
  std::vector<std::string> names;
  for (const ScenarioQos& q : c.qos) names.push_back(q.name);
  for (const Value& item : items) {
    const Value* name = item.find("name");
    const Value* parent = item.find("parent");
    if (name == nullptr || parent == nullptr || parent->text.empty() || parent->text == "cluster") continue;
    check_names({parent->text}, names, "QOS", *parent, reading);
    const ScenarioQos* at = find_qos(c, parent->text);
    for (size_t level = 0; at != nullptr && at->name != name->text && level <= c.qos.size(); ++level)
      at = at->parent.empty() ? nullptr : find_qos(c, at->parent);
    if (at != nullptr && at->name == name->text)
      reading.problems.error(*parent, fmt::format("QOS {} is below itself", name->text), "break the circle");
  }
}

void read_qos_of(const Value& root, ScenarioCluster& c, const Reading& reading) {
  std::map<std::string, uint32_t> lines;
  const std::span<const Value> items = list_items(root, "qos", reading.problems);
  for (const Value& item : items) read_one_qos(item, lines, c, reading);
  check_parents(items, c, reading);
}

// ---- Policy

ScenarioPolicy read_policy(const Value& root, const Reading& reading) {
  ScenarioPolicy policy;
  const Value* map = root.find("policy");
  policy.order_place = reading.place(place_of(root, "policy.order"));
  policy.share_place = reading.place(place_of(root, "policy.share"));
  policy.rate_place = reading.place(place_of(root, "policy.rate_model"));
  policy.reclaim_place = reading.place(place_of(root, "policy.reclaim"));
  policy.consolidate_place = reading.place(place_of(root, "policy.consolidate"));
  policy.preempt_place = reading.place(place_of(root, "policy.preempt"));
  if (map == nullptr || map->kind == Value::Kind::kNull) return policy;
  PolicyLine line;
  if (!read_line(policy_line_keys(), {}, *map, "policy", line, reading.problems)) return policy;
  policy.order = given(*map, "order", line.order);
  policy.order_weights = line.order_weights;
  policy.share = given(*map, "share", line.share);
  policy.share_weights = line.share_weights;
  policy.rate_model = given(*map, "rate_model", line.rate_model);
  policy.fit = line.fit;
  policy.usage_half_life =
      read_offset(line.usage_half_life, false, policy.usage_half_life, *map, "usage_half_life", reading);
  if (policy.usage_half_life <= base::Duration{})
    reading.problems.error(place_of(*map, "usage_half_life"), "usage_half_life must be longer than nothing");
  policy.fairness_over_time = given(*map, "fairness_over_time", line.fairness_over_time);
  policy.reservations = given(*map, "reservations", line.reservations);
  policy.candidates = given(*map, "candidates", line.candidates);
  policy.grace = given(*map, "grace", read_offset(line.grace, false, {}, *map, "grace", reading));
  policy.quantum = given(*map, "quantum", read_offset(line.quantum, false, {}, *map, "quantum", reading));
  policy.patience = given(*map, "patience", read_offset(line.patience, false, {}, *map, "patience", reading));
  policy.reclaim_delay_max = given(*map, "reclaim_delay_max",
                                   read_offset(line.reclaim_delay_max, false, {}, *map, "reclaim_delay_max", reading));
  policy.preemptions_per_hour = given(*map, "preemptions_per_hour", line.preemptions_per_hour);
  if (!line.reclaim.empty()) policy.reclaim = *model::parse_reclaim(line.reclaim);  // one of the choices
  policy.consolidate = given(*map, "consolidate", line.consolidate);
  policy.preempt = given(*map, "preempt", line.preempt);
  return policy;
}

// ---- Reservations

void set_times(const ReservationLine& line, const Value& item, ScenarioReservation& r, const Reading& reading) {
  r.start = read_offset(line.start, true, {}, item, "start", reading);
  if (line.end.empty() == line.duration.empty())
    return reading.problems.error(item, fmt::format("reservation {} needs one of end and duration", r.name),
                                  "write `duration: 1h`");
  const base::Duration length = read_offset(line.duration, false, base::seconds(1), item, "duration", reading);
  r.end = read_offset(line.end, true, r.start + length, item, "end", reading);
  if (r.end <= r.start) reading.problems.error(item, fmt::format("reservation {} ends before it begins", r.name));
  r.every = read_offset(line.every, false, {}, item, "every", reading);
  if (r.every.us != 0 && r.every < r.end - r.start)
    reading.problems.error(item, fmt::format("reservation {} begins anew before it has ended", r.name),
                           "give a shorter `duration` or a longer `every`");
}

void read_reservations(const Value& root, ScenarioCluster& c, const Reading& reading) {
  const std::vector<std::string> nodes = node_names(c);
  std::map<std::string, uint32_t> lines;
  for (const Value& item : list_items(root, "reservations", reading.problems)) {
    ReservationLine line;
    if (!read_line(reservation_line_keys(), {}, item, "an entry of reservations", line, reading.problems)) continue;
    if (!is_new_name(line.name, item, "reservation", lines, reading)) continue;
    ScenarioReservation r{line.name, line.nodes, {}, {}, line.users, line.maintenance};
    if (r.nodes.size() == 1 && base::iequals(r.nodes[0], "all")) r.nodes = nodes;
    check_names(r.nodes, nodes, "node", place_of(item, "nodes"), reading);
    if (r.nodes.empty()) reading.problems.error(item, fmt::format("reservation {} has no nodes", r.name));
    if (r.users.empty() && !r.maintenance)
      reading.problems.error(item, fmt::format("nobody may use reservation {}", r.name),
                             "write `users: [NAME]` or `maintenance: true`");
    set_times(line, item, r, reading);
    c.reservations.push_back(std::move(r));
  }
}

}  // namespace

ScenarioCluster read_cluster_parts(const Value& root, const Reading& reading) {
  ScenarioCluster c;
  read_nodes_of(root, c, reading);
  std::vector<model::SwitchConfig> switches;
  read_network(root, node_names(c), switches, c.network, reading.problems);
  read_partitions_of(root, c, reading);
  read_qos_of(root, c, reading);
  c.policy = read_policy(root, reading);
  read_reservations(root, c, reading);
  return c;
}

/// Those of the uppermost QOS are held against the nodes once these are known.
void warn_of_guarantees(const ScenarioCluster& c, const Value& root, Problems& problems) {
  if (problems.has_errors()) return;
  if (const auto fault = model::check_guarantees({c.qos.begin(), c.qos.end()}, {}))
    problems.warn(place_of(root, "qos"), fault->error.what);
}

}  // namespace gw::config
