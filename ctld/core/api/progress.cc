// See progress.h.
#include "ctld/core/api/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "sched/queue/orders.h"

namespace gw::ctld {
namespace {

/// Each report that is kept is a row of the store: a loop that tells each of its steps costs no more than this.
constexpr base::Duration kShortestBetween = base::seconds(1);

model::ProgressReport report_of(const wire::ProgressRequest& w) {
  model::ProgressReport out;
  if (w.has_step()) out.step = w.step();
  if (w.has_of()) out.of = w.of();
  if (w.has_rate_milli()) out.rate_milli = w.rate_milli();
  return out;
}

/// The earliest end that it told in this run binds it: who tells a later one has still told the first.
void keep_promise(model::Job& job, Time now) {
  model::Progress& p = job.progress;
  p.has_overrun |= p.promised && now >= p.promised;
  const Time end = model::expected_end(p), began = job.placed()->running_since();
  if (end == Time::never()) return;
  const Time latest = sched::overrun_of(began, end - began);
  p.promised = p.promised ? std::min(p.promised, latest) : latest;
}

/// What orders by durations go by, if it is other than it was.
void tell_scheduler(Core& core, const model::Job& job, const sched::PendingJob& before) {
  if (!core.planning.orders.needs().durations) return;
  auto present = std::make_shared<const sched::PendingJob>(pending_of(core, job));
  if (present->remaining == before.remaining && present->overruns == before.overruns) return;
  core.feed.tell(sched::RunningChanged{job.id, std::move(present)});
}

}  // namespace

void report_progress(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::ProgressRequest& said = request.progress();
  const model::Job* named = core.jobs.find(JobId(said.job_id()));
  if (named == nullptr) return core.out.refuse(conn, request.id(), no_such_job(JobId(said.job_id())));
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, *named)))
    return core.out.refuse(conn, request.id(), denied_job(core, caller, *named));
  model::Job* job = &core.jobs.at(leader_of(core, *named).id);  // the components of a job have one work
  const model::ProgressReport report = report_of(said);
  if (!report.step && !report.of && !report.rate_milli)
    return core.out.refuse(
        conn, request.id(),
        {base::ErrorCode::kInvalid, "nothing is told of how far the job is", "tell its step, or its rate"});
  const model::Placed* placed = job->placed();
  if (placed == nullptr || !placed->started || is_suspended(*job) || placed->outcome)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kConflict, fmt::format("job {} is not running", job->id.value), ""});
  if (!job->progress.told || core.now >= job->progress.told + kShortestBetween) {
    const sched::PendingJob before = pending_of(core, *job);
    job->progress = model::with_report(job->progress, report, core.now);
    keep_promise(*job, core.now);
    core.rows.job(*job);
    tell_scheduler(core, *job, before);
  }
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
