// What the shepherd of a batch script, or of a step, is told, worked out from the controller's order and the node's
// facts.
// Invariant: pure.
#pragma once

#include "base/bitset.h"
#include "base/time.h"
#include "noded/core/facts.h"
#include "wire/node.pb.h"
#include "wire/step.pb.h"

namespace gw::noded {

/// The whole specification of the batch step; `now` as in job_environment(). The share must have passed check_share.
wire::StepSpec make_step_spec(const NodeFacts& node, const wire::Prepare& prepare, const UserInfo& user,
                              base::Time now);

/// The whole specification of a step whose client says over a stream what to run. Share and tasks must have been
/// checked. `unclaimed`: cores that its tasks may run on beside those of the share.
wire::StepSpec make_access_spec(const NodeFacts& node, const wire::StartStep& start, const UserInfo& user,
                                base::Time now, const base::IndexSet& unclaimed = {});

}  // namespace gw::noded
