// Victims by the rules of the quotas: the search chooses the place, then the victims there. A place is a node, the
// nodes below one switch, or the whole partition, as the job's requirements ask for; in each the cheapest set of
// victims is sought that makes the job fit and that the rules allow (sched/quota/permission.h), and of all places the
// cheapest is taken. Complete for places with at most kMostExact candidates (cheapest_set.h); beyond that a set is
// found by sweeping over them in order.
#pragma once

#include "sched/cycle/session.h"
#include "sched/quota/permission.h"

namespace gw::sched {

/// Who goes for a job.
struct Evicted {
  std::vector<JobId> victims;
  std::vector<JobId> moved;  ///< Of them: they start again elsewhere at once, in this order.
  bool is_turn = false;      ///< Their turn is over: who is not suspended has saved its work (Order::suspends()).
};

/// The cheapest victims that make the served job fit in the partition; they are evicted in the trial. Nobody: no
/// permitted set was found, and nothing has changed.
Evicted victims_by_rules(Session& session, const Served& served, const PartitionFacts& partition,
                         const Preemptor& preemptor);

}  // namespace gw::sched
