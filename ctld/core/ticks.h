// What time brings: begin times, limits, warnings, start time-outs, purges, heartbeats. Every handler looks at the
// state again, so a timer that came too late or twice does no harm.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

void on_tick(Core& core, std::optional<Time> heard_until = {});

}  // namespace gw::ctld
