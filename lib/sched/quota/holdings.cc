// See holdings.h.
#include "sched/quota/holdings.h"

#include <algorithm>

#include "sched/ledger/node_index.h"
#include "sched/quota/usage.h"

namespace gw::sched {
namespace {

Held held_of(const model::NodeShare& share) {
  return {usage_rate(share), int64_t{share.gpu_milli} * static_cast<int64_t>(share.gpus.size()),
          static_cast<int64_t>(share.cpus), static_cast<int64_t>(share.mem_mb)};
}

Held asked_by(const model::Request& r) {
  const uint64_t nodes = std::max(r.min_nodes, 1U),
                 tasks = r.tasks_given ? r.tasks : std::max<uint64_t>(nodes, r.tasks);
  const uint64_t gpus =
      r.gpu_counting == model::GpuCounting::kNone ? 0 : model::total_gpus(r, static_cast<uint32_t>(nodes));
  const uint64_t cpus =
      std::max({r.overcommit ? nodes : tasks * r.cpus_per_task, gpus * r.cpus_per_gpu, nodes * uint64_t{r.min_cpus}});
  const uint64_t mem_mb = std::max(
      {nodes * r.mem_per_node_mb, cpus * r.mem_per_cpu_mb, gpus * r.mem_per_gpu_mb, tasks * r.mem_per_task_mb});
  return {0, static_cast<int64_t>(gpus * r.gpu_milli), static_cast<int64_t>(cpus), static_cast<int64_t>(mem_mb)};
}

}  // namespace

ResourceParts parts_of(const Held& some, const Held& all) {
  const auto part = [](int64_t one, int64_t whole) {
    return whole > 0 ? static_cast<double>(one) / static_cast<double>(whole) : 0;
  };
  return {part(some.gpu_milli, all.gpu_milli), part(some.cpus, all.cpus), part(some.mem_mb, all.mem_mb)};
}

double Held::dominant_of(const Held& all) const {
  const ResourceParts parts = parts_of(*this, all);
  return std::max({parts.gpus, parts.cpus, parts.memory});
}

Held asked_by(const PendingJob& job) {
  Held out = asked_by(job.request);
  for (const Component& part : job.components) out += asked_by(part.request);
  return out;
}

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

Held free_in(const Capacity& capacity, const std::string& partition) {
  Held out;
  const NodeIndex* index = capacity.index(partition);
  if (index == nullptr) return out;
  for (const auto& [state, group] : index->groups()) {
    const auto nodes = static_cast<int64_t>(group.nodes.count());
    const FreeResources& free = group.sample->free;
    out.gpu_milli += nodes * int64_t{free.gpus.size()} * int64_t{model::kWholeGpu};
    for (const SharedGpu& shared : free.shared) out.gpu_milli += nodes * int64_t{shared.left};
    out.cpus += nodes * int64_t{free.cores.size()} * group.sample->threads();
    out.mem_mb += nodes * static_cast<int64_t>(free.mem_mb);
  }
  return out;
}

}  // namespace gw::sched
