// See usage.h.
#include "ctld/core/jobs/usage.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/shared/held.h"
#include "model/suspension.h"

namespace gw::ctld {
namespace {

constexpr std::string_view kServices = "services";  // of jobs that ended, as ServiceSample writes them

}  // namespace

void charge(Core& core, const model::Job& job, const model::Allocation& gives, const model::Allocation& takes) {
  const model::JobSpec& spec = job.spec;
  core.usage.change_rate(core.now, spec.uid, spec.qos, sched::usage_rate(takes) - sched::usage_rate(gives));
  if (const int64_t gpus = sched::gpu_rate(takes) - sched::gpu_rate(gives); gpus != 0)
    core.gpu_budgets.change_rate(core.now, spec.user, spec.qos, core.quotas, gpus);
  arm_usage(core);
}

void charge_again(Core& core, const model::Job& job, const model::Allocation& held) {
  const model::JobSpec& spec = job.spec;
  core.usage.resume_rate(core.now, spec.uid, spec.qos, sched::usage_rate(held));
  core.gpu_budgets.resume_rate(spec.user, spec.qos, core.quotas, sched::gpu_rate(held));
}

void count_service(Core& core, model::Job& job) {
  model::Service& s = job.service;
  if (s.rate > 0) {
    const auto us = static_cast<double>(std::max(core.now - s.since, base::Duration{}).us);
    s.done = s.done + base::microseconds(static_cast<int64_t>(us * static_cast<double>(s.rate) / 1e6));
  }
  const bool stands = job.placed() == nullptr || is_suspended(job);
  s.rate = stands ? 0 : sched::usage_rate(job.placed()->allocation);
  s.since = stands ? base::Time{} : core.now;
}

bool note_service(Core& core, const model::Job& job) {
  if (!core.planning.orders.needs().services || (job.spec.is_het() && job.spec.het_job != job.id)) return false;
  core.planning.services.add(pending_of(core, job).attained);
  if (!core.planning.services.take_news(core.now)) return false;
  core.out.write(store::PutMeta{std::string(kServices), core.planning.services.text()});
  return true;
}

bool restore_services(Core& core, const store::Snapshot& snapshot) {
  for (const store::NamedBytes& row : snapshot.meta)
    if (row.name == kServices && !core.planning.services.restore(row.bytes))
      hold_named(core, store::RowKind::kSetting, row.name, "it is no list of services");
  return !core.planning.services.all().empty();
}

void discharge(Core& core, const model::Job& job, NodeId node) {
  if (job.placed() == nullptr) return;
  const model::NodeShare* share = share_on(job, node);
  if (share == nullptr) return;
  model::Allocation held{{*share}};
  const auto& suspension = job.placed()->suspension;
  if (suspension && suspension->kept_id) held = model::kept_in_suspension(held, suspension->shares_gpus);
  charge(core, job, held, {});
}

void arm_usage(Core& core) {
  if (core.planning.is_usage_armed || core.usage.empty()) return;
  core.planning.is_usage_armed = true;
  core.timers.set({sched::usage_period_start(core.now) + sched::kUsagePeriod, TimerKind::kUsage, 0, 0});
}

void usage_due(Core& core) {
  core.planning.is_usage_armed = false;
  core.usage.forget_small(core.now);
  publish_usage(core);
  arm_usage(core);
}

void publish_usage(Core& core) {
  const Time at = sched::usage_period_start(core.now);
  if (auto news = core.usage.news(at, core.planning.orders.needs().users, core.settings.policy.fairness_over_time > 0))
    core.feed.tell(std::move(*news));
}

void restore_usage(Core& core, const store::Snapshot& snapshot) {
  for (const store::PutUsage& row : snapshot.usage)
    if (!core.usage.restore(row) && !core.gpu_budgets.restore(row))
      hold_aside(core, store::RowKind::kUsage, {row.kind, row.name}, row.kind + "/" + row.name,
                 "it is no use of a user, a QOS or a budget");
}

}  // namespace gw::ctld
