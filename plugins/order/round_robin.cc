// Order `round_robin`: whose jobs hold the least is next, so that the users of a partition take turns. Nobody is
// preempted. As Determined's scheduler of that name, which takes turns among experiments; here a turn is that of a
// user.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class RoundRobin final : public Order {
 public:
  std::string_view name() const override { return "round_robin"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -facts.held_by_user; }
  Needs needs() const override { return {.holdings = true}; }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(round_robin, gw::sched::make_plain<gw::sched::RoundRobin>)
