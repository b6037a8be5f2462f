// See usage.h.
#include "sim/engine/usage.h"

#include <algorithm>

namespace gw::sim {
namespace {

bool counts_past(const World& world) { return world.view.policy().fairness_over_time > 0; }

/// Ten half-lives after the last arrival or end all goes in circles: a whole GPU may change hands for ever.
Time last_tick(const World& world) {
  if (!counts_past(world)) return Time::never();
  const Duration half_life = std::min(world.cluster.usage_half_life, base::hours(24 * 366));
  return world.timetable.last_event + Duration{10 * half_life.us};
}

}  // namespace

Time next_tick(Time now) { return sched::usage_period_start(now) + sched::kUsagePeriod; }

bool awaits_tick(const World& world) {
  return counts_past(world) && world.view.queue().size() > 0 && next_tick(world.now) <= last_tick(world);
}

void change_rate(World& world, uint32_t job, int sign) {
  const bool by_user = world.view.orders().needs().users, by_qos = counts_past(world);
  if (!by_user && !by_qos) return;
  const Record& record = world.records[job];
  int64_t rate = sched::usage_rate(record.is_suspended ? record.kept : record.allocation);
  for (const model::Allocation& part : record.components) rate += sched::usage_rate(part);
  const sched::PendingJob& facts = world.jobs[job].job;
  if (by_user) world.usage.by_user.change_rate(facts.uid, sign * rate, world.now);
  if (by_qos) world.usage.by_qos.change_rate(facts.qos, sign * rate, world.now);
}

void note_service(World& world, uint32_t job) {
  if (!world.view.orders().needs().services) return;
  world.usage.services.add(world.jobs[job].job.attained);
  if (!world.usage.services.take_news(world.now)) return;
  sched::Policy policy = world.view.policy();
  policy.services = world.usage.services.all();
  world.tell(sched::PolicySet{std::move(policy)});
}

void tell_usage(World& world, Time t) {
  const Time tick = sched::usage_period_start(t);
  if (tick <= world.now || tick > last_tick(world)) return;
  world.usage.by_user.forget_small(tick);
  world.usage.by_qos.forget_small(tick);
  sched::UsageSet all{world.usage.by_user.at(tick), world.usage.by_qos.at(tick)};
  if (all.usage != world.view.usage() || all.qos != world.view.qos_usage()) world.tell(std::move(all));
}

}  // namespace gw::sim
