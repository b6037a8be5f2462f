// Which cores of a job's share of a node its steps have claimed, and which others their tasks may run on.
// Invariants: pure; what a step may run on holds all that it has claimed; of what another step has claimed it holds
// nothing, unless the step overlaps.
#pragma once

#include <vector>

#include "base/bitset.h"
#include "wire/job.pb.h"

namespace gw::bind {

/// Of one step on one node; cores are indices of the node.
struct StepCores {
  base::IndexSet cores;
  bool overlaps = false;  ///< Takes nothing from others and leaves them nothing.
  bool is_open = false;   ///< Nobody said how many CPUs a task gets: it may run on what no step has claimed.
};

/// The share must be readable, else the claim is of nothing.
StepCores step_cores_of(const wire::NodeShare& share, const wire::StepRequest& request);

/// What the tasks of a step may run on beside the cores that it has claimed; `job`: all that the job has on the node.
base::IndexSet unclaimed_cores(const base::IndexSet& job, const StepCores& own, const std::vector<StepCores>& others);

}  // namespace gw::bind
