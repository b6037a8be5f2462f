// Order `srtf`: the shortest remaining time first, taking off running jobs that have longer to go.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

class Srtf final : public Order {
 public:
  std::string_view name() const override { return "srtf"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -remaining_seconds(facts); }
  double key(const JobFacts& facts) const override { return remaining_seconds(facts); }
  Needs needs() const override { return {.durations = true}; }
  bool is_preemptive() const override { return true; }
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    return is_behind(running, waiting, key(running), key(waiting)) ? Yields::kNow : Yields::kNo;
  }
};

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(srtf, gw::sched::make_plain<gw::sched::Srtf>)
