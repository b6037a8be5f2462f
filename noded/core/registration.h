// The node says what it is and which runs it has, and the controller which of them it wants.
// Invariants: every run is listed, so what is not listed does not live here; a run that the controller does not know is
// ended; what was said to an earlier controller, or got lost, is said again.
#pragma once

#include "noded/core/core.h"

namespace gw::noded {

void on_link_up(Core& core);
void on_registered(Core& core, const wire::Registered& message);
void on_refused(Core& core, const wire::Refused& message);

}  // namespace gw::noded
