// Which dependencies are accepted.
#pragma once

#include <string>

#include "ctld/core/core.h"
#include "ctld/core/jobs/arrays.h"
#include "ctld/core/shared/permissions.h"

namespace gw::ctld {

/// May a job of the caller depend so? `self`: the job that is changed, or those of its tasks that are; none of one that
/// is submitted, which nobody waits for yet. Errors: syntax; a job that is not there or somebody else's, which look the
/// same; a circle.
base::Status check_dependency(const Core& core, const Caller& caller, const std::string& text, const NamedTasks& self);

}  // namespace gw::ctld
