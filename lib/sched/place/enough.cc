// See enough.h.
#include "sched/place/enough.h"

#include <algorithm>
#include <map>
#include <string>

#include "sched/ledger/node_index.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

/// Amounts of all kinds that gangs ask for.
struct Amounts {
  uint64_t gpu_milli = 0;
  uint64_t cpus = 0;
  uint64_t mem_mb = 0;
  uint64_t idle_nodes = 0;
  model::Gres gres = {};

  bool covers(const Amounts& asked) const {
    return gpu_milli >= asked.gpu_milli && cpus >= asked.cpus && mem_mb >= asked.mem_mb &&
           idle_nodes >= asked.idle_nodes && gres.covers(asked.gres);
  }
};

class AmountInAll {
 public:
  AmountInAll(const PartitionFacts& partition, const model::Request& request)
      : request_(request), filter_(request, partition) {}

  void add(const NodeAccount& account, uint64_t nodes) {
    if (filter_.failed_static_filter(account.facts, *account.node_class) || !could_hold_a_part(account)) return;
    nodes_ += nodes;
    add_to(there_, account, empty(account), nodes);
    add_to(free_, account, account.free, nodes);
  }
  Enough verdict() const {
    const Amounts all = asked();
    if (nodes_ < request_.min_nodes || !there_.covers(all)) return Enough::kNotThere;
    return free_.covers(all) ? Enough::kFree : Enough::kNotFree;
  }

 private:
  /// Without what is counted by whole nodes: that follows from idle_nodes.
  Amounts asked() const {
    Amounts out;
    const uint64_t nodes = std::max(request_.min_nodes, 1U);
    const uint64_t gpus = model::total_gpus(request_, static_cast<uint32_t>(nodes));
    const uint64_t tasks = filter_.all_tasks(static_cast<uint32_t>(nodes));
    out.gpu_milli = gpus * request_.gpu_milli;
    out.cpus = std::max({request_.overcommit ? nodes : tasks * request_.cpus_per_task, gpus * request_.cpus_per_gpu,
                         nodes * request_.min_cpus});
    out.mem_mb = std::max({nodes * request_.mem_per_node_mb, out.cpus * request_.mem_per_cpu_mb,
                           gpus * request_.mem_per_gpu_mb, tasks * request_.mem_per_task_mb});
    out.idle_nodes = filter_.is_exclusive() || request_.mem_all ? nodes : 0;
    for (const auto& [name, count] : request_.gres) out.gres.add(name, nodes * count);
    return out;
  }
  static FreeResources empty(const NodeAccount& account) {
    FreeResources out;
    out.cores = account.facts.cores;
    out.gpus = account.facts.gpus;
    out.mem_mb = account.facts.mem_mb;
    out.gres = account.facts.gres;
    return out;
  }
  bool could_hold_a_part(const NodeAccount& account) const {
    const FreeResources all = empty(account);
    return filter_.is_one_node() ? !filter_.failed_filter(account, all, filter_.all_tasks(1), filter_.all_gpus())
                                 : !filter_.failed_filter(account, all, filter_.least_tasks());
  }
  void add_to(Amounts& sum, const NodeAccount& account, const FreeResources& room, uint64_t nodes) const {
    uint64_t milli = uint64_t{filter_.usable_gpus(*account.node_class, room.gpus).size()} * model::kWholeGpu;
    if (filter_.is_shared() && !request_.own_gpu)
      for (const SharedGpu& gpu : room.shared) milli += gpu.left;
    sum.gpu_milli += nodes * milli;
    sum.cpus += nodes * room.cores.size() * account.threads();
    sum.mem_mb += nodes * room.mem_mb;
    sum.idle_nodes += room.idle ? nodes : 0;
    for (const auto& [name, count] : room.gres) sum.gres.add(name, nodes * count);
  }

  const model::Request& request_;
  NodeFilter filter_;
  uint64_t nodes_ = 0;
  Amounts there_, free_;
};

}  // namespace

Enough enough_in_all(const Capacity& capacity, const PartitionFacts& partition, const model::Request& request,
                     uint64_t& steps) {
  AmountInAll count(partition, request);
  const NodeIndex* index = capacity.index(partition.name);
  if (index == nullptr) return Enough::kNotThere;
  const auto group_of = [&](const std::string& name) -> const NodeGroup* {
    const uint32_t position = index->position(capacity.id_of(name));
    return position == UINT32_MAX ? nullptr : index->group_of(position);
  };
  steps += request.nodelist.size() + request.exclude.size() + 1;
  if (!request.nodelist.empty() && !(request.nodes_given && request.max_nodes > request.nodelist.size())) {
    for (const std::string& name : request.nodelist)  // it runs on these alone
      if (const NodeGroup* group = group_of(name)) count.add(*group->sample, 1);
    return count.verdict();
  }
  std::map<const NodeGroup*, uint32_t> excluded;
  for (const std::string& name : request.exclude)
    if (const NodeGroup* group = group_of(name)) ++excluded[group];
  for (const auto& [state, group] : index->groups()) {
    const auto out = excluded.find(&group);
    const uint32_t nodes = group.nodes.count();
    count.add(*group.sample, nodes - (out == excluded.end() ? 0 : std::min(out->second, nodes)));
  }
  steps += index->groups().size();
  return count.verdict();
}

}  // namespace gw::sched
