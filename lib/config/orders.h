// The orders that come with the scheduler and their weights: known here, where the scheduler is not, so that a wrong
// name is told with its place in the file. Invariant: they are those of plugins/order; the build reads each of its
// files.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace gw::config {

struct InTreeOrder {
  std::string_view name;
  std::vector<std::string_view> weights;  ///< As GW_ORDER_WEIGHTS has them; empty: it has none.
};

/// By name.
std::span<const InTreeOrder> in_tree_orders();

}  // namespace gw::config
