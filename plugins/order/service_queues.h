// Queues of attained service, which las2d and gittins have in common: a job begins in the first, and goes to the next
// when its service passes the limit of its queue. Source: Gu et al., "Tiresias: A GPU Cluster Manager for Distributed
// Deep Learning", NSDI 2019, section 3.2.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "plugins/order/support.h"

namespace gw::sched {

class ServiceQueues {
 public:
  /// Limits in GPU-hours; 0: that queue, and those after it, are not there. `promote`: a job that has waited that many
  /// times as long as it has run is served before the others; 0: never.
  static const Weights& defaults() {
    static const Weights kDefaults = {{"queue_1", 1}, {"queue_2", 10}, {"queue_3", 0}, {"promote", 0}};
    return kDefaults;
  }
  explicit ServiceQueues(const Weights& weights) : promote_(weight_of(weights, defaults(), "promote")) {
    for (size_t i = 0; i < limits_.size(); ++i)
      limits_[i] = 3600 * weight_of(weights, defaults(), "queue_" + std::to_string(i + 1));
  }

  size_t queue_of(const JobFacts& facts) const {
    size_t queue = 0;
    while (queue < count() && base::in_seconds(facts.attained) >= limits_[queue]) ++queue;
    return queue;
  }
  bool is_promoted(const JobFacts& facts) const {
    return !facts.is_running && queue_of(facts) > 0 && facts.now >= promoted_at(facts);
  }
  /// When it goes to another queue, or is promoted.
  Time next_change(const JobFacts& facts) const {
    const size_t queue = queue_of(facts);
    if (!facts.is_running) {
      const Time at = queue == 0 ? Time::never() : promoted_at(facts);
      return at > facts.now ? at : Time::never();
    }
    if (queue >= count() || facts.gpus <= 0) return Time::never();
    return facts.now + length((limits_[queue] - base::in_seconds(facts.attained)) / facts.gpus);
  }

 private:
  std::array<double, 3> limits_{};  // in GPU-seconds
  double promote_;

  static Duration length(double seconds) {
    return base::microseconds(static_cast<int64_t>(std::ceil(std::min(seconds, 1e9) * 1e6)));
  }
  size_t count() const {
    size_t n = 0;
    while (n < limits_.size() && limits_[n] > 0) ++n;
    return n;
  }
  Time promoted_at(const JobFacts& facts) const {
    if (promote_ <= 0 || facts.gpus <= 0) return Time::never();
    return facts.since + length(promote_ * base::in_seconds(facts.attained) / facts.gpus);
  }
};

}  // namespace gw::sched
