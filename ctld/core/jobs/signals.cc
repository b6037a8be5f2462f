// Who of a running job gets a signal: the implementation.
#include "ctld/core/jobs/signals.h"

namespace gw::ctld {
namespace {

wire::ControllerToNode signal(base::JobId job, uint32_t attempt, int signo) {
  wire::ControllerToNode message;
  message.mutable_signal()->set_job(job.value);
  message.mutable_signal()->set_attempt(attempt);
  message.mutable_signal()->set_signo(signo);
  return message;
}

}  // namespace

void signal_step(const model::Step& step, int signo, NodeMessages& out) {
  for (const model::StepNode& node : step.nodes) {
    if (node.is_gone) continue;
    out.emplace_back(node.share.node, signal(step.job, step.attempt, signo));
    out.back().second.mutable_signal()->set_step(step.number + 1);
  }
}

NodeMessages signal_job(const model::Job& job, const std::vector<const model::Step*>& steps, int signo,
                        SignalReach reach) {
  NodeMessages out;
  if (reach == SignalReach::kSteps) {
    for (const model::Step* step : steps) signal_step(*step, signo, out);
    return out;
  }
  for (const model::NodeShare& share : job.placed()->allocation.shares) {
    out.emplace_back(share.node, signal(job.id, job.attempt, signo));
    out.back().second.mutable_signal()->set_batch_only(reach == SignalReach::kScript);
  }
  return out;
}

}  // namespace gw::ctld
