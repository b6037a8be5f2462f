// What time brings: begin times, limits, warnings, start time-outs, purges, heartbeats. Every handler looks at the
// state again, so a timer that came too late or twice does no harm.
#include <fmt/format.h>

#include "base/hostlist.h"
#include "ctld/core/controller.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Outcome;

void Controller::on_tick(Time now, std::optional<Time> heard_until) {
  heard_until_ = std::max(heard_until_, heard_until.value_or(now));
  Timer timer;
  while (timers_.take_due(now, timer)) fire(now, timer);
  if (!found_moves_.empty()) tell_moves(now);
}

void Controller::fire(Time now, const Timer& timer) {
  if (timer.kind == TimerKind::kNodeSilence || timer.kind == TimerKind::kNodeBeat)
    return node_silence_due(now, NodeId(static_cast<uint32_t>(timer.id)), timer.at);
  if (timer.kind == TimerKind::kNodeDown) return node_down_due(now, NodeId(static_cast<uint32_t>(timer.id)));
  if (timer.kind == TimerKind::kArrivals) return absent_due(now);
  if (timer.kind == TimerKind::kAllHeard) return look_who_is_heard(now);
  if (timer.kind == TimerKind::kReservation) return reservations_due(now);
  if (timer.kind == TimerKind::kUsage) return usage_due(now);
  if (timer.kind == TimerKind::kStepUse) return answer_use(now, timer.id);
  if (timer.kind == TimerKind::kScripts) return drop_scripts(now);
  if (timer.kind == TimerKind::kReplies) {
    kept_replies_.forget_before(now - kReplyMemory);
    out_.write(store::DropReplies{now - kReplyMemory});
    const Time oldest = kept_replies_.oldest();
    if (oldest != Time::never()) timers_.set({oldest + kReplyMemory, TimerKind::kReplies, 0, 0});
    return;
  }
  Job* job = jobs_.find(JobId(static_cast<uint32_t>(timer.id)));
  if (job != nullptr && timer.kind == TimerKind::kAbsence) return absence_due(now, *job);
  if (job == nullptr || job->attempt != timer.attempt) return;
  switch (timer.kind) {
    case TimerKind::kJobEligible:
      if (job->waiting() == nullptr) return;
      consider(now, *job);
      rows_.job(*job);
      return;
    case TimerKind::kJobLimit:
      return job_limit_due(now, *job);
    case TimerKind::kJobWarn:
      return job_warn_due(now, *job);
    case TimerKind::kStartTimeout:
      return start_timeout_due(now, *job);
    case TimerKind::kLeaseOver:
      return lease_over_due(now, *job, timer.node);
    case TimerKind::kPiece:
      return pieces_due(now, *job);
    case TimerKind::kSuspension:
      return suspension_due(now, *job);
    case TimerKind::kEnvironment:
      if (model::is_end(job->state)) environment_due(job->id);
      return;
    case TimerKind::kJobPurge:
      if (!model::is_end(job->state)) return;
      for (store::Op& row : rows_.take_of(*job)) out_.write(std::move(row));
      job_left_memory(now, job->id);
      jobs_.erase(job->id);
      return;
    default:
      return;
  }
}

void Controller::job_limit_due(Time now, Job& job) {
  if (job.state != JobState::kRunning) return;
  if (job.placed()->running_since() + job.spec.time_limit > now) return arm_limits(job);  // it was raised meanwhile
  Outcome outcome;
  outcome.end = JobState::kTimeout;
  outcome.reason = model::EndReason::kTimeLimit;
  outcome.detail = "time limit " + base::format_duration(job.spec.time_limit) + " reached";
  stop(now, job, std::move(outcome));
}

void Controller::job_warn_due(Time now, Job& job) {
  if (job.state != JobState::kRunning || job.placed()->warned) return;
  const Time due = job.placed()->running_since() + job.spec.time_limit - base::seconds(job.spec.warn.seconds_before);
  if (due > now) return arm_limits(job);
  job.placed()->warned = true;
  rows_.job(job);
  const SignalReach reach = job.spec.warn.batch_only ? SignalReach::kScript : SignalReach::kSteps;
  const bool has_reached = signal(job, job.spec.warn.signo, reach);
  out_.job_event(
      now, job, "warned",
      fmt::format("signal {}{}", job.spec.warn.signo, has_reached ? "" : ": no step runs, so nobody got it"));
}

void Controller::start_timeout_due(Time now, Job& job) {
  if (job.state != JobState::kConfiguring) return;
  // A gang of one goes by itself: while its node is out of reach it may well be running.
  if (goes_alone(job) && !job.placed()->unreachable.empty()) {
    timers_.set({now + settings_.start_timeout, TimerKind::kStartTimeout, job.id.value, job.attempt});
    return;
  }
  std::vector<std::string> names;
  std::set<NodeId> missing = job.placed()->waiting_for;
  for (const Job* other : siblings(job))
    if (other->state == JobState::kConfiguring)
      missing.insert(other->placed()->waiting_for.begin(), other->placed()->waiting_for.end());
  for (NodeId node : missing) names.push_back(nodes_.name_of(node));
  Outcome outcome;
  outcome.end = JobState::kNodeFail;
  outcome.reason = model::EndReason::kLaunchFailed;
  outcome.detail = fmt::format("{} did not prepare within {}", base::compress_hostlist(names),
                               base::format_duration(settings_.start_timeout));
  outcome.requeue = true;
  outcome.ended = now;
  blame(now, job, missing, outcome.detail);
  stop(now, job, std::move(outcome));
}

}  // namespace gw::ctld
