// Which task of a step runs where: ranks over the places of its nodes. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace gw::attach {

enum class Distribution : uint8_t {
  kBlock,   ///< Consecutive ranks on a node.
  kCyclic,  ///< One on each node in turn.
};

/// ranks[node][place], ascending on each node, of `tasks[node]` tasks.
std::vector<std::vector<uint32_t>> distribute(const std::vector<uint32_t>& tasks, Distribution how);

}  // namespace gw::attach
