// Order `shortest`: the shortest first, by time limit; in a replay by duration.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class Shortest final : public Order {
 public:
  std::string_view name() const override { return "shortest"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -remaining_seconds(facts); }
  double key(const JobFacts& facts) const override { return remaining_seconds(facts); }
  Needs needs() const override { return {.durations = true}; }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(shortest, gw::sched::make_plain<gw::sched::Shortest>)
