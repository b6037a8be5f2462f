// When waiting jobs will start: the scheduler's own passes are continued several times from one state, each time with
// other lengths of all runs, drawn from those that are known; what is told is the range that most of them fall into.
// The idea is that of Smith, Taylor and Foster, "Using Run-Time Predictions to Estimate Queue Wait Times", JSSPP 1999.
// Invariants: equal input, seed and bounds give equal estimates; jobs that are yet to be submitted are not foreseen
// (Calibration allows for them).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "forecast/run_times.h"

namespace gw::forecast {

/// Time::never(): not within the time that was looked at, or not at all.
struct StartRange {
  Time low, likely, high;
  bool operator==(const StartRange&) const = default;
};

struct Question {
  std::set<base::JobId> jobs;    ///< That wait; empty: all that do.
  uint32_t samples = 20;         ///< So often the queue is continued,
  uint32_t least_samples = 8;    ///< and so often at least, or nothing is known.
  uint64_t most_passes = 2'000;  ///< Of each.
  uint64_t seed = 0;
  std::function<bool()> go_on = nullptr;  ///< Told false, the samples that are whole by then are all there are.
  double outside = 0.1;                   ///< This part of the samples lies below the range, and this part above it.
};

/// Of the jobs that were asked about and wait. Errors: what restore_view() refuses; the scheduler does not come to
/// rest; kUnavailable: it was told to stop before there were samples enough.
base::Result<std::map<base::JobId, StartRange>> estimate_starts(const sched::PassInput& input, const RunTimes& known,
                                                                const Question& question);

}  // namespace gw::forecast
