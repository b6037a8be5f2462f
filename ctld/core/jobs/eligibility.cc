// See eligibility.h.
#include "ctld/core/jobs/eligibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/dependencies.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/wait_clock.h"

namespace gw::ctld {

using model::Job;
using model::WaitReason;

namespace {

/// A job that waits is not placed while a run of it lives that the state does not know, and not under that one's
/// number.
bool awaits_foreign_run(Core& core, Job& job) {
  const ForeignRun* run = core.watch.foreign.newest_of(job.id);
  if (run == nullptr) return false;
  job.attempt = std::max(job.attempt, run->attempt);
  job.waiting()->reason = model::WaitReason::kCleaning;
  return true;
}

/// With what is kept for it.
void tell_queued(Core& core, const Job& job) {
  core.feed.tell(sched::JobQueued{pending_of(core, job)});
  if (const auto& n = job.waiting()->nomination)
    core.feed.tell(sched::NominationSet{{job.id, n->partition, n->allocation, n->when, n->components}});
}

/// Puts the leader before the scheduler once every component waits for nothing else.
void update_components(Core& core, Job& leader) {
  std::vector<Job*> all = siblings(core, leader);
  all.push_back(&leader);
  if (all.size() < leader.spec.het_size) return;
  for (const Job* one : all) {
    if (one->waiting() != nullptr && one->waiting()->reason == model::WaitReason::kNone) continue;
    if (leader.eligible) core.feed.tell(sched::JobUnqueued{leader.id});
    return;
  }
  for (Job* one : all) {
    if (one->eligible) continue;
    one->eligible = core.now;
    core.rows.job(*one);
  }
  if (!leader.spec.reservation.empty()) admit_to_reservation(core, leader.spec);
  tell_queued(core, leader);
}

/// What was wrong with a node may be mended, and others may be gone. The caller saves the job.
void shun_no_longer_than_due(Core& core, Job& job) {
  if (!job.shuns_until) return;
  if (job.shuns_until <= core.now) {
    job.shuns.clear();
    job.shuns_until = {};
    return;
  }
  core.timers.set({job.shuns_until, TimerKind::kJobEligible, job.id.value, job.attempt});
}

void wait_for_others(Core& core, Job& job) {
  job.waiting()->reason = job.unmet.is_hopeless() ? WaitReason::kDependencyNeverSatisfied : WaitReason::kDependency;
  if (job.unmet.is_hopeless() && job.spec.kill_on_invalid_dependency) core.jobs.dependents().look_again(job.id);
  const Time next = next_dependency(job);
  if (next != Time::never()) core.timers.set({next, TimerKind::kJobEligible, job.id.value, job.attempt});
}

}  // namespace

void admit_to_reservation(Core& core, const model::JobSpec& spec) {
  const auto r = core.reservations.all.find(spec.reservation);
  if (r == core.reservations.all.end() || !r->second.admits(spec.user, spec.qos)) return;
  sched::AdvanceReservation& told = core.reservations.told.at(r->first);
  if (told.users.insert(spec.uid).second) core.feed.tell(sched::ReservationSet{told});
}

namespace {

void look_at(Core& core, Job& job) {
  model::Waiting& waiting = *job.waiting();
  core.planning.forecasts.forget(job.id);
  shun_no_longer_than_due(core, job);
  look_at_dependencies(core, job);
  const Time not_before = std::max(job.spec.begin, waiting.not_before);
  waiting.reason = WaitReason::kNone;
  if (awaits_foreign_run(core, job)) {
    // said already
  } else if (job.spec.hold_admin) {
    waiting.reason = WaitReason::kJobHeldAdmin;
  } else if (job.spec.hold_user) {
    waiting.reason = WaitReason::kJobHeldUser;
  } else if (!job.unmet.is_met()) {
    wait_for_others(core, job);
  } else if (not_before > core.now) {
    const bool back_off = waiting.not_before > job.spec.begin;
    waiting.reason = back_off ? WaitReason::kLaunchBackoff : WaitReason::kBeginTime;
    core.timers.set({not_before, TimerKind::kJobEligible, job.id.value, job.attempt});
  } else if (spent_budget_of(core, job.spec) != nullptr) {
    waiting.reason = WaitReason::kBudgetSpent;  // whoever renews a budget looks at its jobs again
  }
  const bool is_task = job.spec.array && !job.spec.is_array();
  if (is_task && waiting.reason == WaitReason::kNone && core.jobs.arrays().is_above(job))
    waiting.reason = WaitReason::kArrayTaskLimit;
  if (is_task) core.jobs.arrays().set_wait(job, waiting.reason);
  if (waiting.reason != WaitReason::kNone) waiting.nomination.reset();
  if (job.spec.is_het()) return;  // settle_components() looks at all of them
  if (job.spec.is_array()) {      // its tasks go before the scheduler
    if (waiting.reason == WaitReason::kNone && !job.eligible) job.eligible = core.now;
    return core.jobs.arrays().set_ready(job, waiting.reason == WaitReason::kNone);
  }
  if (waiting.reason != WaitReason::kNone) {
    if (job.eligible)
      core.feed.tell(sched::JobUnqueued{job.id});  // the scheduler need not hear of a job that it never had
    return;
  }
  if (!job.eligible) job.eligible = core.now;
  if (!job.spec.reservation.empty()) admit_to_reservation(core, job.spec);
  tell_queued(core, job);
}

}  // namespace

void update_eligibility(Core& core, Job& job) {
  look_at(core, job);
  if (job.spec.is_het())
    core.planning.changed_het_jobs.insert(job.spec.het_job);
  else
    set_wait_clock(core, job);
}

void settle_components(Core& core) {
  for (const JobId id : std::exchange(core.planning.changed_het_jobs, {})) {
    Job* leader = core.jobs.find(id);
    if (leader == nullptr) continue;
    if (leader->waiting() != nullptr) update_components(core, *leader);
    set_wait_clocks_of_components(core, *leader);
  }
}

}  // namespace gw::ctld
