// See checkpoints.h.
#include "ctld/core/api/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/names.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "sched/quota/quota_tree.h"

namespace gw::ctld {

void checkpointed(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  model::Job* job = core.jobs.find(JobId(request.checkpointed().job_id()));
  if (job == nullptr) return core.out.refuse(conn, request.id(), no_such_job(JobId(request.checkpointed().job_id())));
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, *job)))
    return core.out.refuse(conn, request.id(), denied_job(core, caller, *job));
  const model::Placed* placed = job->placed();
  // Whoever was told to go may still save its work, as long as it has its grace.
  const bool runs =
      placed != nullptr && placed->started && !is_suspended(*job) &&
      (!placed->outcome || core.now <= placed->kill_sent + placed->outcome->grace.value_or(placed->contract.kill_wait));
  if (!runs)
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kConflict, fmt::format("job {} is not running", job->id.value), ""});
  std::vector<model::Job*> all = siblings(core, *job);
  all.push_back(job);
  for (model::Job* one : all) {  // the components of a job have one work
    if (one->placed() == nullptr || !one->placed()->started) continue;
    one->placed()->saved = core.now;
    one->progress.saved_step = one->progress.step;
    core.rows.job(*one);
    core.feed.tell(sched::RunningChanged{one->id, std::make_shared<const sched::PendingJob>(pending_of(core, *one))});
  }
  core.out.job_event(*job, "checkpointed", "its work is saved", caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
