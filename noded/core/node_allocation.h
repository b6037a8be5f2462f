// What of this node a run gets: checked against the node's facts, and made into the containment's limits and group.
// Invariants: pure; a share that names a core or GPU which the node has not got is refused, never cut down.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "noded/core/facts.h"
#include "wire/node.pb.h"
#include "wire/step.pb.h"

namespace gw::noded {

/// Most tasks that a step may have on one node.
constexpr uint32_t kMostTasks = 16384;

/// Whether this node runs the batch script of the gang: the first of all nodes does, where the job has one.
bool runs_script(const wire::Prepare& prepare);

/// Checks that the share is this node's and that its cores and GPUs exist here. Errors name what does not.
base::Status check_share(const NodeFacts& node, const wire::NodeShare& share);

/// The group of a job's run, which those of its steps lie in.
std::string job_group(const NodeFacts& node, const RunKey& run);
/// Limits and group of the run on this node. The share must have passed check_share.
wire::Containment make_containment(const NodeFacts& node, const wire::Prepare& prepare);

/// The group of a step: within that of its job, without limits of its own. `kind` as the job's; empty: the node's.
wire::Containment step_containment(const NodeFacts& node, const RunKey& step, const std::string& kind);

}  // namespace gw::noded
