// Claimed cores and the rest.
#include "bind/step_cores.h"

namespace gw::bind {

StepCores step_cores_of(const wire::NodeShare& share, const wire::StepRequest& request) {
  auto cores = base::IndexSet::parse(share.cores());
  return {cores ? std::move(*cores) : base::IndexSet{}, request.overlap(), request.cpus_per_task() == 0};
}

base::IndexSet unclaimed_cores(const base::IndexSet& job, const StepCores& own, const std::vector<StepCores>& others) {
  if (!own.is_open) return {};
  base::IndexSet rest = job;
  for (const StepCores& other : others)
    if (!own.overlaps && !other.overlaps) rest -= other.cores;
  rest -= own.cores;
  return rest;
}

}  // namespace gw::bind
