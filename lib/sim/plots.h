// The charts of a replay, as SVG texts.
#pragma once

#include <string>

#include "sim/replay.h"

namespace gw::sim {

/// Part of the GPUs that jobs hold, over time.
std::string utilisation_plot(const Replay& replay);
/// Which part of the jobs was complete within which time.
std::string completion_plot(const Replay& replay);
/// How long jobs waited, by the number of GPUs that they asked for.
std::string wait_plot(const Replay& replay);

}  // namespace gw::sim
