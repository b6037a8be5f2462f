// See orders.h.
#include "plugin/orders.h"

namespace gw::plugin {

using base::Result;

Kind order_kind() { return {"order", sched::kOrderFactory, sched::kOrderInterface, GW_ORDER_BUILD_HASH}; }

Result<sched::ChosenOrder> Orders::choose(const std::string& name, const sched::Weights& weights) const {
  GW_TRY(facts, folders_.load(order_kind(), name));
  GW_TRY(order, static_cast<const sched::OrderPlugin*>(facts)->make(weights));
  return sched::ChosenOrder{name, weights, facts->version, std::move(order)};
}

Result<std::shared_ptr<const sched::Order>> Orders::make(std::string_view name, const sched::Weights& weights) const {
  GW_TRY(chosen, choose(std::string(name), weights));
  return std::move(chosen.order);
}

base::Status Orders::set(sched::Policy& policy, const std::string& name, const sched::Weights& weights) const {
  GW_TRY(chosen, choose(name, weights));
  policy.order = std::move(chosen.order);
  policy.order_weights = std::move(chosen.weights);
  policy.order_version = std::move(chosen.version);
  return {};
}

}  // namespace gw::plugin
