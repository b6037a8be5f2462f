// See quota_feed.h.
#include "ctld/core/cluster/quota_feed.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ctld/core/jobs/facts.h"

namespace gw::ctld {

using model::Qos;

void publish_quotas(Core& core) {
  std::vector<Qos> tree = core.quotas.tree();
  for (Qos& qos : tree) {
    // Here nobody is gone at once: what a victim leaves has to be kept for whom it was taken.
    if (qos.grace) qos.grace = std::max(*qos.grace, base::seconds(1));
    if (!core.gpu_budgets.empty() && core.gpu_budgets.only_borrows(core.quotas.path(qos.name)))
      std::erase_if(qos.guaranteed, [](const auto& line) { return line.first.starts_with("gpu"); });
    if (core.gpu_budgets.only_borrows(qos.name)) qos.weight = 0;  // no claim on what nobody is guaranteed, either
    qos.budget.reset();                                           // it counts here alone
  }
  if (tree != core.planning.tree) {
    core.feed.tell(sched::QosSet{tree});
    core.planning.quota_epoch = core.feed.epoch();
  }
  core.planning.tree = std::move(tree);
}

void tell_of_running(Core& core, const model::Job& job) {
  if (core.ledger.capacity().holdings().contains(job.id))
    core.feed.tell(sched::RunningChanged{job.id, std::make_shared<const sched::PendingJob>(pending_of(core, job))});
  if (job.placed() == nullptr) return;
  for (const auto& [node, extension] : job.placed()->extensions)
    if (const auto* part = share_on(job, node); part != nullptr && core.placements.job_of(extension.id))
      core.feed.tell(sched::RunningChanged{extension.id, std::make_shared<const sched::PendingJob>(sched::extension_of(
                                                             pending_of(core, job), extension.id, part->tasks))});
}

}  // namespace gw::ctld
