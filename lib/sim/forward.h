// Looking ahead from a snapshot of the controller: the scheduler continues, every job runs until its time limit, and no
// new ones come. What comes of it is when each waiting job starts at the latest, if nothing new comes before it.
// Invariants: equal input gives equal output; use for fairness over time stays as it is in the snapshot.
#pragma once

#include <string>
#include <vector>

#include "sched/cycle/snapshot.h"

namespace gw::sim {

/// What becomes of one job.
struct Forecast {
  base::JobId id;
  uint32_t uid = 0;
  std::string qos;
  uint32_t gpus = 0;  ///< Of all components.
  base::Time submitted;
  base::Time started;              ///< Of its latest run; zero: it does not start.
  base::Time ended;                ///< Zero: it does not end, since it has no time limit or does not start.
  bool ran_at_start = false;       ///< Already in the snapshot.
  std::string partition;           ///< Where it runs.
  std::vector<std::string> nodes;  ///< Likewise, of all components.
  uint32_t preemptions = 0;        ///< How often it was preempted.
  std::string why;                 ///< Why it waits or was ended before it started, in words.
  bool operator==(const Forecast&) const = default;
};

/// All jobs of the snapshot, by id; running jobs only where the snapshot knows their requests. `view` is what
/// restore_view() made of the input, and is used up. Errors: the scheduler does not come to rest.
base::Result<std::vector<Forecast>> look_ahead(const sched::PassInput& input, sched::ClusterView& view);

}  // namespace gw::sim
