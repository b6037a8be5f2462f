// Order `multifactor`: a weighted sum of age, fair share, size, partition, QOS and nice.
#include <algorithm>
#include <cmath>

#include "plugins/order/support.h"

namespace gw::sched {
namespace {

GW_PLUGIN_WEIGHTS(multifactor, "age", "fair_share", "size", "partition", "qos", "max_age_hours", "nice")

/// Weighted sum of factors, each in [0, 1] but for nice. Source: the factors of Slurm's priority/multifactor plug-in;
/// fair share is 2^-(usage / even share), as in its classic algorithm.
class Multifactor final : public Order {
 public:
  explicit Multifactor(const Weights& weights) : weights_(weights) {}
  static const Weights& defaults() {
    static const Weights kDefaults = {{"age", 1000}, {"fair_share", 10000}, {"size", 100},         {"partition", 1000},
                                      {"qos", 1000}, {"nice", 1},           {"max_age_hours", 168}};
    return kDefaults;
  }
  std::string_view name() const override { return "multifactor"; }
  Needs needs() const override { return {.users = weight("fair_share") != 0}; }
  double score(const JobFacts& facts, const OrderContext& context) const override {
    double sum = 0;
    for (const ScorePart& part : parts(facts, context)) sum += part.product();
    return sum;
  }
  /// What differs within a class, so that older ones score higher there, too; the age is not cut, as it is for all of
  /// them alike: who is past it stands by how long.
  double key(const JobFacts& facts) const override {
    return age_per_hour_ * static_cast<double>(facts.job.eligible.us) / 3.6e9 +
           nice_ * static_cast<double>(facts.job.nice);
  }
  std::vector<ScorePart> parts(const JobFacts& facts, const OrderContext& context) const override {
    const PendingJob& job = facts.job;
    return {{"age", age(job, context), weight("age")},
            {"fair_share", fair_share(job, context), weight("fair_share")},
            {"size", size(job, context), weight("size")},
            {"partition", partition(job, context), weight("partition")},
            {"qos", static_cast<double>(job.qos_priority) / 1000, weight("qos")},
            {"nice", 0 - static_cast<double>(job.nice), weight("nice")}};
  }

 private:
  Weights weights_;
  double age_per_hour_ = weight("age") / std::max(weight("max_age_hours"), 1e-9), nice_ = weight("nice");

  double weight(const std::string& name) const { return weight_of(weights_, defaults(), name); }
  double age(const PendingJob& job, const OrderContext& context) const {
    const double hours = static_cast<double>((context.now - job.eligible).us) / 3.6e9;
    return std::clamp(hours / std::max(weight("max_age_hours"), 1e-9), 0.0, 1.0);
  }
  static double fair_share(const PendingJob& job, const OrderContext& context) {
    if (context.usage == nullptr || context.usage->empty() || context.total_usage <= 0) return 1;
    const auto it = context.usage->find(job.uid);
    if (it == context.usage->end()) return 1;
    const double even = 1.0 / static_cast<double>(context.usage->size());
    return std::exp2(-(it->second / context.total_usage) / even);
  }
  static double size(const PendingJob& job, const OrderContext& context) {
    const model::Request& r = job.request;
    if (r.gpus > 0 && context.size.gpus > 0)
      return std::min(1.0, static_cast<double>(model::total_gpus(r, r.min_nodes)) / context.size.gpus);
    const double cpus = static_cast<double>(r.tasks) * r.cpus_per_task;
    return context.size.cpus == 0 ? 0 : std::min(1.0, cpus / static_cast<double>(context.size.cpus));
  }
  static double partition(const PendingJob& job, const OrderContext& context) {
    if (context.partition_priority == nullptr) return 0;
    double best = 0, most = 1;
    for (const auto& [name, priority] : *context.partition_priority) most = std::max(most, priority);
    for (const std::string& name : job.partitions)
      if (const auto it = context.partition_priority->find(name); it != context.partition_priority->end())
        best = std::max(best, it->second);
    return best / most;
  }
};

base::Result<std::shared_ptr<const Order>> make_multifactor(const Weights& weights) {
  GW_TRY_STATUS(check_weights(weights, multifactor_plugin::kWeightNames));
  return std::make_shared<const Multifactor>(weights);
}

}  // namespace
}  // namespace gw::sched

GW_ORDER_PLUGIN(multifactor, gw::sched::make_multifactor)
