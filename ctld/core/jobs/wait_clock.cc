// See wait_clock.h.
#include "ctld/core/jobs/wait_clock.h"

#include <optional>
#include <string_view>
#include <utility>

#include "ctld/core/jobs/facts.h"
#include "ctld/core/shared/held.h"
#include "wire/row_bytes.h"
#include "wire/waits.h"

namespace gw::ctld {

using model::Job;
using model::WaitCause;
using model::WaitReason;
using model::WaitSplit;

namespace {

constexpr std::string_view kRow = "open_waits";
/// So often the row is written.
constexpr base::Duration kEvery = base::minutes(5);
/// Of more jobs than these the wait is not kept; what is left of it counts as not known after a restart.
constexpr int kMostKept = 200'000;

/// Of what keeps a job from the scheduler.
WaitCause cause_of(WaitReason own) {
  switch (own) {
    case WaitReason::kJobHeldUser:
    case WaitReason::kJobHeldAdmin:
      return WaitCause::kHeld;
    case WaitReason::kBeginTime:
      return WaitCause::kBeginTime;
    case WaitReason::kDependency:
    case WaitReason::kDependencyNeverSatisfied:
      return WaitCause::kDependency;
    case WaitReason::kArrayTaskLimit:
      return WaitCause::kArrayLimit;
    case WaitReason::kBudgetSpent:
      return WaitCause::kQuota;
    case WaitReason::kLaunchBackoff:
    case WaitReason::kCleaning:
      return WaitCause::kLaunch;
    default:
      return WaitCause::kScheduler;
  }
}

/// What keeps a job, or a component that it starts with, from the scheduler; nullopt: nothing.
std::optional<WaitCause> own_cause(const Core& core, const Job& job) {
  if (job.waiting()->reason != WaitReason::kNone) return cause_of(job.waiting()->reason);
  for (uint32_t k = 0; k < job.spec.het_size; ++k) {
    const Job* one = core.jobs.find(JobId(job.spec.het_job.value + k));
    if (one == nullptr || one->id == job.id) continue;
    if (one->waiting() == nullptr) return WaitCause::kLaunch;  // its run has not left its nodes
    if (one->waiting()->reason != WaitReason::kNone) return cause_of(one->waiting()->reason);
  }
  return std::nullopt;
}

/// It comes to the clocks with what it has waited before. Of the time that nobody has counted nothing is known.
void come(Core& core, const Job& job) {
  sched::WaitClocks& clocks = core.planning.waits;
  if (clocks.knows(job.id)) return;
  WaitSplit before;
  if (core.now > job.waiting()->since) before.add(WaitCause::kController, core.now - job.waiting()->since);
  clocks.bring(job.id, std::move(before));
  if (core.planning.is_keeping_waits) return;
  core.planning.is_keeping_waits = true;
  core.timers.set({core.now + kEvery, TimerKind::kWaits, 0, 0});
}

}  // namespace

void wait_for(Core& core, const Job& job, WaitCause cause) {
  come(core, job);
  core.planning.waits.wait_for(job.id, cause, core.now);
}

void set_wait_clock(Core& core, const Job& job) {
  if (const auto cause = own_cause(core, job)) return wait_for(core, job, *cause);
  come(core, job);
  const sched::PendingJob pending = pending_of(core, leader_of(core, job));
  const Time at = core.planning.planned;
  core.planning.waits.wait_in(job.id, sched::class_key(pending, core.planning.are_classes_of_users, at),
                              sched::Queue::next_change_of(pending, at), core.now);
}

void share_wait(Core& core, const Job& of, const Job& with) {
  core.planning.waits.bring(with.id, core.planning.waits.split(of.id, core.now));
}

void follow_classes(Core& core, const sched::Plan& plan) {
  Planning& planning = core.planning;
  planning.planned = plan.at;
  const bool are_of_users = splits_by_user(core);
  if (planning.are_classes_of_users != are_of_users) {
    planning.are_classes_of_users = are_of_users;
    for (const JobId id : planning.waits.in_classes()) set_wait_clock(core, core.jobs.at(id));
  }
  while (const auto id = planning.waits.due(plan.at)) set_wait_clock(core, core.jobs.at(*id));
}

WaitSplit waited_of(const Core& core, const Job& job) {
  WaitSplit out = job.waited;
  if (job.waiting() != nullptr) out += core.planning.waits.split(job.id, core.now);
  return out;
}

void restore_waits(Core& core, const store::Snapshot& snapshot) {
  for (auto& [id, job] : core.jobs.all())  // rows of earlier versions do not say it
    if (job.waiting() != nullptr && !job.waiting()->since)
      core.jobs.at(id).waiting()->since = job.attempt == 0 ? job.submitted : core.now;
  for (const store::NamedBytes& row : snapshot.meta) {
    if (row.name != kRow) continue;
    wire::OpenWaits kept;
    if (!kept.ParseFromString(row.bytes)) {
      hold_named(core, store::RowKind::kSetting, row.name, "it does not say what jobs have waited for");
      continue;
    }
    for (const wire::OpenWait& one : kept.jobs()) {
      const Job* job = core.jobs.find(JobId(one.job()));
      if (job == nullptr || job->waiting() == nullptr || job->waiting()->since.us != one.since_us()) continue;
      WaitSplit waited = wire::waits_from(one.waited());
      const base::Duration unknown = core.now - job->waiting()->since - waited.total();
      if (unknown.us < 0) continue;  // the clock was set back
      waited.add(WaitCause::kController, unknown);
      core.planning.waits.bring(job->id, std::move(waited));
    }
  }
}

void keep_waits(Core& core) {
  wire::OpenWaits kept;
  kept.set_at_us(core.now.us);
  core.planning.waits.each(core.now, [&](JobId id, const WaitSplit& waited) {
    if (kept.jobs_size() == kMostKept) return;
    wire::OpenWait& one = *kept.add_jobs();
    one.set_job(id.value);
    one.set_since_us(core.jobs.at(id).waiting()->since.us);
    wire::set_waits(*one.mutable_waited(), waited);
  });
  core.out.write(store::PutMeta{std::string(kRow), wire::row_bytes(kept)});
}

void waits_due(Core& core) {
  keep_waits(core);
  core.planning.is_keeping_waits = core.planning.waits.size() > 0;
  if (core.planning.is_keeping_waits) core.timers.set({core.now + kEvery, TimerKind::kWaits, 0, 0});
}

}  // namespace gw::ctld
