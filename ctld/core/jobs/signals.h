// Who of a running job gets a signal, as messages to its nodes.
// Invariant: as in Slurm, a signal goes to the job's steps and leaves its batch script alone unless more is asked for:
// programs that save their work on a signal run in steps, and their script is to live on.
#pragma once

#include <utility>
#include <vector>

#include "model/job.h"
#include "model/step.h"
#include "wire/node.pb.h"

namespace gw::ctld {

enum class SignalReach : uint8_t {
  kSteps,   ///< All steps, but not the script.
  kScript,  ///< The batch script's own process.
  kAll,     ///< The script with all that it started, and all steps.
};

using NodeMessages = std::vector<std::pair<base::NodeId, wire::ControllerToNode>>;

/// Signals one step on all nodes where it still runs.
void signal_step(const model::Step& step, int signo, NodeMessages& out);

/// Signals a placed job; `steps` are its steps. Nothing comes back for a job without steps whose steps are meant.
NodeMessages signal_job(const model::Job& job, const std::vector<const model::Step*>& steps, int signo,
                        SignalReach reach);

}  // namespace gw::ctld
