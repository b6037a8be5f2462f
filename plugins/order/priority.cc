// Order `priority`: by submitted priority, then submission; running jobs of a lower priority make room for one of a
// higher. As Determined's scheduler of that name, in which 1 is the most urgent of 99: its priority N is 100 - N here.
#include "plugins/order/support.h"

namespace gw::sched {
namespace {

GW_PLUGIN_WEIGHTS(priority, "preemption")

class Priority final : public Order {
 public:
  explicit Priority(const Weights& weights) : preempts_(weight_of(weights, defaults(), "preemption") != 0) {}
  static const Weights& defaults() {
    static const Weights kDefaults = {{"preemption", 1}};
    return kDefaults;
  }
  std::string_view name() const override { return "priority"; }
  /// The submitted priority is compared before any score.
  double score(const JobFacts& facts, const OrderContext&) const override { return boost(facts.job); }
  bool is_preemptive() const override { return preempts_; }
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    return running.job.priority < waiting.job.priority ? Yields::kNow : Yields::kNo;
  }

 private:
  bool preempts_;
};

base::Result<std::shared_ptr<const Order>> make_priority(const Weights& weights) {
  GW_TRY_STATUS(check_weights(weights, priority_plugin::kWeightNames));
  return std::make_shared<const Priority>(weights);
}

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(priority, gw::sched::make_priority)
