// What holds for a job by its kind and by what it asks of preemption.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// What holds for every job without a script.
void accept_kind(model::JobSpec& spec);
/// Errors: signals that do not exist. What says nothing beside other options becomes a warning.
base::Status check_preemption(const model::JobSpec& spec, std::vector<std::string>& warnings);

}  // namespace gw::ctld
