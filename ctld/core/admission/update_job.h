// `gcontrol update JobId=...`: each field is checked like at submission; a request changes all its fields or none. What
// stands here has a rule of its own or more than one field: the rest its rows say (wire/job_attributes.h).
#pragma once

#include <utility>
#include <vector>

#include "ctld/core/core.h"

namespace gw::ctld {

/// Changes what jobs ask for; of each job all of the changes or none.
void update_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

/// A job, and what it is to ask for.
using SpecOf = std::pair<JobId, model::JobSpec>;

/// What the job, first, and the other components of a heterogeneous one would ask for after this change, which is not
/// made. Errors: those with which the change is refused.
base::Result<std::vector<SpecOf>> specs_after(const Core& core, const Caller& caller, JobId job,
                                              const wire::UpdateJobRequest& change);

}  // namespace gw::ctld
