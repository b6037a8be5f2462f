// Use of the cluster, where it counts: in the order of the jobs, or in the shares of QOS. See sched/quota/usage.h.
#pragma once

#include "sim/engine/world.h"

namespace gw::sim {

/// When the scheduler is told of use next.
Time next_tick(Time now);
/// Where shares follow past use, a job that waits may have its turn when use is told next.
bool awaits_tick(const World& world);
/// A job begins to hold what its record says (1), or holds it no more (-1).
void change_rate(World& world, uint32_t job, int sign);
/// It has left for good: what it had in all counts among the services by which some orders go.
void note_service(World& world, uint32_t job);
/// The clock is about to go from now to `t`: tells of the use up to the last tick between.
void tell_usage(World& world, Time t);

}  // namespace gw::sim
