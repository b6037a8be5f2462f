// Jobs without a script: allocations for steps, which end by the word of their client, with their one step, or when the
// client has gone.
#include <fmt/format.h>

#include "ctld/core/controller.h"
#include "ctld/core/names.h"

namespace gw::ctld {

using model::Job;
using model::JobKind;
using model::JobState;
using model::Outcome;

namespace {

/// What a connection that broke has to come back, and what a client has after a restart of the controller.
constexpr base::Duration kAbsence = base::seconds(15);
constexpr base::Duration kAbsenceAtRestart = base::seconds(120);
/// What a job that is one step has to get it.
constexpr base::Duration kStepDue = base::seconds(60);

Outcome ended_by_client(Time now, int code, int signo) {
  Outcome outcome;
  outcome.exit = {code & 0xff, signo};
  outcome.ended = now;
  if (code == 0 && signo == 0) return outcome;
  outcome.end = JobState::kFailed;
  outcome.reason = signo != 0 ? model::EndReason::kRaisedSignal : model::EndReason::kNonZeroExit;
  return outcome;
}

}  // namespace

/// What holds for every job without a script.
void Controller::accept_kind(model::JobSpec& spec) {
  if (spec.kind == JobKind::kBatch) {
    spec.attended = false;
    return;
  }
  // Nobody would notice that it runs a second time.
  spec.requeue = false;
  if (!spec.not_preemptible) spec.on_preempt = model::OnPreempt::kCancel;
}

void Controller::attend(ConnId conn, const Job& job) {
  if (job.spec.attended) attendants_[job.id] = conn;
}

void Controller::client_left(Time now, ConnId conn) {
  std::erase_if(attendants_, [&](const auto& entry) {
    if (entry.second != conn) return false;
    timers_.set({now + kAbsence, TimerKind::kAbsence, entry.first.value, 0});
    return true;
  });
}

void Controller::await_attendant(Time now, const Job& job) {
  if (job.spec.attended) timers_.set({now + kAbsenceAtRestart, TimerKind::kAbsence, job.id.value, 0});
}

void Controller::await_step(Time now, const Job& job) {
  timers_.set({now + kStepDue, TimerKind::kAbsence, job.id.value, 0});
}

void Controller::absence_due(Time now, Job& job) {
  if (model::is_end(job.state) || attendants_.contains(job.id)) return;
  const bool lacks_step = job.spec.kind == JobKind::kStep && job.state == JobState::kRunning &&
                          job.placed()->next_step == 0 && job.placed()->started + kStepDue <= now;
  // While it stands still nobody can be expected to ask.
  const bool stands = job.spec.kind == JobKind::kStep && job.state == JobState::kSuspended;
  if (stands && !job.spec.attended) await_step(now, job);
  if (!job.spec.attended && !lacks_step) return;
  Outcome outcome;
  outcome.end = JobState::kCancelled;
  outcome.reason = model::EndReason::kCancelledByUser;
  outcome.cancelled_by = job.spec.uid;
  outcome.detail = "its client has gone";
  outcome.ended = now;
  if (job.waiting() != nullptr) return end_pending(now, job, JobState::kCancelled, std::move(outcome));
  // A step knows by itself whether it goes on without its client.
  if (job.spec.kind == JobKind::kStep && steps_.count_of(job.id) > 0) return;
  if (job.state != JobState::kCompleting) stop(now, job, std::move(outcome));
}

void Controller::end_allocation(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::EndAllocationRequest& asked = request.end_allocation();
  const auto job = job_for_step(caller, asked.job_id());
  if (!job) return out_.refuse(conn, request.id(), job.error());
  if ((*job)->spec.kind == JobKind::kBatch)
    return out_.refuse(
        conn, request.id(),
        {base::ErrorCode::kConflict, fmt::format("job {} runs a script", (*job)->id.value), "gcancel ends it"});
  Outcome outcome = ended_by_client(now, asked.exit_code(), asked.exit_signo());
  if ((*job)->waiting() != nullptr) {
    outcome.reason = model::EndReason::kCancelledByUser;
    outcome.cancelled_by = caller.uid;
    end_pending(now, **job, JobState::kCancelled, std::move(outcome));
  } else if ((*job)->state != JobState::kCompleting && !model::is_end((*job)->state)) {
    stop(now, **job, std::move(outcome));
  }
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

void Controller::end_with_step(Time now, Job& job, const model::Step& step) {
  Outcome outcome = ended_by_client(now, step.exit.code, step.exit.signo);
  outcome.detail = step.detail;
  if (step.is_out_of_memory) {
    outcome.end = JobState::kOutOfMemory;
    outcome.reason = model::EndReason::kOutOfMemory;
  }
  if (step.is_lease_over) {
    outcome.end = JobState::kNodeFail;
    outcome.reason = model::EndReason::kLeaseExpired;
    outcome.exit = {};
    outcome.requeue = job.spec.requeue;
  }
  stop(now, job, std::move(outcome));
}

}  // namespace gw::ctld
