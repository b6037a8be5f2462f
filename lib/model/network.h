// The cluster's network as a forest of switches: leaves hold nodes, the others hold switches.
// Invariants of a Network that build() returned: every name is unique among switches; every switch has at most one
// parent; there are no loops; a node is under at most one leaf. Nodes that no leaf names are reachable, but near
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gw::model {

/// One line of the configuration: a switch with either nodes (then it is a leaf) or switches below it.
struct SwitchConfig {
  std::string name;
  std::vector<std::string> nodes;     ///< Expanded.
  std::vector<std::string> switches;  ///< Expanded.
  bool operator==(const SwitchConfig&) const = default;
};

/// A switch in the tree. `nodes` below it, at any depth, are the range [first, last) of Network::order.
struct Switch {
  std::string name;
  uint32_t parent = UINT32_MAX;  ///< Index into Network::switches; UINT32_MAX: none.
  uint32_t level = 0;            ///< 0: leaf; 1: parent of leaves (block); and so on up.
  uint32_t first = 0;
  uint32_t last = 0;
  bool operator==(const Switch&) const = default;
};

struct Network {
  std::vector<Switch> switches;    ///< Leaves first, then by level; within a level by first node.
  std::vector<std::string> order;  ///< Names of all nodes under a leaf, neighbours side by side (depth first).
  bool operator==(const Network&) const = default;
  bool empty() const { return switches.empty(); }
};

/// What is wrong with a network, and in which line of the configuration.
struct NetworkFault {
  size_t entry = 0;                 ///< Index of the line.
  std::string_view key = "switch";  ///< Key of the line: switch, nodes or switches.
  base::Error error;
};

/// Builds the tree. Errors, in this order: a name used twice, an empty switch, one with both nodes and switches, an
/// unknown switch or node (not in `known_nodes`; not checked if that is empty), two parents, a node under two leaves, a
/// loop (with the names along it), leaves at unequal depth, a switch out of reach (under no other, and lower than those
/// at the top). All errors of the first kind that there is are told, up to 100.
tl::expected<Network, std::vector<NetworkFault>> try_network(const std::vector<SwitchConfig>& switches,
                                                             const std::vector<std::string>& known_nodes);
/// The same with the first error only, where nobody asks for its line.
base::Result<Network> build_network(const std::vector<SwitchConfig>& switches,
                                    const std::vector<std::string>& known_nodes);

}  // namespace gw::model
