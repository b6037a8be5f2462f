// The lists that the build makes of plugins/. See the header.
#include "config/plugins.h"

namespace gw::config {

std::span<const InTreePlugin> in_tree_orders() {
  static const std::vector<InTreePlugin> kOrders = {
#define GW_IN_TREE_ORDER(plugin_name, ...) {#plugin_name, {__VA_ARGS__}},
#include "in_tree_orders.inc"
#undef GW_IN_TREE_ORDER
  };
  return kOrders;
}

std::span<const InTreePlugin> in_tree_shares() {
  static const std::vector<InTreePlugin> kShares = {
#define GW_IN_TREE_SHARE(plugin_name, ...) {#plugin_name, {__VA_ARGS__}},
#include "in_tree_shares.inc"
#undef GW_IN_TREE_SHARE
  };
  return kShares;
}

std::span<const InTreePlugin> in_tree_rates() {
  static const std::vector<InTreePlugin> kRates = {
#define GW_IN_TREE_RATE(plugin_name, ...) {#plugin_name, {__VA_ARGS__}},
#include "in_tree_rates.inc"
#undef GW_IN_TREE_RATE
  };
  return kRates;
}

std::span<const InTreePlugin> in_tree_filters() {
  static const std::vector<InTreePlugin> kFilters = {
#define GW_IN_TREE_FILTER(plugin_name, ...) {#plugin_name, {__VA_ARGS__}},
#include "in_tree_filters.inc"
#undef GW_IN_TREE_FILTER
  };
  return kFilters;
}

}  // namespace gw::config
