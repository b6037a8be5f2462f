// See job_actions.h.
#include "ctld/core/api/job_actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/cluster/quota_rules.h"
#include "ctld/core/jobs/eligibility.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/suspend.h"
#include "ctld/core/jobs/targets.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "model/sentences.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Outcome;

namespace {

base::Status hold(Core& core, const Caller& caller, Job& job, bool by_admin) {
  if (job.waiting() == nullptr)
    return base::with_sentence(
        base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not pending", job.id.value),
                   "use requeuehold to stop it and hold it"),
        model::kNotPendingSentence);
  // An administrator who holds an own job holds it as a user, so that it can be released as one.
  (by_admin && caller.uid != job.spec.uid ? job.spec.hold_admin : job.spec.hold_user) = true;
  update_eligibility(core, job);
  core.rows.job_and_spec(job);
  core.out.job_event(job, "held", "by " + caller.user, caller.uid);
  return {};
}

base::Status release(Core& core, const Caller& caller, Job& job) {
  if (job.waiting() == nullptr) return {};
  if (job.spec.hold_admin && role_for(core, caller, job) != Role::kAdmin)
    return base::fail(base::ErrorCode::kDenied, fmt::format("job {} is held by an administrator", job.id.value));
  if (!job.is_held()) return {};
  job.spec.hold_admin = job.spec.hold_user = false;
  job.waiting()->not_before = {};
  job.launch_failures = 0;
  for (Job* other : siblings(core, job)) other->launch_failures = 0;
  update_eligibility(core, job);
  core.rows.job_and_spec(job);
  core.out.job_event(job, "released", "by " + caller.user, caller.uid);
  return {};
}

/// It is still remembered, and could be submitted again as it was.
base::Status check_revival(const Core& core, const Job& job) {
  const std::string name = fmt::format("job {}", job.id.value);
  if (!model::is_end(job.state)) return base::fail(base::ErrorCode::kConflict, name + " has not ended");
  if (job.spec.kind != model::JobKind::kBatch)
    return base::fail(base::ErrorCode::kConflict, name + " has ended, and has no script to run again");
  if (!job.spec.requeue)
    return base::fail(base::ErrorCode::kConflict, name + " was submitted with --no-requeue", "submit it again");
  if (job.spec.array && !job.spec.array->is_task())
    return base::fail(base::ErrorCode::kConflict, name + " stands for tasks that never began: submit them again");
  if (job.spec.array && core.jobs.arrays().find(job.spec.array->job) == nullptr)
    return base::fail(base::ErrorCode::kConflict,
                      "the array of " + name + " is not remembered any more: submit it again");
  if (!job.spec.launch.env_hash.empty() && !core.clients.charges.has_environment(job.id))
    return base::fail(base::ErrorCode::kConflict,
                      name + " ended too long ago: its environment has been deleted (retention.environments)",
                      "submit it again");
  if (job.unmet.is_hopeless())
    return base::fail(base::ErrorCode::kConflict, name + " waited for what can never be", "submit it again");
  const bool is_single = job.spec.dependency.find("singleton") != std::string::npos;
  if (const JobId other = core.jobs.first_named(job.spec.uid, job.spec.name); is_single && other)
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("{} is a singleton, and job {} of its name has not ended", name, other.value),
                      "requeue it when that has");
  return {};
}

/// With the other components of a heterogeneous job. The bounds of QOS, user and queue hold again, and so do the
/// caller's own rights to the QOS.
base::Status requeue_ended(Core& core, const Caller& caller, Job& job, bool then_hold) {
  std::vector<Job*> all = siblings(core, job);
  all.push_back(&job);
  if (all.size() != std::max(job.spec.het_size, 1U))
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("a component of job {} is not remembered any more", job.spec.het_job.value),
                      "submit it again");
  for (const Job* one : all) GW_TRY_STATUS(check_revival(core, *one));
  model::JobSpec asked = job.spec;
  if (caller.uid == job.spec.uid) GW_TRY_STATUS(check_qos(core, caller, asked));
  if (core.jobs.live() + all.size() > core.settings.max_jobs)
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("the queue is full: {} jobs (jobs.max_jobs)", core.settings.max_jobs));
  for (const Job* one : all) GW_TRY_STATUS(check_caps(core, one->spec, all.size()));
  const size_t mine = core.clients.charges.of(job.spec.uid).jobs, most = core.settings.per_user.max_jobs;
  if (mine + all.size() > most && !is_admin(core.settings, caller))
    return base::fail(
        base::ErrorCode::kConflict,
        fmt::format("its user has {} jobs that wait or run; one user may have {} (users.max_jobs)", mine, most));
  for (Job* one : all) {
    if (then_hold) one->spec.hold_user = true;
    revive(core, *one, "had ended: requeued by " + caller.user);
  }
  return {};
}

base::Status requeue_on_request(Core& core, const Caller& caller, Job& job, bool then_hold) {
  if (job.waiting() != nullptr) {
    if (!then_hold)
      return base::fail(
          base::ErrorCode::kConflict,
          fmt::format("job {} is pending: it is in the queue already, nothing is to be requeued", job.id.value),
          job.is_held() ? "it is held: gcontrol release " + job.id.text() : "");
    return hold(core, caller, job, false);
  }
  if (!job.spec.requeue)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} was submitted with --no-requeue", job.id.value),
                      "gcontrol update JobId=... Requeue=1 first");
  if (job.state == JobState::kCompleting)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is completing", job.id.value));
  if (then_hold) {
    std::vector<Job*> all = siblings(core, job);
    all.push_back(&job);
    for (Job* one : all) {
      one->spec.hold_user = true;
      core.rows.job_and_spec(*one);
    }
  }
  Outcome outcome;
  outcome.end = JobState::kCancelled;
  outcome.reason = model::EndReason::kCancelledByUser;
  outcome.cancelled_by = caller.uid;
  outcome.detail = "requeued by " + caller.user;
  outcome.requeue = true;
  stop(core, job, std::move(outcome));
  return {};
}

/// A part of an array waits: of some of its tasks only that can be asked for which a waiting job can be.
base::Result<Job*> act_upon(Core& core, const Caller& caller, const NamedTasks& named, wire::JobAction action) {
  Job& job = core.jobs.at(named.job);
  const bool holds = action == wire::kHold || action == wire::kUserHold || action == wire::kRequeueHold;
  const bool releases = action == wire::kRelease && job.is_held();
  const bool is_denied = releases && job.spec.hold_admin && role_for(core, caller, job) != Role::kAdmin;
  if ((!holds && !releases) || is_denied || (holds && job.is_held())) return &job;
  return cut_off(core, named, CutTo::kWait);
}

base::Status act_on(Core& core, const Caller& caller, const NamedTasks& named, wire::JobAction action) {
  const Job& whole = core.jobs.at(named.job);
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, whole)))
    return tl::unexpected(denied_job(core, caller, whole));
  const bool requeues = action == wire::kRequeue || action == wire::kRequeueHold;
  if (model::is_end(whole.state) && requeues)
    return requeue_ended(core, caller, core.jobs.at(named.job), action == wire::kRequeueHold);
  if (model::is_end(whole.state))
    return base::with_sentence(
        base::fail(base::ErrorCode::kConflict,
                   fmt::format("job {} has ended already: {}", whole.id.value, model::long_name(whole.state))),
        model::kAlreadyDoneSentence);
  GW_TRY(meant, act_upon(core, caller, named, action));
  Job& job = *meant;
  switch (action) {
    case wire::kHold:
      return hold(core, caller, job, role_for(core, caller, job) == Role::kAdmin);
    case wire::kUserHold:
      return hold(core, caller, job, false);
    case wire::kRelease:
      return release(core, caller, job);
    case wire::kRequeue:
      return requeue_on_request(core, caller, job, false);
    case wire::kRequeueHold:
      return requeue_on_request(core, caller, job, true);
    case wire::kSuspend:
      return suspend_on_request(core, caller, job);
    case wire::kResume:
      return resume_on_request(core, caller, job);
    default:
      return base::invalid("unknown action");
  }
}

/// Of those whose events are written when they have come about, by the controller.
void audit_action(Core& core, const Caller& caller, JobId id, wire::JobAction action) {
  const Job* job = core.jobs.find(id);
  if (job == nullptr || job->spec.uid == caller.uid) return;
  const std::string_view kind = action == wire::kSuspend       ? "suspended"
                                : action == wire::kRequeue     ? "requeued"
                                : action == wire::kRequeueHold ? "requeued and held"
                                                               : "";
  if (kind.empty()) return;
  core.out.audit(std::string(kind), fmt::format("job {} of {}", id.value, job->spec.user), "by " + caller.user,
                 caller.uid);
}

}  // namespace

void job_action(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::JobActionRequest& asked = request.job_action();
  const auto targets = targets_of(core, caller, asked.ids(), asked.tasks());
  if (!targets) return core.out.refuse(conn, request.id(), targets.error());
  wire::ApiReply out;
  *out.mutable_jobs() = act_on_targets(*targets, [&](const NamedTasks& named) {
    base::Status done = act_on(core, caller, named, asked.action());
    if (done) audit_action(core, caller, named.job, asked.action());
    return done;
  });
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
