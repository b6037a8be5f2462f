// See cancel.h.
#include "ctld/core/api/cancel.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/counted.h"
#include "ctld/core/api/job_cursor.h"
#include "ctld/core/jobs/arrays.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/limits.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "wire/convert.h"

namespace gw::ctld {

using model::Job;
using model::JobState;
using model::Outcome;

namespace {

std::vector<JobId> select(const Core& core, const wire::JobFilter& filter, std::vector<uint32_t>* unknown) {
  std::vector<JobId> out;
  JobCursor cursor(filter);
  while (!cursor.is_done()) {
    ListPiece all;
    while (const model::Job* job = cursor.next(core.jobs.all(), all)) out.push_back(job->id);
    for (uint32_t id : cursor.take_unknown())
      if (unknown != nullptr) unknown->push_back(id);
  }
  return out;
}

/// Arrays with their tasks.
std::set<uint32_t> with_tasks(Core& core, std::set<uint32_t> ids) {
  const std::set<uint32_t> named = ids;
  for (const uint32_t id : named)
    for (const Job* task : tasks_of(core, JobId(id))) ids.insert(task->id.value);
  return ids;
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

base::Status cancel_one(Core& core, const Caller& caller, Job& job, const wire::CancelRequest& request) {
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, job))) return tl::unexpected(denied_job(job));
  if (model::is_end(job.state))
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("job {} has ended already: {}", job.id.value, model::long_name(job.state)));
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
  end_by_user(core, caller, job, is_kill);
  return {};
}

}  // namespace

void cancel(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::CancelRequest& c = request.cancel();
  const wire::JobFilter& f = c.filter();
  if (f.ids().empty() && f.uids().empty() && f.users().empty() && f.partitions().empty() && f.states().empty() &&
      f.names().empty() && f.nodes().empty() && f.accounts().empty() && f.qos().empty() && f.reservations().empty())
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kInvalid, "no job named", "give ids, or a filter such as -u"});
  wire::ApiReply out;
  std::vector<uint32_t> unknown;
  const bool by_id = !f.ids().empty();
  std::set<uint32_t> ids;
  for (JobId id : select(core, f, &unknown)) ids.insert(id.value);
  const std::set<uint32_t> named = ids;
  for (uint32_t value : with_tasks(core, with_components(core, std::move(ids)))) {
    const JobId id(value);
    // What one component came to the others came to with it.
    if (!named.contains(value) && model::is_end(core.jobs.at(id).state)) continue;
    const base::Status done = cancel_one(core, caller, core.jobs.at(id), c);
    if (!named.contains(value)) continue;
    if (done) {
      out.mutable_cancel()->add_done(id.value);
    } else if (by_id || done.error().code != base::ErrorCode::kDenied) {
      wire::JobFault& fault = *out.mutable_cancel()->add_faults();
      fault.set_id(id.value);
      *fault.mutable_error() = wire::to_wire(done.error());
    }
  }
  for (uint32_t id : unknown) {
    wire::JobFault& fault = *out.mutable_cancel()->add_faults();
    fault.set_id(id);
    *fault.mutable_error() = wire::to_wire(no_such_job(JobId(id)));
  }
  out.mutable_cancel();
  reply_change(core, conn, caller, request, std::move(out));
}

void cancel_unwritten(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  size_t told = 0;
  std::set<uint32_t> ids;
  for (const JobId id : select(core, request.cancel().filter(), nullptr)) ids.insert(id.value);
  for (const uint32_t id : with_tasks(core, with_components(core, std::move(ids)))) {
    model::Job& job = core.jobs.at(JobId(id));
    if (job.placed() == nullptr || !job.placed()->started) continue;
    told += cancel_one(core, caller, job, request.cancel()).has_value();
  }
  base::Error error = store_error(core);
  if (told > 0) {
    error.what = fmt::format("{} told to end or signalled, which is not on disk yet: {}", base::counted(told, "job"),
                             error.what);
    error.hint = "jobs that wait stay in the queue; try again when an administrator has mended it";
  }
  core.out.refuse_at_once(conn, request.id(), error);
}

}  // namespace gw::ctld
