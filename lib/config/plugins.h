// The plug-ins that come with the scheduler and their weights: known here, where the scheduler is not, so that a wrong
// name is told with its place in the file. Invariant: they are those of plugins/KIND; the build reads each of its
// files.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace gw::config {

struct InTreePlugin {
  std::string_view name;
  std::vector<std::string_view> weights;  ///< As GW_PLUGIN_WEIGHTS has them; empty: it has none.
};

/// By name.
std::span<const InTreePlugin> in_tree_orders();
std::span<const InTreePlugin> in_tree_shares();
std::span<const InTreePlugin> in_tree_rates();
std::span<const InTreePlugin> in_tree_filters();

}  // namespace gw::config
