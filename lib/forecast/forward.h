// Looking ahead from the state of a controller: the scheduler continues, every job runs until its time limit or for as
// long as is assumed, and no new ones come. With time limits, what comes of it is when each waiting job starts at the
// latest, if nothing new comes before it.
// Invariants: equal input gives equal output; the scheduler never sees how long a job is assumed to run; use for
// fairness over time stays as it is in the input.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sched/cycle/snapshot.h"

namespace gw::forecast {

/// What becomes of one job.
struct JobForecast {
  base::JobId id;
  uint32_t uid = 0;
  std::string qos;
  uint32_t gpus = 0;  ///< Of all components.
  base::Time submitted;
  base::Time first_start;          ///< Of those that the look ahead finds; zero: it does not start.
  base::Time started;              ///< Of its latest run; zero: it does not start.
  base::Time ended;                ///< Zero: it does not end, since it has no time limit or does not start.
  bool ran_at_start = false;       ///< Already in the snapshot.
  std::string partition;           ///< Where it runs.
  std::vector<std::string> nodes;  ///< Likewise, of all components.
  uint32_t preemptions = 0;        ///< How often it was preempted.
  std::string why;                 ///< Why it waits or was ended before it started, in words.
  bool operator==(const JobForecast&) const = default;
};

struct Assumptions {
  /// How long a run takes in all, that may take so long and has lasted so long; nullptr: all that it may.
  std::function<base::Duration(uint32_t uid, base::Duration limit, base::Duration ran)> run_time = nullptr;
  std::set<base::JobId> until_started = {};  ///< It ends when all these have started; none: when nothing more happens.
  /// It ends after so many passes at the latest, since jobs that take each other's place from zero each time never do,
  uint64_t most_passes = 1'000'000;
  std::function<bool()> go_on = nullptr;  ///< and when this says so, which is asked before each.
};

/// All jobs of the snapshot, by id; running jobs only where the snapshot knows their requests. `view` is what
/// restore_view() made of the input, and is used up. Errors: the scheduler does not come to rest.
base::Result<std::vector<JobForecast>> look_ahead(const sched::PassInput& input, sched::ClusterView& view,
                                                  const Assumptions& assumed = {});

}  // namespace gw::forecast
