// Preemption: running jobs are evicted for a blocked one, by the rules of the quotas (reclaim.h), or inside a QOS by
// the order's own right where the order is preemptive (srtf). A victim that would rather be suspended than ended is, if
// what it gives away is enough. With a grace period the victims leave first and the place is kept for the job.
#pragma once

#include <functional>
#include <vector>

#include "sched/cycle/reclaim.h"
#include "sched/cycle/session.h"

namespace gw::sched {

/// The decisions that they go for a job, each by that rule of the quotas, in their order and with the figures that they
/// were made by. Asked while they are evicted in the trial, or before they are told to go.
std::vector<Preempt> told_to_go(const Session& session, JobId beneficiary, const Taking& taking, const Evicted& evicted,
                                const std::function<int(JobId)>& rule);

/// They were told to go: those that go for good no longer count; the moved ones do, since a place is kept for them.
void send_off(Session& session, const Evicted& evicted);

/// Starts the served job in the place of others, now or after their grace period.
bool preempt(Session& session, Served& served);

}  // namespace gw::sched
