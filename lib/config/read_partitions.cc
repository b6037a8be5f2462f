// partitions:. See read.h.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/hostlist.h"
#include "base/text.h"
#include "config/read.h"

namespace gw::config {
namespace {

// Nodes of all partitions together: bounds the memory that a few lines of ALL can take.
constexpr size_t kMaxMembers = 10 * base::kMaxHosts;

using model::Partition;
using model::PartitionState;

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
    read_map(partition_keys(), "", item, entry, problems_);
    if (!is_named(entry, item)) return;
    set_state(entry);
    set_default_for(entry, item);
    resolve_nodes(entry.p, item);
    check_times(entry.p, item);
    check_defaults(entry.p, item);
    check_qos(entry.p, item);
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

  void check_times(const Partition& p, const Value& item) {
    if (!p.unlimited && p.default_time == base::kUnlimited)
      problems_.error(place_of(item, "default_time"),
                      fmt::format("partition {} has no default_time: jobs that give no limit would never end", p.name),
                      "write default_time: 1h, or unlimited: true");
    if (p.default_time != base::kUnlimited && p.default_time > p.max_time)
      problems_.error(place_of(item, "default_time"),
                      fmt::format("partition {}: default_time is above max_time", p.name));
    if (p.unlimited && p.max_time != base::kUnlimited)
      problems_.error(place_of(item, "unlimited"), fmt::format("partition {} is unlimited and has a max_time", p.name),
                      "leave one of them out");
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
  Partition p;
  p.name = "default";
  p.is_default = true;
  p.unlimited = true;
  for (const auto& node : c.nodes) p.nodes.push_back(node.name);
  return p;
}

}  // namespace

void read_partitions(const Value& root, Config& c, Problems& problems) {
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
