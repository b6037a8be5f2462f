// Suspension in place of an end: a victim that would rather stand still than be ended does so where what it gives away
// is enough for the job that it makes way for. What it keeps stays in the way of everybody else, and can itself be
// taken: then the job is ended after all. So memory and GPUs that are lent come back, whatever their holder chose.
#include <algorithm>

#include "model/suspension.h"
#include "sched/pass.h"

namespace gw::sched {

/// The victim is taken already. True: what it keeps is given back to it, and the job still fits.
bool Pass::leaves_enough_suspended(JobId victim, const PendingJob& job, const PartitionFacts& partition) {
  const PendingJob& running = *view_.running().at(victim);
  if (running.suspends == Suspends::kNo || !can_stand(victim) || taken_with_.at(victim).size() != 1) return false;
  const Holding& holding = taken_holdings_.at(victim);
  const PartitionFacts* own = view_.capacity().partition(holding.partition);
  const model::Allocation kept =
      model::kept_in_suspension(taken_.at(victim), own != nullptr && own->share_suspended_gpus);
  if (!capacity().allocate(victim, holding.partition, kept, holding.started, Time::never(), true)) return false;
  const QuotaLedger::Holder& holder = *view_.quota().holder(victim);
  const Quantities amounts = quotas_.tree().count_remains(kept, capacity());
  quotas_.start(holder.leaf, amounts, holder.preemptible, holder.uid);
  left_by_[victim] = amounts;
  if (fits(job, partition)) return true;
  leave_nothing(victim);
  return false;
}

/// What a victim was given back in suspension is taken again.
void Pass::leave_nothing(JobId victim) {
  const auto left = left_by_.find(victim);
  if (left == left_by_.end()) return;
  const QuotaLedger::Holder& holder = *view_.quota().holder(victim);
  capacity().release_all(victim);
  quotas_.stop(holder.leaf, left->second, holder.preemptible, holder.uid);
  left_by_.erase(left);
}

/// One that is not told needs no time; a moment, since nobody is gone at once.
Duration Pass::grace_before_suspension(JobId victim) const {
  const bool is_told = view_.running().at(victim)->suspends == Suspends::kAfterGrace;
  return is_told ? grace_of(victim) : std::min(grace_of(victim), base::seconds(1));
}

}  // namespace gw::sched
