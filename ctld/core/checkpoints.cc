// `gangway checkpointed`: a job says that its work is saved. What is lost otherwise is counted in preemption.cc.
#include <fmt/format.h>

#include "ctld/core/controller.h"
#include "ctld/core/names.h"

namespace gw::ctld {

void Controller::checkpointed(Time now, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  model::Job* job = jobs_.find(JobId(request.checkpointed().job_id()));
  if (job == nullptr) return out_.refuse(conn, request.id(), no_such_job(JobId(request.checkpointed().job_id())));
  if (!is_allowed(Grant::kOwnJobs, role_for(caller, *job))) return out_.refuse(conn, request.id(), denied_job(*job));
  const model::Placed* placed = job->placed();
  // Whoever was told to go may still save its work, as long as it has its grace.
  const bool runs =
      placed != nullptr && placed->started && !stands_still(*job) &&
      (!placed->outcome || now <= placed->kill_sent + placed->outcome->grace.value_or(placed->contract.kill_wait));
  if (!runs)
    return out_.refuse(conn, request.id(),
                       {base::ErrorCode::kConflict, fmt::format("job {} is not running", job->id.value), ""});
  std::vector<model::Job*> all = siblings(*job);
  all.push_back(job);
  for (model::Job* one : all) {  // the components of a job have one work
    if (one->placed() == nullptr || !one->placed()->started) continue;
    one->placed()->saved = now;
    rows_.job(*one);
    feed_.tell(sched::RunningChanged{one->id, std::make_shared<const sched::PendingJob>(pending_of(*one))});
  }
  out_.job_event(now, *job, "checkpointed", "its work is saved", caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(now, conn, caller, request, std::move(out));
}

}  // namespace gw::ctld
