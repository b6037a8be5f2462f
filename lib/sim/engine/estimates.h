// What jobs are told, when they arrive, of when they will start; and how true it came.
// Invariants: a job is told once, after the passes of the instant of its arrival; what is told is made from what the
// scheduler has and from runs that were over by then, never from what the engine knows of the future.
#pragma once

#include <map>
#include <vector>

#include "forecast/calibration.h"
#include "sim/engine/job.h"

namespace gw::sim {

struct World;

struct ToldStart {
  uint32_t job = 0;
  Time at;
  forecast::StartRange range;
  Time started;  ///< Zero: not yet.
};

struct Estimates {
  uint32_t every = 0;    ///< One of so many jobs that arrive is told; 0: none is.
  uint64_t arrived = 0;  ///< Since the last one that is.
  forecast::RunTimes run_times;
  forecast::Calibration calibration;
  std::vector<uint32_t> fresh;  ///< They arrived at this instant and are to be told.
  std::vector<ToldStart> told;
  std::map<uint32_t, size_t> open;  ///< Of those told that have not started: where they stand.
};

/// It waits before the scheduler from now on.
void note_arrival(World& world, uint32_t job);
void note_start(World& world, uint32_t job);
/// A run came to its end, by itself or by its time limit.
void note_end_of_run(World& world, uint32_t job, Duration ran);
/// The scheduler has looked at those that arrived: they are told. Errors: kInternal.
base::Status tell_starts(World& world, const sched::Budget& budget);

/// How true it came, over those that have started.
struct EstimateSummary {
  uint64_t told = 0, now = 0;                          ///< Of these, at once.
  uint64_t inside = 0, before = 0, after = 0;          ///< Of the range.
  uint64_t inside_of_waits = 0;                        ///< Of those that did not start at once.
  double median_width = 0, median_width_of_waits = 0;  ///< As a part of the wait; a start at once has none.
  double median_error = 0;  ///< Of the likeliest time, as a part of the wait, of those that did not start at once.
};
EstimateSummary summarise(const Estimates& estimates);

}  // namespace gw::sim
