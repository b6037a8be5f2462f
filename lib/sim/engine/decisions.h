// Carries out what the scheduler decides.
#pragma once

#include "sim/engine/world.h"

namespace gw::sim {

/// True if it changed anything. Errors: kInternal, a start that does not hold.
base::Result<bool> carry_out(World& world, const sched::Decision& decision);

}  // namespace gw::sim
