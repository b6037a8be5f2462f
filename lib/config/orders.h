// The orders that come with the scheduler, and the weights of the one that has some: known here, where the scheduler is
// not, so that a wrong name is told with its place in the file. A test keeps them equal to the scheduler's own.
#pragma once

#include <array>
#include <string_view>

namespace gw::config {

inline constexpr std::array<std::string_view, 5> kOrderNames = {"fifo", "fifo_skip", "multifactor", "shortest", "srtf"};
inline constexpr std::array<std::string_view, 7> kWeightNames = {"age", "fair_share",    "size", "partition",
                                                                 "qos", "max_age_hours", "nice"};

}  // namespace gw::config
