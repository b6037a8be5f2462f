// See reports.h.
#include "ctld/core/jobs/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "ctld/core/jobs/elastic.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/launch_faults.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/jobs/preemption_counts.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/shared/exit_report.h"
#include "ctld/core/shared/links.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::EndReason;
using model::Job;
using model::JobState;
using model::Outcome;

void on_prepared(Core& core, NodeId node, const wire::Prepared& m) {
  Job* job = current_run(core, m.job(), m.attempt());
  if (job == nullptr || extension_ready(core, *job, node)) return;
  if (core.placements.is_on(node, job->id)) pass_prolog(core, *job, node);
  // The node lost what it was told after it had prepared: it is told again.
  // Or it has come late to an elastic gang that went on without it.
  if (job->state == JobState::kRunning && !core.placements.is_on(node, job->id)) return clear_node(core, *job, node);
  if (job->state == JobState::kRunning && !goes_alone(*job)) return send_go(core, *job, node);
  if (job->state == JobState::kCompleting) return send_stop(core, *job, node);
  model::Placed& placed = *job->placed();
  if (job->state != JobState::kConfiguring || placed.waiting_for.erase(node) == 0) return;
  core.rows.run_node(*job, node);
  if (placed.waiting_for.empty()) go_together(core, *job);
}

void on_started(Core& core, NodeId node, const wire::Started& m) {
  Job* job = current_run(core, m.job(), m.attempt());
  // A gang of several nodes was started by go(); a gang of one reports that it went by itself.
  if (job == nullptr || !core.placements.is_on(node, job->id)) return;
  pass_prolog(core, *job, node);
  if (job->state == JobState::kConfiguring && goes_alone(*job)) go(core, *job);
}

void on_prepare_failed(Core& core, NodeId node, const wire::PrepareFailed& m) {
  Job* job = current_run(core, m.job(), m.attempt());
  if (job == nullptr || !core.placements.is_on(node, job->id)) return;
  pass_prolog(core, *job, node);
  const std::string why = base::printable(m.detail(), 200);
  // Of a prolog that failed the node has said before that it is unfit; a daemon that was restarted while the prolog ran
  // is nobody's fault.
  const bool is_counted = m.node_fault() && m.reason() != static_cast<uint32_t>(EndReason::kPrologFailed) &&
                          m.reason() != static_cast<uint32_t>(EndReason::kNodeDown);
  if (job->state == JobState::kRunning && extension_gone(core, *job, node, why)) {
    if (is_counted) count_launch_fault(core, core.nodes.at(node), job->id, why);
    return;
  }
  // A node says this of a run that it never reported prepared; of one that runs it is a late or repeated message, and
  // what the run holds is not free. If the run is gone there, the node says so by Done or when it registers.
  if (job->state != JobState::kConfiguring && job->state != JobState::kCompleting) {
    core.jobs.count_unexpected_event();
    return core.out.note(fmt::format("node {} says that job {} could not start, which is {}: ignored",
                                     core.nodes.name_of(node), job->id.value, model::long_name(job->state)),
                         true);
  }
  const std::string where = core.nodes.name_of(node);
  if (job->state == JobState::kConfiguring) {
    Outcome outcome;
    outcome.end = m.node_fault() ? JobState::kNodeFail : JobState::kFailed;
    const bool known = m.reason() <= static_cast<uint32_t>(EndReason::kPrologFailed);
    outcome.reason = known ? static_cast<EndReason>(m.reason()) : EndReason::kLaunchFailed;
    outcome.detail = fmt::format("could not start on {}: {}", where, base::printable(m.detail(), 1000));
    outcome.exit.code = 1;
    outcome.requeue = m.node_fault();
    outcome.ended = core.now;
    if (is_counted) blame(core, *job, {node}, why);
    stop(core, *job, std::move(outcome));
  }
  job = current_run(core, m.job(), m.attempt());
  if (job != nullptr) share_gone(core, *job, node);
}

void on_unfit(Core& core, NodeId node, const wire::Unfit& m) {
  std::string why = fmt::format("job {}: {}", m.job(), base::printable(m.why(), 200));
  Job* job = m.by_prolog() ? current_run(core, m.job(), m.attempt()) : nullptr;
  if (job != nullptr && core.placements.is_on(node, job->id))
    prolog_failed(core, *job, core.nodes.at(node), std::move(why));
  else
    drain_faulty(core, core.nodes.at(node), std::move(why));
  wire::ControllerToNode answer;
  answer.mutable_unfit_heard()->set_job(m.job());
  answer.mutable_unfit_heard()->set_attempt(m.attempt());
  answer.mutable_unfit_heard()->set_by_prolog(m.by_prolog());
  send_to_node(core, node, std::move(answer));
}

void on_prepare_unsent(Core& core, JobId id, uint32_t attempt, const std::string& why, bool is_final) {
  Job* job = current_run(core, id.value, attempt);
  if (job == nullptr || job->state != JobState::kConfiguring) return;
  Outcome outcome;
  outcome.end = is_final ? JobState::kFailed : JobState::kNodeFail;
  outcome.reason = EndReason::kLaunchFailed;
  outcome.detail = "could not be sent to its nodes: " + why;
  outcome.exit.code = 1;
  outcome.requeue = !is_final;
  outcome.ended = core.now;
  if (!is_final) ++job->launch_failures;
  stop(core, *job, std::move(outcome));
}

void on_batch_exited(Core& core, NodeId node, const wire::BatchExited& m) {
  wire::ControllerToNode ack;
  ack.mutable_ack()->set_job(m.job());
  ack.mutable_ack()->set_attempt(m.attempt());
  ack.mutable_ack()->set_phase(wire::kRunEnding);
  Job* job = current_run(core, m.job(), m.attempt());
  if (job == nullptr || job->placed()->allocation.shares.front().node != node)
    return send_to_node(core, node, std::move(ack));
  pass_prolog(core, *job, node);
  Outcome outcome = outcome_of(m, core.nodes.name_of(node), core.now);
  const bool lost_by_lease = outcome.reason == EndReason::kLeaseExpired;
  if (lost_by_lease) outcome.requeue = job->spec.requeue;
  if (job->state == JobState::kCompleting) {  // it was told to end: keep why, take over how
    Outcome& kept = *job->placed()->outcome;
    kept.exit = outcome.exit;
    kept.peak_mem_mb = outcome.peak_mem_mb;
    kept.ended = outcome.ended;
    take_exit_as_saved(core, *job, outcome);
    core.rows.job(*job);
  } else {
    if (job->state == JobState::kConfiguring && outcome.reason == EndReason::kShepherdDied) {
      // The node lost what was to start it. One that goes by itself may have begun: again only if it may run twice.
      outcome.end = JobState::kNodeFail;
      outcome.requeue = !goes_alone(*job) || job->spec.requeue;
      blame(core, *job, {node}, outcome.detail);
    } else if (job->state == JobState::kConfiguring && goes_alone(*job)) {
      go(core, *job);  // its Started report was lost on the way
    } else if (job->state == JobState::kConfiguring) {
      // The gang has not started: what was prepared here is gone, and the others must not go.
      outcome.end = JobState::kNodeFail;
      outcome.requeue = true;
      if (!lost_by_lease) ++job->launch_failures;  // else it is no fault of the launch
    }
    stop(core, *job, std::move(outcome));
  }
  send_to_node(core, node, std::move(ack));
}

void on_done(Core& core, NodeId node, const wire::Done& m) {
  wire::ControllerToNode ack;
  ack.mutable_ack()->set_job(m.job());
  ack.mutable_ack()->set_attempt(m.attempt());
  ack.mutable_ack()->set_phase(wire::kRunDone);
  Job* job = current_run(core, m.job(), m.attempt());
  // Not one that the gang does not have, nor of an earlier stay of one that has joined again.
  if (job != nullptr && core.placements.is_on(node, job->id) && m.generation() == generation_on(*job, node)) {
    if (!m.problem().empty())
      core.out.node_event(core.nodes.at(node), "cleanup problem",
                          fmt::format("job {}: {}", m.job(), base::printable(m.problem(), 1000)));
    if (job->state == JobState::kCompleting) {
      Outcome& outcome = *job->placed()->outcome;
      const model::RunUse use = wire::from_wire(m.use());
      if (m.peak_mem_mb() > outcome.peak_mem_mb || !use.empty()) core.rows.job_coalesced(*job);
      outcome.peak_mem_mb = std::max(outcome.peak_mem_mb, m.peak_mem_mb());
      outcome.use.merge(use, core.nodes.name_of(node));
      share_gone(core, *job, node);
    } else {
      const std::string name = core.nodes.name_of(node);
      if (m.lease_expired())
        node_lost_job(core, *job, node, lease_over_on(name, "the node was cut off for longer"),
                      EndReason::kLeaseExpired);
      else
        node_lost_job(core, *job, node, fmt::format("node {} ended it", name));
    }
  }
  send_to_node(core, node, std::move(ack));
}

void node_lost_job(Core& core, Job& job, NodeId node, const std::string& why, EndReason reason) {
  const JobId id = job.id;
  if (extension_gone(core, job, node, why)) return;
  if (job.state != JobState::kCompleting) {
    Outcome outcome;
    outcome.end = JobState::kNodeFail;
    outcome.reason = reason;
    outcome.detail = why;
    outcome.requeue = job.spec.requeue;
    outcome.ended = core.now;
    stop(core, job, std::move(outcome));
  }
  if (Job* still = core.jobs.find(id); still != nullptr && still->placed() != nullptr) share_gone(core, *still, node);
}

}  // namespace gw::ctld
