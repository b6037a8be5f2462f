// See amend.h.
#include "ctld/core/api/amend.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

namespace {

void answer(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request, const model::Job& job) {
  core.out.job_event(job, "amended", "by " + caller.user, caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

base::Status amend(const wire::AmendJobRequest& said, store::JobRow& row) {
  wire::JobSpec spec;
  wire::JobStatus status;
  if (!spec.ParseFromString(row.spec) || !status.ParseFromString(row.status))
    return base::fail(base::ErrorCode::kInternal, fmt::format("the record of job {} is damaged", row.id.value));
  if (said.has_comment()) spec.set_comment(said.comment());
  if (said.has_derived_code()) {
    status.set_derived_code(static_cast<int32_t>(said.derived_code()));
    status.set_derived_signo(static_cast<int32_t>(said.derived_signo()));
  }
  row.spec = wire::row_bytes(spec);
  row.status = wire::row_bytes(status);
  return {};
}

}  // namespace

void amend_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::AmendJobRequest& said = request.amend_job();
  model::Job* job = core.jobs.find(JobId(said.id()));
  if (job == nullptr) return core.out.send(FetchEnded{conn, JobId(said.id()), request});
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, *job)))
    return core.out.refuse(conn, request.id(), denied_job(*job));
  if (!model::is_end(job->state))
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kConflict, fmt::format("job {} has not ended", job->id.value),
                            fmt::format("gcontrol update JobId={} Comment=... changes its comment", job->id.value)});
  if (said.has_comment()) job->spec.comment = said.comment();
  if (said.has_derived_code())
    job->derived_exit = {static_cast<int32_t>(said.derived_code()), static_cast<int32_t>(said.derived_signo())};
  core.rows.job_and_spec(*job);
  answer(core, conn, caller, request, *job);
}

void on_ended_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request, store::JobRow row) {
  if (!core.stored.fault.empty()) return refuse_for_store(core, conn, request.id());
  model::Job job;
  job.id = row.id;
  job.spec.uid = row.uid;
  job.spec.user = row.user;
  job.spec.qos = row.qos;
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, job)))
    return core.out.refuse(conn, request.id(), denied_job(job));
  if (const base::Status done = amend(request.amend_job(), row); !done)
    return core.out.refuse(conn, request.id(), done.error());
  core.rows.forgotten_job(std::move(row));
  answer(core, conn, caller, request, job);
}

}  // namespace gw::ctld
