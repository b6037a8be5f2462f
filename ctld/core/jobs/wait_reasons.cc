// See wait_reasons.h.
#include "ctld/core/jobs/wait_reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "ctld/core/jobs/arrays.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/wait_clock.h"
#include "wire/blockers.h"
#include "wire/convert.h"
#include "wire/waits.h"

namespace gw::ctld {

using model::Blocker;
using model::BlockerKind;
using model::Job;
using model::WaitReason;

namespace {

WaitInfo wait_info(const Core& core, const model::Job& job);

Blocker of_job(BlockerKind kind, const Job& job, std::string held_by = {}, Time until = {}) {
  return Blocker{.kind = kind,
                 .scope = model::BlockerScope::kJob,
                 .where = job.id.text(),
                 .held_by = std::move(held_by),
                 .until = until};
}

/// Of very many others the first.
std::string what_is_left(const Job& job) {
  constexpr size_t kMost = 20;
  model::Dependency some = job.unmet;
  if (some.terms.size() <= kMost) return model::format_dependency(some);
  some.terms.resize(kMost);
  return fmt::format("{} and {} more", model::format_dependency(some), job.unmet.terms.size() - kMost);
}

Blocker spent_budget(const Core& core, const Job& job) {
  const BudgetOwner* owner = spent_budget_of(core, job.spec);
  if (owner == nullptr) return of_job(BlockerKind::kNotLookedAt, job);
  const GpuBudgets::Meter& meter = core.gpu_budgets.meters().at(*owner);
  return Blocker{.kind = BlockerKind::kBudgetSpent,
                 .scope = owner->is_user ? model::BlockerScope::kJob : model::BlockerScope::kQos,
                 .where = owner->text(),
                 .resource = "gpu-seconds",
                 .bound = meter.budget.gpu_seconds,
                 .held = static_cast<uint64_t>(sched::gpu_seconds(GpuBudgets::used_at(meter, core.now))),
                 .held_by = model::words(meter.budget),
                 .until = base::period_end(meter.budget.period, core.now)};
}

/// What keeps a job from the scheduler.
Blocker own_blocker(const Core& core, const Job& job) {
  switch (job.waiting()->reason) {
    case WaitReason::kJobHeldAdmin:
      return of_job(BlockerKind::kHeldByAdministrator, job, job.last_failure);
    case WaitReason::kJobHeldUser:
      return of_job(BlockerKind::kHeldByOwner, job);
    case WaitReason::kBeginTime:
      return of_job(BlockerKind::kBeginTime, job, {}, job.spec.begin);
    case WaitReason::kDependency:
      return of_job(BlockerKind::kDependency, job, what_is_left(job));
    case WaitReason::kDependencyNeverSatisfied:
      return of_job(BlockerKind::kDependencyNeverSatisfied, job, what_is_left(job));
    case WaitReason::kLaunchBackoff:
      return of_job(BlockerKind::kLaunchBackoff, job, job.last_failure, job.waiting()->not_before);
    case WaitReason::kArrayTaskLimit:
      return throttle_of(core, job);
    case WaitReason::kBudgetSpent:
      return spent_budget(core, job);
    case WaitReason::kCleaning:
      break;
    default:
      return of_job(BlockerKind::kUnknown, job);
  }
  const ForeignRun* run = core.watch.foreign.newest_of(job.id);
  if (run == nullptr) return of_job(BlockerKind::kNodesNotLeft, job, "an earlier run of it has not left its nodes yet");
  return of_job(
      BlockerKind::kNodesNotLeft, job,
      fmt::format("its run {}, which a newer state placed, still lives on {}; it ends by itself, or by gcontrol "
                  "update nodename={} foreign=end",
                  run->text(), core.nodes.name_of(run->node), core.nodes.name_of(run->node)));
}

/// Why a component waits that itself could start: for another one, or with the first. nullopt: for what the scheduler
/// says of it.
std::optional<WaitInfo> wait_for_components(const Core& core, const Job& job) {
  if (!job.spec.is_het()) return std::nullopt;
  for (uint32_t k = 0; k < job.spec.het_size; ++k) {
    const Job* one = core.jobs.find(JobId(job.spec.het_job.value + k));
    if (one == nullptr || one->id == job.id) continue;
    const std::string other = fmt::format("component {}, job {},", k, one->id.value);
    const model::Waiting* waiting = one->waiting();
    if (waiting == nullptr)
      return WaitInfo{WaitReason::kCleaning,
                      {of_job(BlockerKind::kNodesNotLeft, *one, other + " has not left its nodes yet")}};
    if (waiting->reason == WaitReason::kNone) continue;
    const std::string why = model::words({own_blocker(core, *one)});
    return WaitInfo{waiting->reason,
                    {of_job(BlockerKind::kOtherComponent, *one, fmt::format("{} cannot start yet: {}", other, why))}};
  }
  const Job& leader = leader_of(core, job);
  if (&leader == &job) return std::nullopt;
  const WaitInfo info = wait_info(core, leader);
  return WaitInfo{info.reason,
                  {of_job(BlockerKind::kOtherComponent, leader,
                          fmt::format("it starts with component 0, job {}: {}", job.spec.het_job.value,
                                      model::words(info.blockers)))}};
}

/// Why no further task of an array is made.
WaitInfo wait_for_tasks(const Core& core, const Job& array) {
  const auto why = why_no_task(core, array);
  if (!why) return {WaitReason::kNone, {of_job(BlockerKind::kNotLookedAt, array)}};
  const bool is_throttled = why->kind == BlockerKind::kArrayTaskLimit;
  return {is_throttled ? WaitReason::kArrayTaskLimit : WaitReason::kPriority, {*why}};
}

WaitInfo wait_info(const Core& core, const model::Job& job) {
  const model::Waiting* waiting = job.waiting();
  if (waiting == nullptr) return {};
  if (waiting->reason != WaitReason::kNone) return {waiting->reason, {own_blocker(core, job)}};
  if (const auto info = wait_for_components(core, job)) return *info;
  if (job.spec.is_array()) return wait_for_tasks(core, job);
  const auto it = core.planning.class_waits.find(class_of(core, job));
  if (it != core.planning.class_waits.end()) return it->second;
  return {WaitReason::kNone, {of_job(BlockerKind::kNotLookedAt, job)}};
}

/// By the latest plan; zero: none is planned. Not in the past.
Time planned_start_of(const Core& core, const Job& job) {
  if (job.waiting()->reason != WaitReason::kNone) return {};
  const auto planned = core.planning.estimates.find(leader_of(core, job).id);
  return planned == core.planning.estimates.end() ? Time{} : std::max(planned->second.start, core.now);
}

/// As the latest forecast has it; what is planned is the latest.
void show_range(const Core& core, const Job& job, wire::Waiting& out) {
  if (job.waiting()->reason != WaitReason::kNone) return;
  const forecast::StartRange* range = core.planning.forecasts.find(leader_of(core, job).id, core.now);
  if (range == nullptr || range->low == Time::never()) return;
  const Time planned = planned_start_of(core, job), last = planned ? planned : Time::never();
  put_range(*range, core.now, last, *out.mutable_start_range());
}

}  // namespace

wire::Job job_to_wire(const Core& core, const model::Job& job) {
  wire::Job out = wire::to_wire(
      job, [&core](NodeId id) { return core.nodes.name_of(id); }, wire::Extent::kShown);
  const ArrayTable::Array* array = job.spec.array ? core.jobs.arrays().find(job.spec.array->job) : nullptr;
  if (array != nullptr) *out.mutable_status()->mutable_tasks() = wire::to_wire(array->told(job.id));
  if (job.waiting() != nullptr) {
    wire::set_waits(*out.mutable_status()->mutable_waited(), waited_of(core, job));
    const WaitInfo info = wait_info(core, job);
    wire::Waiting& waiting = *out.mutable_status()->mutable_waiting();
    waiting.set_reason(static_cast<uint32_t>(info.reason));
    waiting.set_detail(model::words(info.blockers));
    waiting.set_estimated_start_us(planned_start_of(core, job).us);
    show_range(core, job, waiting);
    wire::set_blockers(*waiting.mutable_blockers(), info.blockers);
  }
  if (is_suspended(job)) {
    const auto it = core.planning.class_waits.find(class_of(core, job));
    if (it != core.planning.class_waits.end() && !job.placed()->suspension->is_held)
      out.mutable_status()->mutable_placed()->mutable_suspension()->set_detail(model::words(it->second.blockers));
  }
  return out;
}

}  // namespace gw::ctld
