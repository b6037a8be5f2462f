// Use of the cluster by users and QOS: charged as shares of nodes are taken and released, stored with the change that
// caused it, told to the scheduler in fixed periods. See sched/usage.h.
#include "ctld/core/controller.h"
#include "model/suspension.h"

namespace gw::ctld {

void Controller::charge(Time now, const model::Job& job, int64_t rate) {
  usage_.change_rate(now, job.spec.uid, job.spec.qos, rate);
  arm_usage(now);
}

void Controller::charge_again(Time now, const model::Job& job, const model::Allocation& held) {
  usage_.resume_rate(now, job.spec.uid, job.spec.qos, sched::usage_rate(held));
}

/// What a node's share of a job cost is charged no longer.
void Controller::discharge(Time now, const model::Job& job, NodeId node) {
  if (job.placed() == nullptr) return;
  const model::NodeShare* share = share_on(job, node);
  if (share == nullptr) return;
  model::Allocation held{{*share}};
  const auto& suspension = job.placed()->suspension;
  if (suspension && suspension->holder) held = model::kept_in_suspension(held, suspension->shares_gpus);
  charge(now, job, -sched::usage_rate(held));
}

/// Nobody has used anything: nothing to wake up for.
void Controller::arm_usage(Time now) {
  if (is_usage_armed_ || usage_.empty()) return;
  is_usage_armed_ = true;
  timers_.set({sched::usage_period_start(now) + sched::kUsagePeriod, TimerKind::kUsage, 0, 0});
}

void Controller::usage_due(Time now) {
  is_usage_armed_ = false;
  usage_.forget_small(now);
  publish_usage(now);
  arm_usage(now);
}

void Controller::publish_usage(Time now) {
  const Time at = sched::usage_period_start(now);
  if (auto news = usage_.news(at, order().looks_at_users(), settings_.policy.fairness_over_time > 0))
    feed_.tell(std::move(*news));
}

void Controller::restore_usage(const store::Snapshot& snapshot, Time now) {
  for (const store::PutUsage& row : snapshot.usage)
    if (!usage_.restore(row))
      hold_aside(now, store::RowKind::kUsage, {row.kind, row.name}, row.kind + "/" + row.name,
                 "it is no use of a user or a QOS");
}

}  // namespace gw::ctld
