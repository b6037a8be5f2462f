// See run.h.
#include "ctld/core/jobs/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/jobs/arrays.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/launch_faults.h"
#include "ctld/core/jobs/limits.h"
#include "ctld/core/jobs/mails.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/jobs/preemption_counts.h"
#include "ctld/core/jobs/transition.h"
#include "ctld/core/jobs/usage.h"
#include "ctld/core/jobs/wait_reasons.h"
#include "ctld/core/shared/programs.h"
#include "ctld/core/shared/told_progress.h"
#include "sched/quota/quota_tree.h"

namespace gw::ctld {

using base::Duration;
using model::Job;
using model::JobEvent;
using model::JobProgram;
using model::JobState;
using model::Outcome;

namespace {

/// What one component came to all come to.
void stop_siblings(Core& core, const Job& job, const Outcome& outcome) {
  for (Job* other : siblings(core, job)) {
    if (other->placed() == nullptr || other->state == JobState::kCompleting) continue;
    Outcome same = outcome;
    same.peak_mem_mb = 0;
    if (same.detail.empty() && same.end != JobState::kCompleted)
      same.detail = fmt::format("component {} of the job ended", job.id.value);
    other->launch_failures = std::max(other->launch_failures, job.launch_failures);
    stop(core, *other, std::move(same));
  }
}

void requeue(Core& core, Job& job, const Outcome& outcome) {
  const bool had_started = static_cast<bool>(job.placed()->started);
  const Duration uncut = job.placed()->uncut_limit;
  const Duration run = had_started ? outcome.ended - job.placed()->running_since() : Duration{};
  if (had_started) core.rows.past_run(job, outcome);
  leave_out(job.progress, idle_before(*job.placed(), outcome.ended));
  if (!advance(core, job, JobEvent::kRequeue)) return;
  job.derived_exit = {};
  if (had_started) end_progress(job.progress, outcome.ended, was_preempted(outcome));
  if (uncut.us != 0) job.spec.time_limit = uncut;
  model::Waiting waiting;
  waiting.since = core.now;
  waiting.nomination = std::move(job.placed()->moves_to);
  job.phase = std::move(waiting);
  count_service(core, job);
  job.eligible = {};
  job.last_failure = outcome.detail;
  if (had_started)
    ++job.restarts;
  else if (!was_preempted(outcome))
    launch_failed(core, job);
  if (outcome.reason == model::EndReason::kPrologNotRun)
    job.waiting()->not_before = std::max(job.waiting()->not_before, core.now + base::seconds(30));
  core.out.job_event(job, "requeued", outcome.detail);
  if (had_started) mail_of_requeue(core, job, run);
  update_eligibility(core, job);
  core.rows.job(job);
  if (uncut.us != 0) core.rows.job_and_spec(job);
}

void finish(Core& core, Job& job) {
  core.rows.run_over(job.id);
  Outcome outcome = *job.placed()->outcome;
  if (!outcome.ended) outcome.ended = core.now;
  count_preemption(core, job, outcome);
  if (outcome.requeue) return requeue(core, job, outcome);
  end(core, job, std::move(outcome));
}

/// Nothing of the run is left on its nodes: it is over, after the controller's programs.
void leave(Core& core, Job& job) {
  model::Placed& placed = *job.placed();
  if (placed.program != JobProgram::kNone) return core.rows.run(job);
  if (!placed.contract.has_epilog) return finish(core, job);
  if (!placed.outcome->ended) placed.outcome->ended = core.now;
  placed.program = JobProgram::kEpilog;
  core.rows.run(job);
  ask_for_program(core, job);
}

void arm_start_timeout(Core& core, const Job& job) {
  core.timers.set({core.now + core.settings.prepare_timeout(), TimerKind::kStartTimeout, job.id.value, job.attempt});
}

/// The other components have waited for this one: they have as much time again.
void prepare_everywhere(Core& core, Job& job) {
  arm_start_timeout(core, job);
  for (const Job* other : siblings(core, job))
    if (other->state == JobState::kConfiguring && other->placed()->program == JobProgram::kNone)
      arm_start_timeout(core, *other);
  const wire::Prepare common = prepare_of(core, job);
  for (const model::NodeShare& share : job.placed()->allocation.shares) send_prepare(core, job, share.node, common);
}

std::string failure_of(const ProgramEnd& end) {
  const std::string text = base::printable(end.text, 200);
  if (end.run != ProgramRun::kRan) return "it could not be run: " + text;
  return fmt::format("exit code {}{}{}", end.exit_code, text.empty() ? "" : ": ", text);
}

/// A node of the run has been away for longer than nodes may be.
const model::Node* lost_node(const Core& core, const Job& job) {
  for (const NodeId id : job.placed()->unreachable) {
    const model::Node& node = core.nodes.at(id);
    if (!node.connected && core.now - node.since >= core.settings.node_timeout) return &node;
  }
  return nullptr;
}

/// Nothing of it is on its nodes yet: it waits again.
void give_up_start(Core& core, Job& job, model::EndReason reason, std::string why) {
  Outcome outcome;
  outcome.end = JobState::kNodeFail;
  outcome.reason = reason;
  outcome.detail = std::move(why);
  outcome.exit.code = 1;
  outcome.requeue = true;
  outcome.ended = core.now;
  stop(core, job, std::move(outcome));
}

/// No node is at fault, and of a program that could not be run the job is not, either: that is not counted.
void prolog_failed(Core& core, Job& job, const ProgramEnd& end) {
  std::string why = "the controller's prolog failed: " + failure_of(end);
  core.out.note(fmt::format("job {}: {}", job.id.value, why), true);
  const bool has_run = end.run == ProgramRun::kRan;
  if (has_run) ++job.launch_failures;
  // An earlier controller may have had it run before this one asked.
  model::Contract& contract = job.placed()->contract;
  const bool is_asked_first = contract.placed_in.incarnation == core.settings.incarnation;
  if (is_asked_first && !has_run && end.run != ProgramRun::kUnknown) contract.has_epilog = false;
  give_up_start(core, job, has_run ? model::EndReason::kPrologFailed : model::EndReason::kPrologNotRun, std::move(why));
}

void prolog_ended(Core& core, Job& job, const ProgramEnd& end) {
  model::Placed& placed = *job.placed();
  const bool has_succeeded = end.run == ProgramRun::kRan && end.exit_code == 0;
  if (job.state == JobState::kConfiguring) {
    const model::Node* lost = has_succeeded ? lost_node(core, job) : nullptr;
    if (has_succeeded && lost == nullptr) {
      placed.program = JobProgram::kNone;
      core.rows.job(job);
      return prepare_everywhere(core, job);
    }
    if (lost != nullptr)
      give_up_start(core, job, model::EndReason::kNodeDown,
                    fmt::format("node {} is out of reach since before the job was sent there", lost->config.name));
    else
      prolog_failed(core, job, end);
  }
  placed.program = JobProgram::kNone;
  if (job.state != JobState::kCompleting) return core.rows.job(job);
  // Its nodes have never heard of it, and nobody but the prolog was waited for.
  const JobId id = job.id;
  const std::set<NodeId> nodes = placed.waiting_for;
  if (nodes.empty()) return leave(core, job);
  for (const NodeId node : nodes)
    if (Job* still = core.jobs.find(id); still != nullptr) share_gone(core, *still, node);
}

void epilog_ended(Core& core, Job& job, const ProgramEnd& end) {
  constexpr Duration kAgain = base::seconds(30);
  if (end.run == ProgramRun::kNotTaken || end.run == ProgramRun::kUnknown)
    return core.timers.set({core.now + kAgain, TimerKind::kJobProgram, job.id.value, job.attempt});
  job.placed()->program = JobProgram::kNone;
  if (end.run != ProgramRun::kRan || end.exit_code != 0) {
    const std::string what = "the controller's epilog failed: " + failure_of(end);
    core.out.job_event(job, "epilog", what);
    core.out.note(fmt::format("job {}: {}", job.id.value, what), true);
  }
  finish(core, job);
}

/// Who waits for `id` is told of the job. With `has_started` those alone who wait no longer than that.
void answer_waiters(Core& core, JobId id, const model::Job& job, bool has_started = false) {
  const auto range = core.clients.waiters.equal_range(id);
  for (auto it = range.first; it != range.second;) {
    if (has_started && !it->second.until_started) {
      ++it;
      continue;
    }
    wire::ApiReply out;
    *out.mutable_wait_job()->mutable_job() = job_to_wire(core, job);
    out.mutable_wait_job()->set_cluster(core.settings.cluster);
    core.out.reply(it->second.conn, it->second.request_id, std::move(out));
    it = core.clients.waiters.erase(it);
  }
}

/// Who waits for an array waits for all of it.
void answer_waiters_for_end(Core& core, const Job& job) {
  const JobId id = job.spec.array ? job.spec.array->job : job.id;
  const ArrayTable::Array* array = core.jobs.arrays().find(id);
  if (array == nullptr || job.id != id) answer_waiters(core, job.id, job);
  if (array != nullptr && array->is_over()) answer_waiters(core, id, worst_task(core, job));
}

}  // namespace

void prepare(Core& core, Job& job) {
  if (!job.placed()->contract.has_prolog) return prepare_everywhere(core, job);
  job.placed()->program = JobProgram::kProlog;
  core.rows.job(job);
  ask_for_program(core, job);
}

void repeat_program(Core& core, const Job& job) {
  if (job.placed()->program != JobProgram::kNone) ask_for_program(core, job);
}

void on_program_ended(Core& core, JobId id, uint32_t attempt, JobProgram program, const ProgramEnd& end) {
  Job* job = current_run(core, id.value, attempt);
  if (job == nullptr || program == JobProgram::kNone || job->placed()->program != program) return;
  program == JobProgram::kProlog ? prolog_ended(core, *job, end) : epilog_ended(core, *job, end);
}

void job_program_due(Core& core, const Job& job) {
  if (job.placed() != nullptr && job.placed()->program == JobProgram::kEpilog) ask_for_program(core, job);
}

void pass_prolog(Core& core, Job& job, NodeId by) {
  const model::Placed& run = *job.placed();
  if (run.program != JobProgram::kProlog) return;
  if (job.state == JobState::kCompleting && run.waiting_for.empty()) return;  // it is over when the prolog is
  job.placed()->program = JobProgram::kNone;
  core.rows.job(job);
  if (job.state == JobState::kConfiguring) arm_start_timeout(core, job);
  for (const NodeId node : run.waiting_for) {  // they have not been told
    if (node == by) continue;
    if (job.state == JobState::kCompleting) send_stop(core, job, node);
    if (job.state == JobState::kConfiguring && core.nodes.has_link(node)) send_prepare(core, job, node);
  }
}

void go_together(Core& core, Job& job) {
  std::vector<Job*> all = siblings(core, job);
  for (const Job* other : all) {
    const bool is_ready =
        other->placed() != nullptr && other->placed()->waiting_for.empty() && other->state == JobState::kConfiguring;
    if (!is_ready && other->state != JobState::kRunning) return core.rows.job(job);
  }
  go(core, job);
  for (Job* other : all)
    if (other->state == JobState::kConfiguring) go(core, *other);
}

void go(Core& core, Job& job) {
  if (!advance(core, job, JobEvent::kGo)) return;
  model::Placed& placed = *job.placed();
  placed.started = core.now;
  begin_progress(job, core.now);
  const bool is_told_all = placed.waiting_for.empty();
  placed.waiting_for.clear();
  launch_succeeded(core, job);
  if (is_told_all)
    core.rows.job(job);
  else
    core.rows.run(job);
  core.out.job_event(job, "started", fmt::format("on {}", base::compress_hostlist(placed.allocation.node_names())));
  arm_limits(core, job);
  answer_waiters(core, job.id, job, /*has_started=*/true);
  core.post(RunStarted{job.id});
  // An elastic gang grows from now on: the scheduler is to look again. And when one must have ended is known only now.
  const bool is_bound = job.progress.promised && core.planning.orders.needs().durations;
  if (job.spec.request.elastic || is_bound)
    core.feed.tell(sched::RunningChanged{job.id, std::make_shared<const sched::PendingJob>(pending_of(core, job))});
  if (!goes_alone(job)) {
    for (const model::NodeShare& share : placed.allocation.shares) send_go(core, job, share.node);
    if (job.spec.request.elastic) tell_size(core, job);
  }
}

void stop(Core& core, Job& job, Outcome outcome) {
  if (is_suspended(job)) {
    core.feed.tell(sched::JobUnqueued{job.id});
    job.placed()->moves_to.reset();  // that was for resuming, without its memory
  }
  if (job.state == JobState::kCompleting || !advance(core, job, JobEvent::kStop)) return;
  model::Placed& placed = *job.placed();
  placed.waiting_for.clear();
  // Only nodes that still hold a share are waited for: a dead one has nothing left to clean.
  for (const model::NodeShare& share : placed.allocation.shares)
    if (core.placements.is_on(share.node, job.id)) placed.waiting_for.insert(share.node);
  placed.kill_sent = core.now;
  core.post(JobStopping{job.id, outcome.detail.empty() ? std::string(model::long_name(outcome.end)) : outcome.detail});
  placed.outcome = std::move(outcome);
  expect_end(core, job, core.now + placed.outcome->grace.value_or(placed.contract.kill_wait), true);
  core.rows.run(job);
  core.out.job_event(job, "ending",
                     fmt::format("{}{}", model::long_name(placed.outcome->end),
                                 placed.outcome->detail.empty() ? "" : ": " + placed.outcome->detail));
  const Outcome ending = *placed.outcome;
  const std::set<NodeId> nodes = placed.waiting_for;
  for (NodeId node : nodes) send_stop(core, job, node);
  if (nodes.empty()) leave(core, job);
  stop_siblings(core, job, ending);
}

void share_gone(Core& core, Job& job, NodeId node) {
  core.post(NodeReleased{job.id, node});
  if (core.placements.take(node, job.id, core.now)) {
    const JobId holder = holder_on(job, node);
    core.ledger.release(holder, node);
    core.placements.drop_holding(holder);
    discharge(core, job, node);
  }
  model::Placed* placed = job.placed();
  if (placed == nullptr) return;
  placed->unreachable.erase(node);
  if (job.state != JobState::kCompleting || placed->waiting_for.erase(node) == 0) return;
  if (placed->waiting_for.empty()) return leave(core, job);
  core.rows.run_node(job, node);
}

void end(Core& core, Job& job, Outcome outcome) {
  if (!advance(core, job, model::end_event(outcome.end))) return;
  model::Ended ended;
  if (const model::Placed* placed = job.placed()) {
    leave_out(job.progress, idle_before(*placed, outcome.ended));
    job.progress.has_overrun |= job.progress.promised && outcome.ended >= job.progress.promised;
    ended.allocation = placed->allocation;
    ended.partition = placed->partition;
    ended.started = placed->started;
    ended.stood_still = placed->stood_still;
    ended.gpu_types = placed->gpu_types;
    if (placed->suspension && placed->suspension->since)
      ended.stood_still = ended.stood_still + std::max(outcome.ended - placed->suspension->since, Duration{});
  }
  ended.ended = outcome.ended;
  ended.outcome = std::move(outcome);
  if (const model::TaskSet* left = core.jobs.arrays().tasks_of(job)) ended.never_made = *left;
  job.phase = std::move(ended);
  count_service(core, job);
  core.clients.charges.end(job.id);
  core.timers.set(
      {job.ended()->ended + core.settings.retention.environments, TimerKind::kEnvironment, job.id.value, job.attempt});
  core.clients.attendants.erase(job.id);
  core.rows.job(job);
  core.out.job_event(job, "ended", fmt::format("{} {}", model::long_name(job.state), job.ended()->outcome.exit.text()));
  core.timers.cancel_job(job.id.value);
  core.timers.set({job.ended()->ended + core.settings.min_job_age, TimerKind::kJobPurge, job.id.value, job.attempt});
  answer_waiters_for_end(core, job);
}

void revive(Core& core, Job& job, const std::string& why) {
  const model::Ended before = *job.ended();
  const bool had_started = static_cast<bool>(before.started);
  if (had_started) core.rows.past_run(job, before.outcome);
  if (!advance(core, job, JobEvent::kRevive)) return;
  core.clients.charges.revive(job.id);
  job.phase = model::Waiting{};
  job.waiting()->since = core.now;
  if (job.spec.array) core.jobs.arrays().put_aside(job);  // it goes again when its array has room
  job.derived_exit = {};
  if (had_started) end_progress(job.progress, before.ended, false);
  job.eligible = {};
  job.launch_failures = 0;
  job.last_failure = before.outcome.detail;
  if (had_started) ++job.restarts;
  core.out.job_event(job, "requeued", why);
  if (had_started) mail_of_requeue(core, job, before.ended - before.started - before.stood_still);
  core.post(JobRevived{job.id});
  update_eligibility(core, job);
  core.rows.job_revived(job);
}

void end_pending(Core& core, Job& job, JobState state, Outcome outcome) {
  if (!job.spec.is_array()) core.feed.tell(sched::JobUnqueued{job.id});
  core.post(JobStopping{job.id, std::string(model::long_name(state))});
  outcome.end = state;
  outcome.ended = core.now;
  end(core, job, std::move(outcome));
}

}  // namespace gw::ctld
