// Preemption: running jobs are evicted for a blocked one, by the rules of the quotas (reclaim.h), or inside a QOS by
// the order's own right where the order is preemptive (srtf). A victim that would rather be suspended than ended is, if
// what it gives away is enough. With a grace period the victims leave first and the place is kept for the job.
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

/// Starts the served job in the place of others, now or after their grace period.
bool preempt(Session& session, Served& served);

}  // namespace gw::sched
