// partitions:. See read.h.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/read.h"
#include "model/partition_keys.h"

namespace gw::config {
namespace {

// Nodes of all partitions together: bounds the memory that a few lines of ALL can take.
constexpr size_t kMaxMembers = 10 * base::kMaxHosts;

using model::Partition;
using model::PartitionState;

// Where each key of a map stands.
void note_lines(const std::string& prefix, const Value& map, Config& c) {
  for (size_t i = 0; i + 1 < map.items.size(); i += 2)
    c.lines[fmt::format("{}.{}", prefix, map.items[i].text)] = map.items[i].line;
}

// What partitions fall back to, but for nodes and what else places one among the others.
class DefaultsReader {
 public:
  DefaultsReader(Config& c, Problems& problems) : config_(c), problems_(problems) {}

  void read(const Value& map) {
    if (map.kind == Value::Kind::kNull) return;
    if (map.kind != Value::Kind::kMap)
      return problems_.error(map, "partition_defaults is a section of keys", "write its keys below it, indented");
    MapKeys seen;
    PartitionEntry entry;
    for (size_t i = 0; i + 1 < map.items.size(); i += 2)
      if (seen.is_new(map.items[i], problems_)) read_key(map.items[i], map.items[i + 1], entry);
    config_.partition_defaults = std::move(entry.p);
    note_lines("partition_defaults", map, config_);
  }

 private:
  void read_key(const Value& name, const Value& value, PartitionEntry& entry) {
    if (is_partition_default(name.text)) {
      for (const Key<PartitionEntry>& key : partition_keys())
        if (key.info.name == name.text) read_value(key.info, key.at(entry), value, problems_);
      return;
    }
    const model::PartitionKey* key = model::partition_key(name.text);
    if (key == nullptr && name.text == "time_slice")
      return problems_.error(name, "time_slice has no place in partition_defaults", "write it at each partition");
    if (key == nullptr) return tell_unknown_key(name, known(), problems_);
    problems_.error(name, fmt::format("{} has no place in partition_defaults", key->name),
                    key->cluster_key.empty() ? "write it at each partition"
                                             : fmt::format("the cluster's default is {}", key->cluster_key));
  }

  static std::vector<std::string> known() {
    std::vector<std::string> out;
    for (const Key<PartitionEntry>& key : partition_keys())
      if (is_partition_default(key.info.name)) out.emplace_back(key.info.name);
    return out;
  }

  Config& config_;
  Problems& problems_;
};

class PartitionReader {
 public:
  PartitionReader(Config& c, Problems& problems) : config_(c), problems_(problems) {
    for (const auto& node : c.nodes) nodes_.insert(node.name);
    for (const auto& qos : c.qos) {
      qos_.insert(qos.name);
      qos_names_.push_back(qos.name);
    }
  }

  bool is_full() const { return members_ > kMaxMembers; }

  void read(const Value& item) {
    if (item.kind != Value::Kind::kMap)
      return problems_.error(item, "an entry of partitions is a map", "write `- name: NAME`");
    PartitionEntry entry;
    entry.p = config_.partition_defaults;
    read_map(partition_keys(), "", item, entry, problems_);
    if (!is_named(entry, item)) return;
    note_lines("partitions." + entry.p.name, item, config_);
    take_turns(entry, item, problems_);
    if (const Value* slice = item.find("time_slice"); slice != nullptr && entry.time_slice)
      for (const std::string_view key : kSaidByTimeSlice)
        config_.lines[fmt::format("partitions.{}.{}", entry.p.name, key)] = slice->line;
    set_state(entry);
    set_default_for(entry, item);
    resolve_nodes(entry.p, item);
    cut_default_time(entry.p, item);
    check_times(entry.p, item);
    check_defaults(entry.p, item);
    check_qos(entry.p, item);
    const bool has_own = !entry.p.order.empty();
    if (has_own || !entry.p.order_weights.empty())
      check_order({place_of(item, "order"), has_own ? entry.p.order : config_.order, place_of(item, "order_weights"),
                   entry.p.order_weights},
                  !config_.plugin_dirs.empty(), problems_);
    if (!entry.p.filter.empty())
      check_filter({place_of(item, "filter"), entry.p.filter, place_of(item, "filter_weights"), entry.p.filter_weights},
                   !config_.plugin_dirs.empty(), problems_);
    else if (!entry.p.filter_weights.empty())
      problems_.error(place_of(item, "filter_weights"), "weights of no filter", "write `filter: NAME`, too");
    members_ += entry.p.nodes.size();
    if (is_full()) problems_.error(item, fmt::format("more than {} nodes in all partitions together", kMaxMembers));
    config_.partitions.push_back(std::move(entry.p));
  }

 private:
  bool is_named(const PartitionEntry& entry, const Value& item) {
    if (entry.p.name.empty()) {
      if (item.find("name") == nullptr)
        problems_.error(item, "this entry of partitions has no name", "write `name: NAME`");
      return false;
    }
    auto [first, is_new] = lines_.emplace(entry.p.name, item.line);
    if (!is_new)
      problems_.error(item, fmt::format("partition {} is defined twice, first in line {}", entry.p.name, first->second),
                      "leave one");
    return is_new;
  }

  static void set_state(PartitionEntry& entry) {
    for (PartitionState state :
         {PartitionState::kUp, PartitionState::kDown, PartitionState::kDrain, PartitionState::kInactive})
      if (base::iequals(model::name(state), entry.state)) entry.p.state = state;
  }

  void set_default_for(PartitionEntry& entry, const Value& item) {
    const std::string known[] = {"compute", "aux"};
    for (const std::string& word : entry.default_for) {
      if (word == known[0])
        entry.p.default_for_compute = true;
      else if (word == known[1])
        entry.p.default_for_aux = true;
      else
        problems_.error(place_of(item, "default_for"),
                        fmt::format("\"{}\" is neither compute nor aux", base::printable(word)),
                        base::did_you_mean(word, known));
    }
  }

  void resolve_nodes(Partition& p, const Value& item) {
    if (item.find("nodes") == nullptr)
      return problems_.error(item, fmt::format("partition {} does not say which nodes it has", p.name),
                             "write `nodes: ALL` or a host list");
    if (p.nodes.size() == 1 && base::iequals(p.nodes[0], "all")) {
      p.nodes.clear();
      for (const auto& node : config_.nodes) p.nodes.push_back(node.name);
    }
    std::unordered_set<std::string_view> seen;
    std::vector<std::string> known, unknown;
    for (const std::string& name : p.nodes)
      if (seen.insert(name).second) (nodes_.contains(name) ? known : unknown).push_back(name);
    if (!unknown.empty()) tell_unknown(p, unknown, item);
    if (p.nodes.empty()) problems_.warn(item, fmt::format("partition {} has no nodes", p.name), "no job can run in it");
    p.nodes = std::move(known);
  }

  void tell_unknown(const Partition& p, const std::vector<std::string>& unknown, const Value& item) {
    std::string meant;
    if (problems_.wants_hints()) {
      std::vector<std::string> names;
      for (const auto& node : config_.nodes) names.push_back(node.name);
      meant = base::did_you_mean(unknown[0], names);
    }
    std::string list = base::printable(base::compress_hostlist(unknown));
    problems_.error(place_of(item, "nodes"),
                    fmt::format("partition {} names nodes that do not exist: {}", p.name, list),
                    meant.empty() ? "add them under nodes:" : meant);
  }

  // What was not said here gives way to what was.
  static void cut_default_time(Partition& p, const Value& item) {
    if (item.find("default_time") == nullptr && p.default_time != base::kUnlimited)
      p.default_time = std::min(p.default_time, p.max_time);
  }

  void check_times(const Partition& p, const Value& item) {
    if (!p.unlimited && p.default_time == base::kUnlimited)
      problems_.error(place_of(item, "default_time"),
                      fmt::format("partition {} has no default_time: jobs that give no limit would never end", p.name),
                      "write default_time: 1h, or unlimited: true");
    if (p.default_time != base::kUnlimited && p.default_time > p.max_time)
      problems_.error(place_of(item, "default_time"),
                      fmt::format("partition {}: default_time is above max_time", p.name));
    if (p.unlimited && p.max_time != base::kUnlimited) {
      const bool are_both_here = item.find("unlimited") != nullptr && item.find("max_time") != nullptr;
      problems_.error(place_of(item, "unlimited"), fmt::format("partition {} is unlimited and has a max_time", p.name),
                      are_both_here
                          ? "leave one of them out"
                          : "one comes from partition_defaults: write max_time: UNLIMITED or unlimited: false");
    }
    if (p.lease != base::Duration{} && p.lease < config_.heartbeat * 2)
      problems_.error(place_of(item, "lease"),
                      fmt::format("partition {}: the lease is less than twice links.heartbeat", p.name),
                      "one late sign of life would end its jobs");
  }

  void check_defaults(const Partition& p, const Value& item) {
    check_default(p.is_default, "default", default_, p, item);
    check_default(p.default_for_compute, "default_for: compute", compute_, p, item);
    check_default(p.default_for_aux, "default_for: aux", aux_, p, item);
  }

  void check_default(bool is_set, std::string_view what, std::string& first, const Partition& p, const Value& item) {
    if (!is_set) return;
    if (first.empty()) {
      first = p.name;
      return;
    }
    problems_.error(place_of(item, what.substr(0, what.find(':'))),
                    fmt::format("partitions {} and {} are both {}", first, p.name, what), "leave one");
  }

  void check_qos(const Partition& p, const Value& item) {
    for (const std::string& name : p.allow_qos)
      if (!qos_.contains(name))
        problems_.error(place_of(item, "allow_qos"), fmt::format("no QOS \"{}\"", name),
                        problems_.wants_hints() ? base::did_you_mean(name, qos_names_) : "");
  }

  Config& config_;
  Problems& problems_;
  std::unordered_set<std::string_view> nodes_;
  std::unordered_set<std::string_view> qos_;
  std::vector<std::string> qos_names_;
  std::unordered_map<std::string, uint32_t> lines_;
  std::string default_, compute_, aux_;
  size_t members_ = 0;
};

Partition default_partition(const Config& c) {
  Partition p = c.partition_defaults;
  p.name = "default";
  p.is_default = true;
  p.unlimited = p.unlimited || (p.default_time == base::kUnlimited && p.max_time == base::kUnlimited);
  if (!p.unlimited) p.default_time = std::min(p.default_time, p.max_time);
  for (const auto& node : c.nodes) p.nodes.push_back(node.name);
  return p;
}

/// Who takes turns gives its GPUs to whoever runs on the node meanwhile, and gets them back from those alone who do
/// too.
void warn_of_shared_turns(const Value& root, const Config& c, Problems& problems) {
  std::unordered_map<std::string_view, std::string_view> turns;  // by node
  for (const Partition& p : c.partitions)
    if (p.order == "time_slice")
      for (const std::string& node : p.nodes) turns.emplace(node, p.name);
  for (const Partition& p : c.partitions) {
    if (turns.empty() || p.order == "time_slice") continue;
    const auto node =
        std::find_if(p.nodes.begin(), p.nodes.end(), [&](const auto& name) { return turns.contains(name); });
    if (node == p.nodes.end()) continue;
    problems.warn(place_of(root, "partitions"),
                  fmt::format("partitions {} and {} share node {}, and only in the first do jobs take turns",
                              turns.at(*node), p.name, *node),
                  "a job of the second keeps the GPUs of those that were suspended until it ends");
  }
}

}  // namespace

void take_turns(PartitionEntry& entry, const Value& item, Problems& problems) {
  if (!entry.time_slice) return;
  for (const std::string_view key : kSaidByTimeSlice)
    if (item.find(key) != nullptr)
      problems.error(place_of(item, key),
                     fmt::format("partition {}: {} is what time_slice says, too", base::printable(entry.p.name), key),
                     "leave one of them out");
  entry.p.order = "time_slice";
  entry.p.order_weights.clear();
  entry.p.quantum = entry.time_slice;
  entry.p.share_suspended_gpus = true;
}

void read_partitions(const Value& root, Config& c, Problems& problems) {
  for (const char* section : {"scheduler", "jobs"})
    if (const Value* map = root.find(section); map != nullptr && map->kind == Value::Kind::kMap)
      note_lines(section, *map, c);
  if (const Value* map = root.find("partition_defaults"); map != nullptr) DefaultsReader(c, problems).read(*map);
  std::span<const Value> items = list_items(root, "partitions", problems);
  if (items.empty()) {
    c.partitions = {default_partition(c)};
    return;
  }
  PartitionReader reader(c, problems);
  for (const Value& item : items) {
    reader.read(item);
    if (reader.is_full()) return;
  }
  warn_of_shared_turns(root, c, problems);
  bool has_default = std::any_of(c.partitions.begin(), c.partitions.end(), [](const Partition& p) {
    return p.is_default || p.default_for_compute || p.default_for_aux;
  });
  if (has_default || c.partitions.empty()) return;
  if (c.partitions.size() == 1)
    c.partitions[0].is_default = true;
  else
    problems.warn(place_of(root, "partitions"), "no partition is the default", "jobs must name one with -p");
}

}  // namespace gw::config
