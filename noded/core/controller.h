// What the controller says, handed to the machine that it is for.
// Invariant: orders are taken only from a controller that has registered us.
#pragma once

#include "noded/core/core.h"

namespace gw::noded {

void on_controller(Core& core, const wire::ControllerToNode& message);

}  // namespace gw::noded
