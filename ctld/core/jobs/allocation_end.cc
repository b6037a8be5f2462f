// See allocation_end.h.
#include "ctld/core/jobs/allocation_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/run.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"

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

void tie_to_client(Core& core, ConnId conn, const Job& job) {
  if (job.spec.attended) core.clients.attendants[job.id] = conn;
}

void client_left(Core& core, ConnId conn) {
  std::erase_if(core.clients.attendants, [&](const auto& entry) {
    if (entry.second != conn) return false;
    core.timers.set({core.now + kAbsence, TimerKind::kAbsence, entry.first.value, 0});
    return true;
  });
}

void await_client(Core& core, const Job& job) {
  if (job.spec.attended) core.timers.set({core.now + kAbsenceAtRestart, TimerKind::kAbsence, job.id.value, 0});
}

void await_step(Core& core, const Job& job) {
  core.timers.set({core.now + kStepDue, TimerKind::kAbsence, job.id.value, 0});
}

void client_absence_due(Core& core, Job& job) {
  if (model::is_end(job.state) || core.clients.attendants.contains(job.id)) return;
  const bool lacks_step = job.spec.kind == JobKind::kStep && job.state == JobState::kRunning &&
                          job.placed()->next_step == 0 && job.placed()->started + kStepDue <= core.now;
  // While it is suspended nobody can be expected to ask.
  const bool stands = job.spec.kind == JobKind::kStep && job.state == JobState::kSuspended;
  if (stands && !job.spec.attended) await_step(core, job);
  if (!job.spec.attended && !lacks_step) return;
  Outcome outcome;
  outcome.end = JobState::kCancelled;
  outcome.reason = model::EndReason::kCancelledByUser;
  outcome.cancelled_by = job.spec.uid;
  outcome.detail = "its client has gone";
  outcome.ended = core.now;
  if (job.waiting() != nullptr) return end_pending(core, job, JobState::kCancelled, std::move(outcome));
  // A step knows by itself whether it continues without its client.
  if (job.spec.kind == JobKind::kStep && core.steps.count_of(job.id) > 0) return;
  if (job.state != JobState::kCompleting) stop(core, job, std::move(outcome));
}

void end_allocation(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::EndAllocationRequest& asked = request.end_allocation();
  const auto job = job_for_step(core, caller, asked.job_id());
  if (!job) return core.out.refuse(conn, request.id(), job.error());
  if ((*job)->spec.kind == JobKind::kBatch)
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kConflict, fmt::format("job {} runs a script", (*job)->id.value), "gcancel ends it"});
  Outcome outcome = ended_by_client(core.now, asked.exit_code(), asked.exit_signo());
  if ((*job)->waiting() != nullptr) {
    outcome.reason = model::EndReason::kCancelledByUser;
    outcome.cancelled_by = caller.uid;
    end_pending(core, **job, JobState::kCancelled, std::move(outcome));
  } else if ((*job)->state != JobState::kCompleting && !model::is_end((*job)->state)) {
    stop(core, **job, std::move(outcome));
  }
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

void end_with_step(Core& core, Job& job, const model::Step& step) {
  Outcome outcome = ended_by_client(core.now, step.exit.code, step.exit.signo);
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
  stop(core, job, std::move(outcome));
}

}  // namespace gw::ctld
