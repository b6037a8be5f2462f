// Order `drf`: whose jobs hold the smallest dominant share of the partition is next, where a user's dominant share is
// the largest part of any resource (GPUs, threads, memory) that his jobs hold there. Nobody is preempted. Source:
// progressive filling of Ghodsi et al., "Dominant Resource Fairness: Fair Allocation of Multiple Resource Types", NSDI
// 2011, algorithm 1; between QOS the scheduler's own fair queue does the same with weights and guarantees.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class Drf final : public Order {
 public:
  std::string_view name() const override { return "drf"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -facts.dominant_share; }
  Needs needs() const override { return {.holdings = true}; }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(drf, gw::sched::make_plain<gw::sched::Drf>)
