// Who gains and who loses when the same jobs run under other rules or on another cluster.
// Definitions: a job gains if it ends at least a second sooner than before, or ends where it did not; it loses the
// other way round. Jobs that end in neither run are compared by their start. Means are over the jobs that have the
// number in both runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "forecast/forward.h"
#include "sim/engine.h"

namespace gw::sim {

/// One job in one run.
struct Stay {
  std::string job, user, qos;
  uint32_t gpus = 0;
  std::optional<double> wait_s;        ///< Until its latest start; not given: it did not start.
  std::optional<double> completion_s;  ///< From submission to end; not given: it did not end.
};

/// Jobs of one user, QOS or size, or all of them.
struct Change {
  std::string name;
  uint32_t jobs = 0, gain = 0, lose = 0;
  double old_wait_s = 0, new_wait_s = 0;
  double old_completion_s = 0, new_completion_s = 0;
};

/// A job that loses, and by how much.
struct Loser {
  Stay before, after;
  double by_s = 0;  ///< Infinite: it ended (or started) before, and now does not.
};

struct Comparison {
  Change all;
  std::vector<Change> by_user, by_qos, by_size;  ///< By name; sizes by GPUs: 0, 1, 2-7, 8-15, 16-63, 64 and more.
  std::vector<Loser> losers;                     ///< The worst first, ten at most.
};

/// Jobs are matched by name; one that only one run has is left out.
Comparison compare(const std::vector<Stay>& before, const std::vector<Stay>& after);

/// What became of jobs; `users` by position of the job.
std::vector<Stay> stays_of(const std::vector<SimJob>& jobs, const std::vector<Record>& records,
                           const std::vector<std::string>& users);
std::vector<Stay> stays_of(const std::vector<forecast::JobForecast>& forecasts);

std::string comparison_text(const Comparison& comparison);
/// {"schema_version", "all": {...}, "by_user": {...}, "by_qos", "by_size", "worst_losers": [...]}
std::string comparison_json(const Comparison& comparison);

}  // namespace gw::sim
