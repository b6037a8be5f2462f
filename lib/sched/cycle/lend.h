// Nodes that are promised to a blocked job are lent meanwhile to jobs that will be taken back in time: a job that could
// not end before the planned start may begin there all the same, if it can be preempted and will be borrowed, if the
// planned job will be within its guarantee by then, and if min_runtime and grace are over by then (rules 5 and 11 of
// docs/quotas.md). It is told to go so long before the planned start as its grace is. Likewise nodes that are gathered
// (patience.h). Invariant: what is lent delays no planned start, and a job with gathered nodes by no more than a grace.
#pragma once

#include <vector>

#include "sched/cycle/session.h"

namespace gw::sched {

/// Starts the served job on nodes that are promised to others, if that can be undone in time.
bool start_lent(Session& session, Served& served);

/// Running jobs that the served job can take back when it starts, of those that began while it waited; they are evicted
/// in the trial.
std::vector<const Candidate*> evict_lent(Session& session, const Served& served);

/// Will the served job be within the guarantees of all QOS above it at that time, if those of its own QOS end as
/// planned?
bool is_guaranteed_at(const Session& session, const Served& served, Time when);

/// Of those that were evicted so, who stands in the place.
std::vector<JobId> in_place(const Session& session, const std::vector<const Candidate*>& lent,
                            const model::Allocation& place);

/// Will `min_runtime`, protection and grace of those of them that stand in the place be over by then?
bool can_be_recalled(const Session& session, const std::vector<const Candidate*>& lent,
                     const std::vector<JobId>& in_place, Time when);

/// A start of the served job was planned: it lends its place until then. `lent`: who stands in it and can be taken
/// back; they are told to go once it is time.
void offer_place(Session& session, const Served& served, Time when, const std::vector<JobId>& lent);

/// Nodes are gathered for the served job, which is within its guarantee: it lends them until the others there have
/// left, which nobody can foresee, to jobs that it can take back at any time.
void offer_gathered(Session& session, const Served& served);

}  // namespace gw::sched
