// See cancel.h.
#include "ctld/core/api/cancel.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "ctld/core/api/job_cursor.h"
#include "ctld/core/jobs/arrays.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/limits.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/targets.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "ctld/core/shared/sight.h"
#include "model/sentences.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Outcome;

namespace {

/// What a filter without numbers selects: each job with its components, and no array for one of its tasks.
std::vector<Target> select(Core& core, const Caller& caller, const wire::JobFilter& filter) {
  std::vector<Target> out;
  JobCursor cursor(filter, Sight(core, caller).jobs());
  while (!cursor.is_done()) {
    ListPiece all;
    while (const model::Job* job = cursor.next(core.jobs.all(), all)) {
      Target& target = out.emplace_back(Target{job->id, {}, {{job->id, {}}}});
      for (const Job* other : siblings(core, *job)) target.jobs.push_back({other->id, {}});
    }
  }
  return out;
}

/// Of what was named that which passes the rest of the filter.
base::Result<std::vector<Target>> named(Core& core, const Caller& caller, const wire::JobFilter& filter) {
  GW_TRY(targets, targets_of(core, caller, filter.ids(), filter.tasks()));
  const JobMatch matches(filter);
  std::erase_if(targets, [&](Target& target) {
    if (target.jobs.empty()) return false;  // it is not there, which is told
    std::erase_if(target.jobs, [&](const NamedTasks& one) { return !matches(core.jobs.at(one.job)); });
    return target.jobs.empty();
  });
  return targets;
}

base::Result<std::vector<Target>> meant_by(Core& core, const Caller& caller, const wire::JobFilter& filter) {
  if (filter.ids().empty() && filter.tasks().empty()) return select(core, caller, filter);
  return named(core, caller, filter);
}

void end_by_user(Core& core, const Caller& caller, Job& job, bool at_once) {
  Outcome outcome;
  outcome.end = JobState::kCancelled;
  outcome.reason = model::EndReason::kCancelledByUser;
  outcome.cancelled_by = caller.uid;
  outcome.detail = "by " + caller.user;
  if (at_once) outcome.grace = base::Duration{};
  core.out.job_event(job, "cancelled", fmt::format("by {}{}", caller.user, at_once ? ", without grace" : ""),
                     caller.uid);
  if (job.waiting() != nullptr) return end_pending(core, job, JobState::kCancelled, std::move(outcome));
  if (job.state != JobState::kCompleting) return stop(core, job, std::move(outcome));
  Outcome& ending = *job.placed()->outcome;
  ending.requeue = false;  // it is ending already: but it does not come back
  if (ending.end == JobState::kNodeFail) ending.end = JobState::kCancelled;
  if (at_once) ending.grace = base::Duration{};
  core.rows.job(job);
  if (!at_once) return;
  expect_end(core, job, job.placed()->kill_sent, true);  // as a restart would say
  for (const NodeId node : job.placed()->waiting_for) send_stop(core, job, node, true);
}

/// Whoever has no permission does not cut an array either.
base::Status cancel_one(Core& core, const Caller& caller, const NamedTasks& named, const wire::CancelRequest& request) {
  Job& job = core.jobs.at(named.job);
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, job))) return tl::unexpected(denied_job(core, caller, job));
  if (model::is_end(job.state))
    return base::with_sentence(
        base::fail(base::ErrorCode::kConflict,
                   fmt::format("job {} has ended already: {}", job.id.value, model::long_name(job.state))),
        model::kAlreadyDoneSentence);
  constexpr int kMaxSignal = 64, kKill = 9;
  if (request.signo() < 0 || request.signo() > kMaxSignal)
    return base::invalid(fmt::format("signal {} does not exist", request.signo()));
  const bool is_kill = request.signo() == kKill && !request.batch_only();  // as in Slurm, that ends the job
  if (request.signo() != 0 && !is_kill) {
    if (job.state != JobState::kRunning)
      return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not running", job.id.value));
    const SignalReach reach = request.full()         ? SignalReach::kAll
                              : request.batch_only() ? SignalReach::kScript
                                                     : SignalReach::kSteps;
    if (!signal(core, job, request.signo(), reach))  // scancel passes over what is not there in silence
      return base::fail(base::ErrorCode::kNotFound,
                        fmt::format("job {} runs no step: nobody was signalled", job.id.value),
                        "-b signals its batch script, -f the script and all that it started");
    core.out.job_event(job, "signalled", fmt::format("signal {} by {}", request.signo(), caller.user), caller.uid);
    return {};
  }
  GW_TRY(meant, cut_off(core, named, CutTo::kEnd));
  end_by_user(core, caller, *meant, is_kill);
  return {};
}

}  // namespace

void cancel(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::CancelRequest& c = request.cancel();
  const wire::JobFilter& f = c.filter();
  if (f.ids().empty() && f.uids().empty() && f.users().empty() && f.partitions().empty() && f.states().empty() &&
      f.names().empty() && f.nodes().empty() && f.accounts().empty() && f.qos().empty() && f.reservations().empty() &&
      f.tasks().empty())
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kInvalid, "no job named", "give ids, or a filter such as -u"});
  const auto targets = meant_by(core, caller, f);
  if (!targets) return core.out.refuse(conn, request.id(), targets.error());
  wire::JobsReply done =
      act_on_targets(*targets, [&](const NamedTasks& one) { return cancel_one(core, caller, one, c); });
  wire::ApiReply out;
  *out.mutable_cancel()->mutable_done() = done.done();
  const bool by_id = !f.ids().empty() || !f.tasks().empty();
  for (wire::JobFault& fault : *done.mutable_faults())
    if (by_id || fault.error().code() != static_cast<uint32_t>(base::ErrorCode::kDenied))
      *out.mutable_cancel()->add_faults() = std::move(fault);
  reply_change(core, conn, caller, request, std::move(out));
}

void cancel_unwritten(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const auto targets = meant_by(core, caller, request.cancel().filter());
  if (!targets) return core.out.refuse(conn, request.id(), targets.error());
  size_t told = 0;
  act_on_targets(*targets, [&](const NamedTasks& one) -> base::Status {
    const model::Job& job = core.jobs.at(one.job);
    if (job.placed() == nullptr || !job.placed()->started) return {};
    base::Status done = cancel_one(core, caller, one, request.cancel());
    told += done.has_value();
    return done;
  });
  base::Error error = store_error(core);
  if (told > 0) {
    error.what = fmt::format("{} told to end or signalled, which is not on disk yet: {}", base::counted(told, "job"),
                             error.what);
    error.hint = "jobs that wait stay in the queue; try again when an administrator has mended it";
  }
  core.out.refuse_at_once(conn, request.id(), error);
}

}  // namespace gw::ctld
