// One pass: classes in the order of their best job; each is placed until it blocks. What blocks is passed by (unless
// the order is strict), and the first blocked jobs of each partition have a planned start, the earliest there is, which
// later ones respect: backfill.
#include "sched/cycle/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

#include "sched/cycle/pass.h"
#include "sched/place/earliest.h"
#include "sched/place/place.h"

namespace gw::sched {

namespace {

bool meets(const model::Request& r, const Start& start) {
  const auto nodes = static_cast<uint32_t>(start.allocation.shares.size());
  if (nodes < r.min_nodes || (r.nodes_given && nodes > r.max_nodes)) return false;
  uint32_t tasks = 0;
  for (const model::NodeShare& share : start.allocation.shares) tasks += share.tasks;
  return tasks >= r.tasks && start.allocation.total_gpus() >= model::total_gpus(r, nodes);
}

/// Nobody else has a part of its GPU, if it needs one of its own.
base::Status check_company(const Capacity& capacity, const model::Request& request, const model::NodeShare& share) {
  const NodeAccount* account = capacity.node(share.node);
  if (!request.own_gpu || account == nullptr || share.gpus.is_subset_of(account->free.gpus)) return {};
  return base::invalid("others have a part of its GPU of node " + share.name);
}

/// A suspended job resumes where it was, whatever became of the partition's rules since.
base::Status check_exactly(const Capacity& capacity, const model::Request& request, const Start& start) {
  if (start.allocation.shares != request.exactly) return base::invalid("it can resume only where it was");
  for (const model::NodeShare& share : request.exactly) {
    const NodeAccount* account = capacity.node(share.node);
    if (account == nullptr || !account->facts.usable) return base::invalid("node " + share.name + " is not usable");
    GW_TRY_STATUS(capacity.check_free(share));
    GW_TRY_STATUS(check_company(capacity, request, share));
  }
  return {};
}

}  // namespace

Plan plan(ClusterView& view, Time now, const Budget& budget) {
  view.queue().advance_to(now);
  return Pass(view, now, budget).run();
}

base::Result<bool> plan_to_rest(ClusterView& view, Time now, const Budget& budget, const CarryOut& carry_out) {
  constexpr uint32_t kMostRounds = 10'000;  // the scheduler undoes its own work
  for (uint32_t round = 0; round < kMostRounds;) {
    const Plan plan = gw::sched::plan(view, now, budget);
    GW_TRY(acted, carry_out(plan));
    if (acted)
      ++round;
    else if (plan.is_whole())
      return true;
  }
  return false;
}

base::Status check(const Capacity& capacity, const PendingJob& job, const Start& start) {
  const PartitionFacts* partition = capacity.partition(start.partition);
  if (partition == nullptr || !partition->is_up) return base::invalid("partition " + start.partition + " is down");
  if (std::find(job.partitions.begin(), job.partitions.end(), start.partition) == job.partitions.end())
    return base::invalid("the job no longer names partition " + start.partition);
  if (!allows_time(capacity, job, *partition))
    return base::invalid("the time limit is longer than " + start.partition + " allows");
  if (!job.request.exactly.empty()) return check_exactly(capacity, job.request, start);
  if (!meets(job.request, start)) return base::invalid("the allocation no longer meets the request");
  const NodeFilter filter(job.request, *partition);
  std::unordered_set<std::string_view> taken;
  for (const model::NodeShare& share : start.allocation.shares) taken.insert(share.name);
  const std::unordered_set<std::string_view> excluded(job.request.exclude.begin(), job.request.exclude.end());
  for (const std::string& name : job.request.nodelist)
    if (!taken.contains(name)) return base::invalid("node " + name + " of --nodelist is not among the nodes");
  for (const model::NodeShare& share : start.allocation.shares) {
    const NodeAccount* account = capacity.node(share.node);
    if (excluded.contains(share.name)) return base::invalid("node " + share.name + " is excluded");
    if (account != nullptr && filter.failed_static_filter(account->facts, *account->node_class))
      return base::invalid("node " + share.name + " is not of the kind asked");
    if (account == nullptr || !account->facts.usable) return base::invalid("node " + share.name + " is not usable");
    GW_TRY_STATUS(capacity.check_free(share));
    GW_TRY_STATUS(check_company(capacity, job.request, share));
    if ((partition->exclusive || job.request.exclusive) && !account->is_idle())
      return base::invalid("node " + share.name + " is not empty");
  }
  return {};
}

}  // namespace gw::sched
