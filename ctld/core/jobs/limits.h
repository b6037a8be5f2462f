// When a run is to end: the timers of its time limit and its warning, and what ledger and scheduler expect.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Sets the timers of the time limit and of the warning before it; none without a limit.
void arm_limits(Core& core, const model::Job& job);
/// The run is to end then, with all that it holds under other ids. `is_leaving`: it was told to.
void expect_end(Core& core, const model::Job& job, Time when, bool is_leaving = false);

}  // namespace gw::ctld
