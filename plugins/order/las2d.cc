// Order `las2d`: least attained service first, where service is time multiplied by GPUs, in queues: a job begins in the
// first, and goes to the next when its service passes the limit of its queue. Nobody has to say how long a job takes.
// Within a queue by submission. Running jobs of a later queue make room for those of an earlier one. With `promote` a
// job that has waited that many times as long as it has run is served with the first queue again. Source: discretised
// 2D-LAS of Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019, section 3.2.
#include <array>
#include <cmath>

#include "plugins/order/support.h"

namespace gw::sched {
namespace {

GW_ORDER_WEIGHTS(las2d, "queue_1", "queue_2", "queue_3", "promote")

class Las2d final : public Order {
 public:
  explicit Las2d(const Weights& weights) : promote_(weight_of(weights, defaults(), "promote")) {
    for (size_t i = 0; i < limits_.size(); ++i)
      limits_[i] = 3600 * weight_of(weights, defaults(), "queue_" + std::to_string(i + 1));
  }
  /// Limits in GPU-hours; 0: that queue, and those after it, are not there.
  static const Weights& defaults() {
    static const Weights kDefaults = {{"queue_1", 1}, {"queue_2", 10}, {"queue_3", 0}, {"promote", 0}};
    return kDefaults;
  }
  std::string_view name() const override { return "las2d"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -key(facts); }
  double key(const JobFacts& facts) const override {
    const size_t queue = queue_of(facts);
    const bool is_promoted = !facts.is_running && queue > 0 && facts.now >= promoted_at(facts);
    return is_promoted ? 0 : static_cast<double>(queue);
  }
  Time next_change(const JobFacts& facts) const override {
    const size_t queue = queue_of(facts);
    if (!facts.is_running) {
      const Time at = queue == 0 ? Time::never() : promoted_at(facts);
      return at > facts.now ? at : Time::never();
    }
    if (queue >= count() || facts.gpus <= 0) return Time::never();
    return facts.now + in_seconds((limits_[queue] - seconds(facts.attained)) / facts.gpus);
  }
  bool is_preemptive() const override { return true; }
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    return is_behind(running, waiting, key(running), key(waiting)) ? Yields::kAtQuantum : Yields::kNo;
  }

 private:
  std::array<double, 3> limits_{};  // in GPU-seconds
  double promote_;

  static double seconds(Duration d) { return static_cast<double>(d.us) / 1e6; }
  static Duration in_seconds(double s) {
    return base::microseconds(static_cast<int64_t>(std::ceil(std::min(s, 1e9) * 1e6)));
  }
  size_t count() const {
    size_t n = 0;
    while (n < limits_.size() && limits_[n] > 0) ++n;
    return n;
  }
  size_t queue_of(const JobFacts& facts) const {
    size_t queue = 0;
    while (queue < count() && seconds(facts.attained) >= limits_[queue]) ++queue;
    return queue;
  }
  Time promoted_at(const JobFacts& facts) const {
    if (promote_ <= 0 || facts.gpus <= 0) return Time::never();
    return facts.since + in_seconds(promote_ * seconds(facts.attained) / facts.gpus);
  }
};

base::Result<std::shared_ptr<const Order>> make_las2d(const Weights& weights) {
  GW_TRY_STATUS(check_weights(weights, las2d_order::kWeightNames));
  return std::make_shared<const Las2d>(weights);
}

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(las2d, gw::sched::make_las2d)
