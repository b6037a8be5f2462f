// Order `gittins`: queues of attained service as in las2d, and within a queue by the Gittins index of what a job has
// had: how likely it ends soon, for the service that takes, given what jobs like it had in all that ended before.
// Nobody has to say how long a job takes; as long as no jobs have ended it is las2d. Source: the 2D-Gittins index of Gu
// et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019, section 3.2; the index as in
// Aalto, Ayesta and Righter, "On the Gittins Index in the M/G/1 Queue", Queueing Systems 63, 2009, equation 2.
#include "plugins/order/service_queues.h"

namespace gw::sched {
namespace {

GW_PLUGIN_WEIGHTS(gittins, "queue_1", "queue_2", "queue_3", "promote")

/// The largest, over all amounts of service d, of: the part of jobs with more than `attained` that end within d more,
/// by what each of them then takes on average, d at most. `services` ascending. Zero: none had so much. Per GPU-second.
double gittins_index(const Services& services, double attained) {
  const auto first = std::upper_bound(services.begin(), services.end(), attained);
  const auto all = static_cast<double>(services.end() - first);
  double ended = 0, taken = 0, best = 0;
  for (auto it = first; it != services.end(); ++it) {
    ended += 1;
    taken += *it - attained;
    best = std::max(best, ended / (taken + (all - ended) * (*it - attained)));
  }
  return best;
}

class Gittins final : public Order {
 public:
  explicit Gittins(const Weights& weights) : queues_(weights) {}
  std::string_view name() const override { return "gittins"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -key(facts); }
  /// The index, which is a rate, turned into a part of a queue: the larger, the nearer to its beginning.
  double key(const JobFacts& facts) const override {
    if (queues_.is_promoted(facts)) return 0;
    const double index =
        facts.services == nullptr ? 0 : gittins_index(*facts.services, base::in_seconds(facts.attained));
    return static_cast<double>(queues_.queue_of(facts)) + 1 / (1 + index);
  }
  Time next_change(const JobFacts& facts) const override { return queues_.next_change(facts); }
  Needs needs() const override { return {.services = true}; }
  bool is_preemptive() const override { return true; }
  /// By the queues alone: within one nobody is taken off for a better chance.
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    const auto place = [this](const JobFacts& facts) {
      return queues_.is_promoted(facts) ? 0 : static_cast<double>(queues_.queue_of(facts));
    };
    return is_behind(running, waiting, place(running), place(waiting)) ? Yields::kAtQuantum : Yields::kNo;
  }

 private:
  ServiceQueues queues_;
};

base::Result<std::shared_ptr<const Order>> make_gittins(const Weights& weights) {
  GW_TRY_STATUS(check_weights(weights, gittins_plugin::kWeightNames));
  return std::make_shared<const Gittins>(weights);
}

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(gittins, gw::sched::make_gittins)
