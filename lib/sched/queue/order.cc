// The orders that come with the scheduler: those of plugins/order, linked in.
#include "sched/queue/order.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sched/queue/order_facts.h"

namespace gw::sched {
namespace builtin::order {
// Each is defined by GW_ORDER_PLUGIN in plugins/order/NAME.cc; the build lists these files.
#define GW_IN_TREE_ORDER(plugin_name, ...) const OrderPlugin* plugin_name();
#include "in_tree_orders.inc"
#undef GW_IN_TREE_ORDER
}  // namespace builtin::order

namespace {

constexpr const OrderPlugin* (*kBuiltin[])() = {
#define GW_IN_TREE_ORDER(plugin_name, ...) builtin::order::plugin_name,
#include "in_tree_orders.inc"
#undef GW_IN_TREE_ORDER
};

}  // namespace

std::vector<std::string> order_names() {
  std::vector<std::string> out;
  for (const auto factory : kBuiltin) out.emplace_back(factory()->name);
  return out;
}

base::Result<std::shared_ptr<const Order>> make_order(std::string_view name, const Weights& weights) {
  for (const auto factory : kBuiltin)
    if (factory()->name == name) return factory()->make(weights);
  std::string hint = base::did_you_mean(name, order_names());
  if (hint.empty()) hint = "one of " + base::join(order_names(), ", ");
  return base::invalid(fmt::format("unknown order {}", name), hint);
}

int32_t best_tier(const Capacity& capacity, const PendingJob& job) {
  int32_t best = INT32_MIN;
  for (const std::string& name : job.partitions)
    if (const PartitionFacts* p = capacity.partition(name)) best = std::max(best, p->tier);
  return best;
}

}  // namespace gw::sched
