// See progress.h.
#include "ctld/core/api/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "ctld/core/shared/told_progress.h"

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

/// Those on nodes of which the gang has been told; 0: it is no elastic gang.
uint32_t tasks_of(const model::Job& job) {
  uint32_t out = 0;
  if (!job.spec.request.elastic) return out;
  const auto& extensions = job.placed()->extensions;
  for (const model::NodeShare& share : job.placed()->allocation.shares) {
    const auto extension = extensions.find(share.node);
    if (extension == extensions.end() || (extension->second.is_ready && !extension->second.until)) out += share.tasks;
  }
  return out;
}

/// What orders by durations go by, and how a gang scales, if it is other than it was.
void tell_scheduler(Core& core, const model::Job& job, const sched::PendingJob& before) {
  auto present = std::make_shared<const sched::PendingJob>(pending_of(core, job));
  const bool has_other_end = present->remaining != before.remaining || present->overruns != before.overruns;
  const bool is_of_use =
      (has_other_end && core.planning.orders.needs().durations) || present->scaling != before.scaling;
  if (!is_of_use) return;
  core.feed.tell(sched::RunningChanged{job.id, std::move(present)});
}

/// Does any other job compute on a GPU of its? What a suspended one keeps is held under an id that is no job's.
bool shares_gpu(const Core& core, const model::Job& job) {
  for (const model::NodeShare& share : job.placed()->allocation.shares) {
    const sched::NodeAccount* node = core.ledger.capacity().node(share.node);
    if (node == nullptr || share.gpu_milli == model::kWholeGpu) continue;
    for (const sched::Occupant& o : node->occupants)
      if (o.job != job.id && core.jobs.find(o.job) != nullptr && o.gpus.intersects(share.gpus)) return true;
  }
  return false;
}

/// Beside others it may be too slow; then it has a GPU of its own from now on.
void look_at_company(Core& core, model::Job& job, model::Pace pace) {
  const auto partition = core.partitions.all.find(job.placed()->partition);
  const uint32_t least = partition == core.partitions.all.end() ? 0 : partition->second.min_shared_rate;
  const bool is_shared = job.spec.request.gpus > 0 && job.spec.request.gpu_milli < model::kWholeGpu;
  if (least == 0 || !is_shared || job.progress.company.needs_own_gpu) return;
  pace.has_others = shares_gpu(core, job);
  job.progress.company = model::with_pace(job.progress.company, pace, least, core.now);
  if (!job.progress.company.needs_own_gpu) return;
  core.rows.job(job);
  core.out.job_event(
      job, "own gpu",
      fmt::format("beside others on its GPU it came to less than {} % of its own rate: from now on it has "
                  "one of its own",
                  least));
  core.ledger.set_own_gpu(job.id);
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
  const Time told = job->progress.told;
  const bool is_due = !told || core.now < told || core.now >= told + kShortestBetween;  // or the clock went back
  if (is_due) {
    const sched::PendingJob before = pending_of(core, *job);
    const model::Pace pace{model::pace_of(job->progress, report, core.now), report.step};
    job->progress = model::with_report(job->progress, report, core.now, tasks_of(*job));
    keep_promise(*job, core.now);
    look_at_company(core, *job, pace);
    core.rows.job(*job);
    tell_scheduler(core, *job, before);
  }
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
