// Consolidation: a blocked job that would fit if a few running ones stood elsewhere gets its place by moving them. Only
// who can be preempted is moved, each is placed anew in the same plan, and so many moves an hour are the most. A move
// takes nothing from anybody: no rule of the quotas is asked but whether the job itself may start. In a partition with
// a dry run the same is found and only told: the pass continues as if nothing had been.
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

/// Starts the served job by moving others, now or after their grace period.
bool consolidate(Session& session, Served& served);

}  // namespace gw::sched
