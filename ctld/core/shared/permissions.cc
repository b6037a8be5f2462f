// See permissions.h.
#include "ctld/core/shared/permissions.h"

#include <fmt/format.h>

#include "ctld/core/names.h"
#include "ctld/core/shared/sight.h"

namespace gw::ctld {

using model::Job;

Role role_for(const Core& core, const Caller& caller, const model::Job& job) {
  if (is_admin(core.settings, caller)) return Role::kAdmin;
  if (caller.uid == job.spec.uid) return Role::kOwner;
  return is_operator(core.quotas, caller, job.spec.qos) ? Role::kOperator : Role::kOther;
}

base::Error denied_job(const Core& core, const Caller& caller, const Job& job) {
  // Who is neither owner nor operator nor administrator.
  if (core.settings.private_data.jobs && role_for(core, caller, job) == Role::kOther) return no_such_job(job.id);
  return {base::ErrorCode::kDenied,
          fmt::format("access denied to job {}: it belongs to {}", job.id.value, job.spec.user),
          denial(Grant::kOwnJobs)};
}

base::Result<Job*> seen_job(Core& core, const Caller& caller, uint32_t id) {
  Job* job = core.jobs.find(JobId(id));
  if (job == nullptr || !Sight(core, caller).sees(*job)) return tl::unexpected(no_such_job(JobId(id)));
  return job;
}

base::Result<Job*> job_for_step(Core& core, const Caller& caller, uint32_t id) {
  GW_TRY(job, seen_job(core, caller, id));
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, *job))) return tl::unexpected(denied_job(core, caller, *job));
  return job;
}

}  // namespace gw::ctld
