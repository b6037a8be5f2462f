// Jobs that wait for others before the scheduler hears of them: for what becomes of these (model/dependency.h), and for
// their turn, where only so many of a line of jobs may run at once.
// Invariants: a job that is held is pending, and not in the scheduler's queue; each condition is looked at when the job
// that it names starts or leaves, and not again once it is met or failed.
#pragma once

#include <string>

#include "sim/engine/world.h"

namespace gw::sim {

/// Finds out who names whom.
void tie_jobs(World& world);
/// May a job that has arrived go before the scheduler? If not it is held, and let_in() is called once it may.
bool may_enter(World& world, uint32_t job);
/// Of a job that is held.
std::string why_held(const World& world, uint32_t job);
/// What others wait for has come about.
void job_has_started(World& world, uint32_t job);
void job_has_left(World& world, uint32_t job);
/// When the next delay of an `after` is over; never: there is none.
Time next_delay(const World& world);
void let_in_what_is_due(World& world);

}  // namespace gw::sim
