// See holdings.h.
#include "sched/quota/holdings.h"

#include "sched/ledger/node_index.h"
#include "sched/quota/usage.h"

namespace gw::sched {
namespace {

Held held_of(const model::NodeShare& share) {
  return {usage_rate(share), int64_t{share.gpu_milli} * static_cast<int64_t>(share.gpus.size()),
          static_cast<int64_t>(share.cpus), static_cast<int64_t>(share.mem_mb)};
}

}  // namespace

Held held_of(const model::Allocation& allocation) {
  Held out;
  for (const model::NodeShare& share : allocation.shares) out += held_of(share);
  return out;
}

Held held_of(const Capacity& capacity, JobId id) {
  Held out;
  const auto holding = capacity.holdings().find(id);
  if (holding == capacity.holdings().end()) return out;
  for (const NodeId node : holding->second.nodes) {
    auto share = capacity.share_of(id, node);
    if (!share) continue;
    share->cpus = share->cores.size() * capacity.node(node)->threads();  // the ledger keeps cores
    out += held_of(*share);
  }
  return out;
}

Held all_of(const Capacity& capacity, const std::string& partition) {
  Held out;
  const NodeIndex* index = capacity.index(partition);
  if (index == nullptr) return out;
  for (const auto& [state, group] : index->groups()) {
    const auto nodes = static_cast<int64_t>(group.nodes.count());
    const NodeAccount& one = *group.sample;
    out.gpu_milli += nodes * one.node_class->all_gpus * int64_t{model::kWholeGpu};
    out.cpus += nodes * int64_t{one.node_class->cores} * one.node_class->threads;
    out.mem_mb += nodes * static_cast<int64_t>(one.facts.mem_mb);
  }
  return out;
}

}  // namespace gw::sched
