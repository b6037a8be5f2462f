// Ranks over nodes.
#include "attach/ranks.h"

#include <algorithm>

namespace gw::attach {

std::vector<std::vector<uint32_t>> distribute(const std::vector<uint32_t>& tasks, Distribution how) {
  std::vector<std::vector<uint32_t>> ranks(tasks.size());
  uint32_t next = 0;
  if (how == Distribution::kBlock) {
    for (size_t node = 0; node < tasks.size(); ++node)
      for (uint32_t i = 0; i < tasks[node]; ++i) ranks[node].push_back(next++);
    return ranks;
  }
  const uint32_t most = tasks.empty() ? 0 : *std::max_element(tasks.begin(), tasks.end());
  for (uint32_t round = 0; round < most; ++round)
    for (size_t node = 0; node < tasks.size(); ++node)
      if (round < tasks[node]) ranks[node].push_back(next++);
  return ranks;
}

}  // namespace gw::attach
