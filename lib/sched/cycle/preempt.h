// Preemption: running jobs are evicted for a blocked one, by the rules of the quotas (sched/victims.h), or inside a QOS
// by the order's own right where the order is preemptive (srtf). A victim that would rather be suspended than ended is,
// if what it gives away is enough. With a grace period the victims leave first and the place is kept for the job.
#pragma once

#include "sched/cycle/victim_search.h"

namespace gw::sched {

/// Starts the served job in the place of others, now or after their grace period.
bool preempt(Session& session, Served& served);

/// Victims node by node: where those whom rule 8 names in its order, as far as the rules let them go, leave no place
/// for the job, the same order is followed on few nodes. A gang that needs nodes to itself must not spend what may be
/// taken on the cheapest jobs of every node. `rules` are those that found too little; whoever goes may go by them.
std::vector<JobId> victims_by_node(Session& session, const Served& served, const PartitionFacts& partition,
                                   const Preemptor& preemptor, const std::optional<Binding>& limited, Victims& rules);

/// Victims among those listed, by the rules. If they leave a place, but rule 7 does not allow it, nobody goes by
/// rule 7.
std::vector<JobId> victims_among(Session& session, const Served& served, const PartitionFacts& partition,
                                 const Preemptor& preemptor, const Candidates& listed, Victims& rules);

}  // namespace gw::sched
