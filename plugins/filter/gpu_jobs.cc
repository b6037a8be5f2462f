// Filter `gpu_jobs`: who asks for no GPU stays off nodes that have some, so that no GPU stands idle for want of cores
// or memory. Nodes without GPUs take everybody.
#include "sched/policy/filter_policy.h"

namespace gw::sched {
namespace {

class GpuJobs final : public FilterPolicy {
 public:
  std::string_view name() const override { return "gpu_jobs"; }
  bool lets_on(const FilterJob& job, const FilterNode& node) const override {
    return node.gpus == 0 || job.gpu_milli > 0;
  }
  std::string kept_for() const override { return "jobs that ask for GPUs"; }
};

}  // namespace
}  // namespace gw::sched

GW_FILTER_PLUGIN(gpu_jobs, (gw::base::make_without_weights<gw::sched::FilterPolicy, gw::sched::GpuJobs>))
