// A line for the people of a job.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Answers notify_job. The line goes to whoever reads what the job says: to the standard error of its script, to the
/// clients of its steps, and to those that wait for it and take such lines; of an array and of a job with several
/// components to those of each.
/// Errors: kNotFound; kDenied, it is somebody else's; kConflict, nobody would read it.
void notify_job(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

/// Answers a client that waits for the job again with the next line that came since its last answer. False: none did.
bool answer_with_notice(Core& core, ConnId conn, const model::Job& job, uint64_t request_id);

}  // namespace gw::ctld
