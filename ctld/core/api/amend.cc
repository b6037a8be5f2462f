// See amend.h.
#include "ctld/core/api/amend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/admission/budgets.h"
#include "ctld/core/shared/permissions.h"
#include "ctld/core/shared/replies.h"
#include "wire/row_bytes.h"

namespace gw::ctld {

namespace {

void answer(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request, const model::Job& job) {
  if (!request.amend_job().check_only()) core.out.job_event(job, "amended", "by " + caller.user, caller.uid);
  wire::ApiReply out;
  out.mutable_ok();
  reply_change(core, conn, caller, request, std::move(out));
}

/// In memory it counts for its user.
base::Status amend(Core& core, const Caller& caller, const wire::AmendJobRequest& said, model::Job& job) {
  const size_t before = core.clients.charges.row_bytes(job.id);
  size_t after = before;
  if (said.has_comment()) after = after - std::min(after, job.spec.comment.size()) + said.comment().size();
  GW_TRY_STATUS(admit_growth(core, caller, job.spec.uid, before, after));
  if (said.check_only()) return {};
  core.clients.charges.resize(job.id, after);
  if (said.has_comment()) job.spec.comment = said.comment();
  if (said.has_derived_code())
    job.derived_exit = {static_cast<int32_t>(said.derived_code()), static_cast<int32_t>(said.derived_signo())};
  core.rows.job_and_spec(job);
  return {};
}

/// The row with what is said now, and with what was said of it before, which may not be stored yet. Error: damaged.
base::Result<store::AmendEnded> amended_row(const Core& core, const store::JobRow& row,
                                            const wire::AmendJobRequest& said) {
  const store::AmendEnded* before = core.stored.amended.find(row.id);
  wire::JobSpec spec;
  wire::JobStatus status;
  if (!spec.ParseFromString(before == nullptr ? row.spec : before->spec) ||
      !status.ParseFromString(before == nullptr ? row.status : before->status))
    return base::fail(base::ErrorCode::kInternal, fmt::format("the record of job {} is damaged", row.id.value));
  if (said.has_comment()) spec.set_comment(said.comment());
  if (said.has_derived_code()) {
    status.set_derived_code(static_cast<int32_t>(said.derived_code()));
    status.set_derived_signo(static_cast<int32_t>(said.derived_signo()));
  }
  return store::AmendEnded{row.id, wire::row_bytes(spec), wire::row_bytes(status)};
}

}  // namespace

void amend_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request) {
  const wire::AmendJobRequest& said = request.amend_job();
  model::Job* job = core.jobs.find(JobId(said.id()));
  if (job == nullptr) return core.out.send(FetchEnded{conn, JobId(said.id()), request});
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, *job)))
    return core.out.refuse(conn, request.id(), denied_job(core, caller, *job));
  if (!model::is_end(job->state))
    return core.out.refuse(conn, request.id(),
                           {base::ErrorCode::kConflict, fmt::format("job {} has not ended", job->id.value),
                            fmt::format("gcontrol update JobId={} Comment=... changes its comment", job->id.value)});
  if (const base::Status done = amend(core, caller, said, *job); !done)
    return core.out.refuse(conn, request.id(), done.error());
  answer(core, conn, caller, request, *job);
}

void on_ended_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request,
                  const store::JobRow& row) {
  if (!core.stored.fault.empty()) return refuse_for_store(core, conn, request.id());
  model::Job job;
  job.id = row.id;
  job.spec.uid = row.uid;
  job.spec.user = row.user;
  job.spec.qos = row.qos;
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, job)))
    return core.out.refuse(conn, request.id(), denied_job(core, caller, job));
  auto amended = amended_row(core, row, request.amend_job());
  if (!amended) return core.out.refuse(conn, request.id(), amended.error());
  if (!request.amend_job().check_only()) {
    core.stored.amended.add(*amended);
    core.rows.forgotten_job(std::move(*amended));
  }
  answer(core, conn, caller, request, job);
}

}  // namespace gw::ctld
