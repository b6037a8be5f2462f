// The network as a tree of switches, for `gangway topo --network`.
// Invariant: everything is drawn from values; nothing here asks the controller.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/show/node_view.h"
#include "model/network.h"

namespace gw::cmds {

/// What is drawn: the switches, and the GPUs of every node of the cluster by name.
struct NetworkView {
  model::Network network;
  std::map<std::string, client::GpuCounts, std::less<>> nodes;
};

/// Builds the tree from effective keys of the configuration ("network.leaf0.nodes" -> "n[0-1]"), as the controller
/// shows them. Errors: entries that make no tree.
base::Result<model::Network> network_of(const std::vector<std::pair<std::string, std::string>>& entries);

/// A line a switch: name, its nodes where it is a leaf, number of nodes, GPUs and free GPUs below it; then the nodes at
/// no switch.
std::string draw_network(const NetworkView& view, bool unicode);
std::string network_json(const NetworkView& view);

}  // namespace gw::cmds
