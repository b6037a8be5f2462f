// See enough.h.
#include "sched/place/enough.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "sched/ledger/node_index.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

/// What is asked for, and what was found: thousandths of GPUs, or CPUs.
struct InAll {
  uint64_t there = 0, free = 0, nodes = 0;
};

class AmountInAll {
 public:
  AmountInAll(const PartitionFacts& partition, const model::Request& request)
      : request_(request), filter_(request, partition) {}

  uint64_t asked() const {
    const uint32_t nodes = std::max(request_.min_nodes, 1U);
    if (request_.gpus > 0) return uint64_t{model::total_gpus(request_, nodes)} * request_.gpu_milli;
    return std::max<uint64_t>(uint64_t{filter_.all_tasks(nodes)} * request_.cpus_per_task, request_.min_cpus);
  }
  void add(const NodeAccount& account, uint64_t nodes) {
    if (filter_.failed_static_filter(account.facts, *account.node_class)) return;
    sums_.nodes += nodes;
    sums_.there += nodes * all_of(*account.node_class);
    sums_.free += nodes * free_of(account);
  }
  Enough verdict() const {
    if (sums_.nodes < request_.min_nodes || sums_.there < asked()) return Enough::kNotThere;
    return sums_.free < asked() ? Enough::kNotFree : Enough::kFree;
  }

 private:
  uint64_t all_of(const NodeClass& node_class) const {
    if (request_.gpus == 0) return uint64_t{node_class.cores} * node_class.threads;
    if (request_.gpu_type.empty()) return uint64_t{node_class.gpus} * model::kWholeGpu;
    const auto it = node_class.gpus_by_type.find(request_.gpu_type);
    return it == node_class.gpus_by_type.end() ? 0 : uint64_t{it->second.size()} * model::kWholeGpu;
  }
  uint64_t free_of(const NodeAccount& account) const {
    if (request_.gpus == 0) return uint64_t{account.free.cores.size()} * account.threads();
    uint64_t free = uint64_t{filter_.usable_gpus(*account.node_class, account.free.gpus).size()} * model::kWholeGpu;
    if (filter_.is_shared())
      for (const SharedGpu& gpu : account.free.shared) free += gpu.left;
    return free;
  }

  const model::Request& request_;
  NodeFilter filter_;
  InAll sums_;
};

}  // namespace

Enough enough_in_all(const Capacity& capacity, const PartitionFacts& partition, const model::Request& request,
                     uint64_t& steps) {
  AmountInAll count(partition, request);
  const NodeIndex* index = capacity.index(partition.name);
  if (index == nullptr) return Enough::kNotThere;
  if (request.nodelist.empty() && request.exclude.empty()) {
    for (const auto& [state, group] : index->groups()) count.add(*group.sample, group.nodes.count());
    steps += index->groups().size() + 1;
    return count.verdict();
  }
  const bool only_named =
      !request.nodelist.empty() && !(request.nodes_given && request.max_nodes > request.nodelist.size());
  const std::unordered_set<std::string_view> named(request.nodelist.begin(), request.nodelist.end());
  const std::unordered_set<std::string_view> excluded(request.exclude.begin(), request.exclude.end());
  for (NodeId id : capacity.partition_nodes(partition.name)) {
    const NodeAccount& account = *capacity.node(id);
    const std::string_view name = account.facts.name;
    if (!account.facts.usable || !account.facts.topology || excluded.contains(name)) continue;
    if (!only_named || named.contains(name)) count.add(account, 1);
  }
  steps += capacity.partition_nodes(partition.name).size() + 1;
  return count.verdict();
}

}  // namespace gw::sched
