// Filter `least_part`: nodes are for jobs that could take a large part of one, so that small ones do not split what
// large gangs need whole. Who wants nodes to himself takes all of them. A node without GPUs asks for none.
#include <fmt/format.h>

#include "plugins/weights.h"
#include "sched/policy/filter_policy.h"

GW_PLUGIN_WEIGHTS(least_part, "gpus", "cpus")

namespace gw::sched {
namespace {

class LeastPart final : public FilterPolicy {
 public:
  LeastPart(double gpus, double cpus) : gpus_(gpus), cpus_(cpus) {}
  std::string_view name() const override { return "least_part"; }

  bool lets_on(const FilterJob& job, const FilterNode& node) const override {
    if (job.is_whole_node) return true;
    constexpr double kMilli = 1'000;
    return static_cast<double>(job.gpu_milli) >= gpus_ * node.gpus * kMilli &&
           static_cast<double>(job.cpus) >= cpus_ * node.cpus;
  }

  std::string kept_for() const override {
    const std::string gpus = gpus_ > 0 ? fmt::format("{:.0f} % of the GPUs", gpus_ * 100) : "";
    const std::string cpus = cpus_ > 0 ? fmt::format("{:.0f} % of the CPUs", cpus_ * 100) : "";
    return fmt::format("jobs that can take {}{}{} of a node", gpus, gpus.empty() || cpus.empty() ? "" : " and ", cpus);
  }

  static base::Result<std::shared_ptr<const FilterPolicy>> make(const Weights& weights) {
    const Weights defaults = {{"gpus", 0.5}, {"cpus", 0}};
    GW_TRY_STATUS(base::check_weights(weights, least_part_plugin::kWeightNames));
    const double gpus = base::weight_of(weights, defaults, "gpus"), cpus = base::weight_of(weights, defaults, "cpus");
    const auto is_part = [](double part) { return part >= 0 && part <= 1; };
    if (!is_part(gpus) || !is_part(cpus)) return base::invalid("gpus and cpus are parts of a node: 0 to 1");
    if (gpus + cpus <= 0) return base::invalid("with gpus and cpus 0 it keeps nobody off", "give one of them a part");
    return std::make_shared<const LeastPart>(gpus, cpus);
  }

 private:
  double gpus_, cpus_;
};

}  // namespace
}  // namespace gw::sched

GW_FILTER_PLUGIN(least_part, &gw::sched::LeastPart::make)
