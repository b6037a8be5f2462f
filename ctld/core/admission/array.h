// Arrays as they are submitted.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Puts down in the spec that the job is an array, if it is to be one. Errors: no tasks, ranges that are not in order,
/// a job that cannot be an array.
base::Status accept_array(const wire::SubmitRequest& request, model::JobSpec& spec);

/// The tasks of an accepted array.
model::ArrayTasks tasks_of(const wire::SubmitRequest& request);

}  // namespace gw::ctld
