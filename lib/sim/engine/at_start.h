// Jobs that run when the simulation begins.
#pragma once

#include "sim/engine/world.h"

namespace gw::sim {

/// Errors: one of them does not fit where it is said to run ("job r0: ...").
base::Status place_running_jobs(World& world);

}  // namespace gw::sim
