// Claimed cores and the rest.
#include "bind/claims.h"

namespace gw::bind {

Claim claim_of(const wire::NodeShare& share, const wire::StepRequest& request) {
  auto cores = base::IndexSet::parse(share.cores());
  return {cores ? std::move(*cores) : base::IndexSet{}, request.overlap(), request.cpus_per_task() == 0};
}

base::IndexSet unclaimed(const base::IndexSet& job, const Claim& own, const std::vector<Claim>& others) {
  if (!own.is_open) return {};
  base::IndexSet rest = job;
  for (const Claim& other : others)
    if (!own.overlaps && !other.overlaps) rest -= other.cores;
  rest -= own.cores;
  return rest;
}

}  // namespace gw::bind
