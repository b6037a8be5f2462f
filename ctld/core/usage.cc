// Use of the cluster by users and QOS: charged as shares of nodes are taken and released, stored with the change that
// caused it, told to the scheduler in fixed periods. See sched/usage.h.
#include "base/text.h"
#include "ctld/core/controller.h"
#include "model/suspension.h"

namespace gw::ctld {
namespace {

constexpr char kUser[] = "user", kQos[] = "qos";

}  // namespace

void Controller::charge(Time now, const model::Job& job, int64_t rate) {
  users_.change_rate(job.spec.uid, rate, now);
  qos_use_.change_rate(job.spec.qos, rate, now);
  arm_usage(now);
}

void Controller::charge_again(Time now, const model::Job& job, const model::Allocation& held) {
  users_.resume_rate(job.spec.uid, sched::usage_rate(held), now);
  qos_use_.resume_rate(job.spec.qos, sched::usage_rate(held), now);
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
  if (is_usage_armed_ || users_.empty()) return;
  is_usage_armed_ = true;
  timers_.set({sched::usage_period_start(now) + sched::kUsagePeriod, TimerKind::kUsage, 0, 0});
}

void Controller::usage_due(Time now) {
  is_usage_armed_ = false;
  users_.forget_small(now);
  qos_use_.forget_small(now);
  publish_usage(now);
  arm_usage(now);
}

void Controller::publish_usage(Time now) {
  const Time at = sched::usage_period_start(now);
  std::map<uint32_t, double> use;
  std::map<std::string, double> qos_use;
  if (order().looks_at_users()) use = users_.at(at);
  if (settings_.policy.fairness_over_time > 0) qos_use = qos_use_.at(at);
  if (use == told_use_ && qos_use == told_qos_use_) return;
  told_use_ = std::move(use);
  told_qos_use_ = std::move(qos_use);
  feed_.tell(sched::UsageSet{told_use_, told_qos_use_});
}

/// The rows of what changed since the last Effects.
void Controller::save_usage() {
  const auto save = [this](const char* kind, std::string name, const auto& holders, const auto& key) {
    const auto it = holders.find(key);
    if (it == holders.end())
      out_.write(store::DropUsage{kind, std::move(name)});
    else
      out_.write(store::PutUsage{kind, std::move(name), it->second.amount, it->second.at});
  };
  for (const uint32_t uid : users_.take_changed()) save(kUser, std::to_string(uid), users_.holders(), uid);
  for (const std::string& qos : qos_use_.take_changed()) save(kQos, qos, qos_use_.holders(), qos);
}

void Controller::restore_usage(const store::Snapshot& snapshot, Time now) {
  for (const store::PutUsage& row : snapshot.usage) {
    const auto uid = base::parse_int(row.name, 0, UINT32_MAX, "uid");
    const bool is_sound = row.amount >= 0 && row.at.us >= 0 && (row.kind == kQos || (row.kind == kUser && uid));
    if (!is_sound)
      hold_aside(now, store::RowKind::kUsage, {row.kind, row.name}, row.kind + "/" + row.name,
                 "it is no use of a user or a QOS");
    else if (row.kind == kQos)
      qos_use_.restore(row.name, row.amount, row.at);
    else
      users_.restore(static_cast<uint32_t>(*uid), row.amount, row.at);
  }
}

}  // namespace gw::ctld
