// How fast runs get on: by the size of an elastic gang, and by those beside a job on GPUs that it shares, where the
// cluster has a rate model (sched/policy/rate_model.h). Without one everybody's speed is 1.
// Invariant: work done is counted up to Pace::since; the end of a run that lies in the timetable is that of its present
// speed.
#pragma once

#include "sim/engine/world.h"

namespace gw::sim {

/// A run begins, or goes on, at that time: with the speed that it has there, beside those that are there.
void set_out(World& world, uint32_t job, Time since);
/// It stops, and leaves the GPUs that it shares; what it has done until now is counted.
void stop_pace(World& world, uint32_t job);
/// Its size, or who is beside it, is another one.
void change_pace(World& world, uint32_t job);
/// Those who share GPUs tell how fast they are, as far as they are to now.
void tell_rates(World& world);
/// From Pace::since until its work is done; kUnlimited: it has no end.
Duration time_to_end(const Progress& progress);

}  // namespace gw::sim
