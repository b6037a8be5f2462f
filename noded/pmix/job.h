// The tasks of a step and the nodes that they are on, as the PMIx helper knows them. Pure.
// Invariant: ranks are 0 to size() - 1, each on one node; those of a node ascend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/pmix.pb.h"

namespace gw::noded::pmix {

/// Most tasks of a step.
constexpr uint32_t kMaxTasks = 1 << 20;

struct Job {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::vector<uint32_t>> ranks;  ///< By node.
  std::vector<uint32_t> node_of;             ///< By rank.
  uint32_t self = 0;

  uint32_t size() const { return static_cast<uint32_t>(node_of.size()); }
  const std::vector<uint32_t>& own() const { return ranks[self]; }
};

/// Errors: lists of different lengths, a node without tasks, too many tasks.
base::Result<Job> make_job(const wire::PmixSetup& setup);
/// Text for a list of numbers: "0,2,4".
std::string comma_list(const std::vector<uint32_t>& numbers);

}  // namespace gw::noded::pmix
