// Jobs that are suspended when they are preempted: what they keep is held under an id of its own, as in the controller,
// and they wait to resume where they stand. Invariant: a suspended job holds what its record says it keeps, and nothing
// else.
#pragma once

#include "sim/engine/world.h"

namespace gw::sim {

/// The job as the scheduler is told of it while it waits; one that is suspended asks for what it gave away.
sched::PendingJob what_waits(const World& world, uint32_t job);
/// A running job gives away what it does not keep.
void stand_still(World& world, uint32_t job);
/// What it gave away is free again, and it has it back.
void go_on(World& world, uint32_t job);
/// It gives back what it kept, and is no longer suspended.
void leave_kept_part(World& world, uint32_t job);

}  // namespace gw::sim
