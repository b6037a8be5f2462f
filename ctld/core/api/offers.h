// Which changes of a waiting job are worth asking the scheduler about. Each is a change that `gcontrol update` could
// make and that the caller may make: what admission refuses is not offered. Pure.
// Invariants: at most kMostOffers, of each kind the nearest to what the job asks for first; what is tried is bounded,
// whatever the cluster has, and however long the lists of the job are.
#pragma once

#include <cstdint>
#include <vector>

#include "ctld/core/admission/update_job.h"
#include "ctld/core/core.h"

namespace gw::ctld {

constexpr size_t kMostOffers = 16;

struct Offer {
  wire::UpdateJobRequest change;  ///< With its tasks or component, where it is not the job as a whole.
  std::vector<SpecOf> after;      ///< What the job, or each of its components, asks for after it.
  /// Of those with the same number, which ask for less and less of one thing, the first that helps is enough.
  uint32_t series = 0;
};
struct Offers {
  std::vector<Offer> all;
  bool is_cut = false;  ///< There would have been more.
};

/// `blockers`: what keeps it waiting. Changes that are about these come first. Of a heterogeneous job what each of the
/// components asks for is changed, in turn. `tasks`: of an array those that a change is to be made of, which the job is
/// the next of.
Offers offers_for(const Core& core, const Caller& caller, const model::Job& job, const model::TaskSet& tasks,
                  const model::Blockers& blockers);

}  // namespace gw::ctld
