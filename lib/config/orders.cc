// The list that the build makes of plugins/order. See the header.
#include "config/orders.h"

namespace gw::config {

std::span<const InTreeOrder> in_tree_orders() {
  static const std::vector<InTreeOrder> kOrders = {
#define GW_IN_TREE_ORDER(order, ...) {#order, {__VA_ARGS__}},
#include "in_tree_orders.inc"
#undef GW_IN_TREE_ORDER
  };
  return kOrders;
}

}  // namespace gw::config
