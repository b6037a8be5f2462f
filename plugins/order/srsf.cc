// Order `srsf`: the shortest remaining service first: time still to run multiplied by GPUs, so that a short job of many
// GPUs does not pass a longer one of few. Running jobs with more to go are taken off. Source: the baseline SRSF of Gu
// et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class Srsf final : public Order {
 public:
  std::string_view name() const override { return "srsf"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -key(facts); }
  double key(const JobFacts& facts) const override { return remaining_service(facts); }
  Needs needs() const override { return {.durations = true}; }
  bool is_preemptive() const override { return true; }
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    return is_behind(running, waiting, key(running), key(waiting)) ? Yields::kNow : Yields::kNo;
  }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(srsf, gw::sched::make_plain<gw::sched::Srsf>)
