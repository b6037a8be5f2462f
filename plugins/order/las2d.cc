// Order `las2d`: least attained service first, where service is time multiplied by GPUs, in queues: a job begins in the
// first, and goes to the next when its service passes the limit of its queue. Nobody has to say how long a job takes.
// Within a queue by submission. Running jobs of a later queue make room for those of an earlier one. Source:
// discretised 2D-LAS of Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019,
// section 3.2.
#include "plugins/order/service_queues.h"

namespace gw::sched {
namespace {

GW_PLUGIN_WEIGHTS(las2d, "queue_1", "queue_2", "queue_3", "promote")

class Las2d final : public Order {
 public:
  explicit Las2d(const Weights& weights) : queues_(weights) {}
  std::string_view name() const override { return "las2d"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return -key(facts); }
  double key(const JobFacts& facts) const override {
    return queues_.is_promoted(facts) ? 0 : static_cast<double>(queues_.queue_of(facts));
  }
  Time next_change(const JobFacts& facts) const override { return queues_.next_change(facts); }
  bool is_preemptive() const override { return true; }
  Yields yields(const JobFacts& running, const JobFacts& waiting) const override {
    return is_behind(running, waiting, key(running), key(waiting)) ? Yields::kAtQuantum : Yields::kNo;
  }

 private:
  ServiceQueues queues_;
};

base::Result<std::shared_ptr<const Order>> make_las2d(const Weights& weights) {
  GW_TRY_STATUS(check_weights(weights, las2d_plugin::kWeightNames));
  return std::make_shared<const Las2d>(weights);
}

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(las2d, gw::sched::make_las2d)
