// See permissions.h.
#include "ctld/core/shared/permissions.h"

#include <fmt/format.h>

#include "ctld/core/names.h"

namespace gw::ctld {

using model::Job;

Role role_for(const Core& core, const Caller& caller, const model::Job& job) {
  if (is_admin(core.settings, caller)) return Role::kAdmin;
  if (caller.uid == job.spec.uid) return Role::kOwner;
  return is_operator(core.quotas, caller, job.spec.qos) ? Role::kOperator : Role::kOther;
}

base::Error denied_job(const Job& job) {
  return {base::ErrorCode::kDenied,
          fmt::format("access denied to job {}: it belongs to {}", job.id.value, job.spec.user),
          denial(Grant::kOwnJobs)};
}

base::Result<Job*> job_for_step(Core& core, const Caller& caller, uint32_t id) {
  Job* job = core.jobs.find(JobId(id));
  if (job == nullptr) return tl::unexpected(no_such_job(JobId(id)));
  if (!is_allowed(Grant::kOwnJobs, role_for(core, caller, *job))) return tl::unexpected(denied_job(*job));
  return job;
}

}  // namespace gw::ctld
