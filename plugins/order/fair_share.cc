// Order `fair_share`: the users of a partition get equal parts of it, as far as they ask for so much. Whose jobs hold
// the least is next, and jobs of a user who holds more make room, as long as that user keeps at least as much as the
// other then has: gang by gang what progressive filling does for shares that can be divided at will (max-min fairness).
// As Determined's scheduler of that name, which shares among experiments of equal weight.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class FairShare final : public Order {
 public:
  std::string_view name() const override { return "fair_share"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -facts.held_by_user; }
  Needs needs() const override { return {.holdings = true}; }
  bool is_preemptive() const override { return true; }
  /// What those on the list of victims hold is not in `held_by_user` any more. Who yields has as much as the other also
  /// afterwards, and so cannot ask for it back.
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    if (running.job.priority != waiting.job.priority)
      return running.job.priority < waiting.job.priority ? Yields::kNow : Yields::kNo;
    if (running.job.uid == waiting.job.uid) return Yields::kNo;
    const bool stays_level = waiting.held_by_user + waiting.asked <= running.held_by_user - running.gpus;
    return stays_level ? Yields::kAtQuantum : Yields::kNo;
  }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(fair_share, gw::sched::make_plain<gw::sched::FairShare>)
