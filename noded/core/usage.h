// What runs use now, for the controller: shepherds are asked, and measure; where there is none the node daemon does.
// Invariant: every query is answered once at most; one that comes to nothing is answered with the reason.
#pragma once

#include "noded/core/core.h"

namespace gw::noded {

void on_usage_query(Core& core, const wire::UsageQuery& message);
/// A shepherd's answer.
void on_used(Core& core, RunKey key, const wire::StepUsed& message);

}  // namespace gw::noded
