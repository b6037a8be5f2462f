// Becoming the user of a step, for good.
// Invariants: after become_user() succeeds, real, effective and saved ids are the user's, the groups are those given,
// and a user other than root cannot become root again. Failure is always reported, never passed over.
#pragma once

#include "base/result.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// Whether this process may run steps of that user at all. Errors: uid 0 without leave; a foreign uid without root.
base::Status may_run_as(const wire::StepSpec& spec);
/// Drops to the user. Errors: any call that fails or has not done what it said.
base::Status become_user(const wire::StepSpec& spec);

}  // namespace gw::noded::step
