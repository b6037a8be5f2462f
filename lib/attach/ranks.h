// Which task of a step runs where: ranks over the places of its nodes. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/api.pb.h"

namespace gw::attach {

/// How ranks are given to tasks.
struct Distribution {
  /// So many consecutive ranks on a node, then on the next; those that have no room are passed over. 0: all of a node's
  /// (block), 1: one on each in turn (cyclic).
  uint32_t plane = 0;
  /// The node of each rank (arbitrary); empty: by planes.
  std::vector<uint32_t> nodes_of = {};
  bool operator==(const Distribution&) const = default;
};
constexpr uint32_t kBlock = 0, kCyclic = 1;

/// ranks[node][place], ascending on each node, of `tasks[node]` tasks. Where `nodes_of` does not say these numbers, it
/// is by planes.
std::vector<std::vector<uint32_t>> distribute(const std::vector<uint32_t>& tasks, const Distribution& how);

/// Of the tasks of a step, as it was asked for.
Distribution distribution_of(const wire::Step& step);

}  // namespace gw::attach
