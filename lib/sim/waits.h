// How long jobs of each size waited, of those that have ended.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/replay.h"

namespace gw::sim {

/// Waits in seconds, sorted, by size: 0, 1, 2, 3-4, 5-8, 9-16, ... GPUs asked for, each by its upper end.
std::map<uint32_t, std::vector<double>> waits_by_size(const Replay& replay);
/// For what all jobs have waited, those too that still do; by QOS, under "" all of them.
std::map<std::string, model::WaitSplit> waits_by_qos(const Replay& replay);
/// "0", "1", "2", "3-4", ...
std::string size_words(uint32_t upper);

}  // namespace gw::sim
