// Jobs arrive and wait.
#pragma once

#include "sim/engine/world.h"

namespace gw::sim {

/// Puts those that do not run at the start into the order of their arrival.
void sort_arrivals(World& world);
/// It arrives: it waits, or is refused because it could never run.
void admit(World& world, uint32_t job);
/// It has waited for other jobs, and waits for the scheduler from now on.
void let_in(World& world, uint32_t job);
/// It waits from now on, whether it has just arrived or was preempted.
void queue_job(World& world, uint32_t job);
/// Tells in their records why jobs wait.
void explain_waits(World& world);

/// It waits no more: what it has waited is added to its record.
void end_wait(World& world, uint32_t job);
/// A plan was made then: jobs that want something else by then are of other classes.
void follow_classes(World& world, Time planned);

}  // namespace gw::sim
