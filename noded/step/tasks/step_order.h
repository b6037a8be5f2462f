// What a client may order of a shepherd: nothing of it is trusted.
#pragma once

#include "base/result.h"
#include "wire/launch.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// Whether this can be launched at all in these places. Errors name the task and what is wrong with it.
base::Status check_launch(const wire::LaunchTasks& launch, const wire::StepAccess& access);

}  // namespace gw::noded::step
