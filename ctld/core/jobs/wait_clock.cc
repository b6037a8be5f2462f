// See wait_clock.h.
#include "ctld/core/jobs/wait_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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

/// With a number behind it: a row has the waits of some thousand jobs.
constexpr std::string_view kRows = "open_waits.";
/// So often they are written,
constexpr base::Duration kEvery = base::minutes(5);
/// in pieces of so many jobs, between which others are served.
constexpr size_t kAtOnce = 2'000;

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

/// It comes to the clocks with what it has waited before. Of the time that nobody has counted nothing is known.
void come(Core& core, const Job& job) {
  sched::WaitClocks& clocks = core.planning.waits;
  if (!core.planning.is_keeping_waits) {
    core.planning.is_keeping_waits = true;
    core.timers.set({core.now + kEvery, TimerKind::kWaits, 0, 0});
  }
  if (clocks.knows(job.id)) return;
  WaitSplit before;
  if (core.now > job.waiting()->since) before.add(WaitCause::kController, core.now - job.waiting()->since);
  clocks.bring(job.id, std::move(before));
}

}  // namespace

void wait_for(Core& core, const Job& job, WaitCause cause) {
  come(core, job);
  core.planning.waits.wait_for(job.id, cause, core.now);
}

namespace {

/// The class of a job as the scheduler has it, and until when.
struct Class {
  sched::ClassKey key;
  Time until;
};

Class class_before_scheduler(const Core& core, const Job& job) {
  const sched::PendingJob pending = pending_of(core, job);
  const Time at = core.planning.planned;
  return {sched::class_key(pending, core.planning.are_classes_of_users, at), sched::Queue::next_change_of(pending, at)};
}

void wait_in(Core& core, const Job& job, const Class& its) {
  come(core, job);
  core.planning.waits.wait_in(job.id, its.key, its.until, core.now);
}

}  // namespace

void set_wait_clock(Core& core, const Job& job) {
  const WaitReason own = job.waiting()->reason;
  if (own != WaitReason::kNone) return wait_for(core, job, cause_of(own));
  wait_in(core, job, class_before_scheduler(core, job));
}

void set_wait_clocks_of_components(Core& core, const Job& leader) {
  std::vector<const Job*> waiting;
  std::optional<WaitCause> shared;  // what keeps the first of them that is kept
  for (uint32_t k = 0; k < leader.spec.het_size; ++k) {
    const Job* one = core.jobs.find(JobId(leader.spec.het_job.value + k));
    if (one == nullptr || one->ended() != nullptr) continue;
    if (one->waiting() != nullptr) waiting.push_back(one);
    if (shared) continue;
    if (one->waiting() == nullptr)
      shared = WaitCause::kLaunch;  // its run has not left its nodes
    else if (one->waiting()->reason != WaitReason::kNone)
      shared = cause_of(one->waiting()->reason);
  }
  std::optional<Class> its;
  for (const Job* one : waiting) {
    const WaitReason own = one->waiting()->reason;
    if (own != WaitReason::kNone || shared) {
      wait_for(core, *one, own != WaitReason::kNone ? cause_of(own) : *shared);
      continue;
    }
    if (!its) its = class_before_scheduler(core, leader);
    wait_in(core, *one, *its);
  }
}

void share_wait(Core& core, const Job& of, const Job& with) {
  core.planning.waits.bring(with.id, core.planning.waits.split(of.id, core.now));
}

namespace {

/// Its class has another name by now.
void set_again(Core& core, const Job& job) {
  const Job& leader = leader_of(core, job);
  // Without the leader nothing starts any more: it stays where it is.
  if (!job.spec.is_het() || &leader == &job)
    return job.spec.is_het() ? set_wait_clocks_of_components(core, job) : set_wait_clock(core, job);
  if (leader.waiting() != nullptr) return set_wait_clocks_of_components(core, leader);
  wait_for(core, job, WaitCause::kScheduler);
}

}  // namespace

void follow_classes(Core& core, const sched::Plan& plan) {
  Planning& planning = core.planning;
  planning.planned = plan.at;
  const bool are_of_users = splits_by_user(core);
  if (planning.are_classes_of_users != are_of_users) {
    planning.are_classes_of_users = are_of_users;
    for (const JobId id : planning.waits.in_classes()) set_again(core, core.jobs.at(id));
  }
  while (const auto id = planning.waits.due(plan.at)) set_again(core, core.jobs.at(*id));
}

WaitSplit waited_of(const Core& core, const Job& job) {
  WaitSplit out = job.waited;
  if (job.waiting() != nullptr) out += core.planning.waits.split(job.id, core.now);
  return out;
}

namespace {

/// As a row has it, and the time since, of which nothing is known. A clock that was set back takes from the largest
/// part.
WaitSplit continued(const Core& core, const Job& job, WaitSplit waited) {
  base::Duration unknown = core.now - job.waiting()->since - waited.total();
  while (unknown.us < 0 && !waited.empty()) {
    const auto largest = *std::max_element(waited.parts().begin(), waited.parts().end(),
                                           [](const auto& a, const auto& b) { return a.time < b.time; });
    const base::Duration less = std::min(largest.time, base::Duration{-unknown.us});
    waited.add(largest.cause, base::Duration{-less.us});
    unknown = unknown + less;
  }
  waited.add(WaitCause::kController, unknown);
  return waited;
}

void restore_row(Core& core, const wire::OpenWaits& kept) {
  for (const wire::OpenWait& one : kept.jobs()) {
    const Job* job = core.jobs.find(JobId(one.job()));
    if (job == nullptr || job->waiting() == nullptr || job->waiting()->since.us != one.since_us()) continue;
    core.planning.waits.bring(job->id, continued(core, *job, wire::waits_from(one.waited())));
  }
}

}  // namespace

void restore_waits(Core& core, const store::Snapshot& snapshot) {
  core.jobs.each([&core](Job& job) {
    model::Waiting* waiting = job.waiting();
    if (waiting == nullptr || (waiting->since && waiting->since <= core.now)) return;
    // A row of an earlier version does not say it, and the clock may have been set back.
    waiting->since = job.attempt == 0 ? std::min(job.submitted, core.now) : core.now;
    core.rows.job(job);
  });
  for (const store::NamedBytes& row : snapshot.meta) {
    if (!row.name.starts_with(kRows)) continue;
    wire::OpenWaits kept;
    if (kept.ParseFromString(row.bytes))
      restore_row(core, kept);
    else
      hold_named(core, store::RowKind::kSetting, row.name, "it does not say what jobs have waited for");
  }
}

bool keep_some_waits(Core& core, size_t most) {
  Planning& planning = core.planning;
  const auto& jobs = core.jobs.all();
  wire::OpenWaits kept;
  kept.set_at_us(core.now.us);
  auto it = jobs.upper_bound(planning.kept_waits.last);
  for (size_t looked_at = 0; it != jobs.end() && looked_at < most; ++it, ++looked_at) {
    planning.kept_waits.last = it->first;
    if (!planning.waits.knows(it->first)) continue;
    wire::OpenWait& one = *kept.add_jobs();
    one.set_job(it->first.value);
    one.set_since_us(it->second.waiting()->since.us);
    wire::set_waits(*one.mutable_waited(), planning.waits.split(it->first, core.now));
  }
  const bool is_last = it == jobs.end();
  core.out.write(store::PutMeta{fmt::format("{}{}", kRows, planning.kept_waits.rows++), wire::row_bytes(kept)});
  if (!is_last) return true;
  // Rows of more jobs than there are now say nothing any more.
  for (uint32_t row = planning.kept_waits.rows; row < planning.kept_waits.rows_before; ++row)
    core.out.write(store::PutMeta{fmt::format("{}{}", kRows, row), {}});
  planning.kept_waits = {.rows_before = planning.kept_waits.rows};
  return false;
}

void keep_waits(Core& core) {
  core.planning.kept_waits.last = {};
  core.planning.kept_waits.rows = 0;
  while (keep_some_waits(core, kAtOnce)) {
  }
}

void waits_due(Core& core) {
  if (keep_some_waits(core, kAtOnce))
    return core.timers.set({core.now + base::milliseconds(1), TimerKind::kWaits, 0, 0});
  core.planning.is_keeping_waits = core.planning.waits.size() > 0;
  if (core.planning.is_keeping_waits) core.timers.set({core.now + kEvery, TimerKind::kWaits, 0, 0});
}

}  // namespace gw::ctld
