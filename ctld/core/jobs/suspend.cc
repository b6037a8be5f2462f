// See suspend.h.
#include "ctld/core/jobs/suspend.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/jobs/facts.h"
#include "ctld/core/jobs/limits.h"
#include "ctld/core/jobs/orders.h"
#include "ctld/core/jobs/preemption_counts.h"
#include "ctld/core/jobs/run.h"
#include "ctld/core/jobs/transition.h"
#include "ctld/core/jobs/usage.h"
#include "ctld/core/shared/told_progress.h"
#include "model/suspension.h"
#include "sched/quota/quota_tree.h"

namespace gw::ctld {

using base::Duration;
using model::Job;
using model::JobEvent;
using model::JobState;
using model::Outcome;
using model::Suspension;

namespace {

std::string why_suspended(const Job& job) {
  const Suspension& s = *job.placed()->suspension;
  if (s.for_job == 0) return "by " + s.who;
  if (ends_turn(job)) return fmt::format("its turn is over, that of job {} has come", s.for_job);
  return fmt::format("is preempted for job {}{}", s.for_job,
                     s.rule == 0 ? "" : fmt::format(" (rule {} of the quotas)", s.rule));
}

/// What a suspended job keeps of those nodes is held under the id for it.
void hold_kept(Core& core, const Job& job, const model::Allocation& kept) {
  const model::Placed& placed = *job.placed();
  const JobId holder = placed.suspension->kept_id;
  core.placements.set_holding(holder, job.id);
  const Time begun = placed.running_since();
  auto kept_part = std::make_shared<const sched::PendingJob>(sched::kept_part_of(pending_of(core, job), holder));
  (void)core.ledger.hold({holder, placed.partition, kept, begun, Time::never(), std::move(kept_part)});
}

/// It runs with all that it was given.
void hold_again(Core& core, Job& job) {
  count_service(core, job);
  const model::Placed& placed = *job.placed();
  const Time begun = placed.running_since(), end = begun + job.spec.time_limit;
  (void)core.ledger.hold({job.id, placed.partition, placed.allocation, begun, end,
                          std::make_shared<const sched::PendingJob>(pending_of(core, job))});
}

void wait_to_go_on(Core& core, const Job& job) {
  if (job.placed()->suspension->is_held) return core.feed.tell(sched::JobUnqueued{job.id});
  core.feed.tell(sched::JobQueued{pending_of(core, job)});
  if (const auto& n = job.placed()->moves_to)
    core.feed.tell(sched::NominationSet{{job.id, n->partition, n->allocation, n->when}});
}

/// All of it is suspended: what it gives away is free.
void set_suspended(Core& core, Job& job) {
  if (!advance(core, job, JobEvent::kSuspend)) return;
  model::Placed& placed = *job.placed();
  Suspension& s = *placed.suspension;
  s.since = core.now;
  const auto partition = core.partitions.all.find(placed.partition);
  s.shares_gpus = partition != core.partitions.all.end() && partition->second.share_suspended_gpus;
  s.kept_id = core.jobs.take_holding_id();
  for (const model::NodeShare& share : placed.allocation.shares) core.ledger.release(job.id, share.node);
  count_service(core, job);
  hold_kept(core, job, held_by(job));
  charge(core, job, placed.allocation, held_by(job));
  if (s.for_job != 0 && !ends_turn(job)) count_preempted_run(core, job, 0);
  core.rows.job(job);
  core.out.job_event(job, "suspended", why_suspended(job));
  wait_to_go_on(core, job);
}

/// It was about to leave, and keeps its place instead for the rest of its run: trying again would have others stop for
/// nothing at the end of each turn.
void keep_its_place(Core& core, Job& job) {
  core.planning.cannot_be_frozen[job.id] = job.attempt;
  const model::Placed& placed = *job.placed();
  for (const model::NodeShare& share : placed.allocation.shares) core.ledger.release(job.id, share.node);
  hold_again(core, job);
  core.rows.run(job);
}

/// It could not be suspended.
void run_on(Core& core, Job& job, const std::string& why) {
  model::Placed& placed = *job.placed();
  const Suspension was = *placed.suspension;
  const bool is_turn = ends_turn(job);
  core.out.job_event(job, "cannot be suspended", why);
  placed.suspension.reset();
  placed.waiting_for.clear();
  if (was.for_job == 0 || is_turn) {
    is_turn ? keep_its_place(core, job) : core.rows.run(job);
    for (const model::NodeShare& share : placed.allocation.shares) send_resume(core, job, share.node);
    return;
  }
  Outcome outcome = preempted(job, was.for_job, was.rule, false);
  outcome.detail += ", since it cannot be suspended: " + why;
  outcome.ended = core.now;
  stop(core, job, std::move(outcome));
}

/// Its time limit does not count while a job is suspended, and it keeps what it keeps: not for its owner to ask for.
base::Status may_suspend(const Core& core, const Caller& caller, const Job& job) {
  if (is_admin(core.settings, caller) || is_operator(core.quotas, caller, job.spec.qos)) return {};
  return base::fail(base::ErrorCode::kDenied,
                    "only administrators, and operators of its QOS, suspend and resume a job");
}

}  // namespace

bool suspend(Core& core, Job& job, Suspension why, Duration grace) {
  model::Placed& placed = *job.placed();
  if (job.state != JobState::kRunning || !can_be_suspended(job.spec)) return false;
  if (placed.suspension) {  // somebody asked for it already; now it is preempted, too
    if (placed.suspension->for_job != 0) return false;
    placed.suspension->for_job = why.for_job;
    placed.suspension->rule = why.rule;
    placed.suspension->is_turn = why.is_turn;
    expect_end(core, job, placed.suspension->freeze_at, true);
    core.rows.job(job);
    return true;
  }
  const bool is_preempted = why.for_job != 0;
  placed.suspension = std::move(why);
  ++placed.suspensions;
  placed.waiting_for.clear();
  for (const model::NodeShare& share : placed.allocation.shares) placed.waiting_for.insert(share.node);
  const bool is_told = is_preempted && job.spec.preempt_signo != 0;
  placed.suspension->freeze_at = is_told ? core.now + grace : core.now;
  if (is_preempted) expect_end(core, job, placed.suspension->freeze_at, true);
  core.rows.run(job);
  core.out.job_event(job, "is to be suspended", why_suspended(job));
  for (NodeId node : std::set<NodeId>(placed.waiting_for)) send_suspend(core, job, node);
  core.timers.set(
      {placed.suspension->freeze_at + core.settings.start_timeout, TimerKind::kSuspension, job.id.value, job.attempt});
  return true;
}

void repeat_suspension(Core& core, const Job& job, NodeId node) {
  if (job.state != JobState::kRunning && job.state != JobState::kSuspended) return;
  if (job.placed()->suspension) return send_suspend(core, job, node);
  if (job.placed()->suspensions > 0) send_resume(core, job, node);
}

void on_suspended(Core& core, NodeId node, const wire::Suspended& m) {
  Job* job = current_run(core, m.job(), m.attempt());
  if (job == nullptr || job->state != JobState::kRunning || m.round() != job->placed()->suspensions) return;
  model::Placed& placed = *job->placed();
  if (!placed.suspension && core.placements.is_on(node, job->id)) return send_resume(core, *job, node);
  if (!placed.suspension || !placed.waiting_for.contains(node)) return;
  if (!m.problem().empty())
    return run_on(core, *job, fmt::format("{}: {}", core.nodes.name_of(node), base::printable(m.problem(), 200)));
  placed.waiting_for.erase(node);
  core.rows.run_node(*job, node);
  if (placed.waiting_for.empty()) set_suspended(core, *job);
}

void tell_of_suspended(Core& core, const Job& job) {
  const JobId holder = job.placed()->suspension->kept_id;
  auto kept_part = std::make_shared<const sched::PendingJob>(sched::kept_part_of(pending_of(core, job), holder));
  core.feed.tell(sched::RunningChanged{holder, std::move(kept_part)});
  if (is_suspended(job) && !job.placed()->suspension->is_held) wait_to_go_on(core, job);
}

bool can_go_on(const Core& core, const Job& job, const sched::Start& start) {
  if (!is_suspended(job) || job.placed()->suspension->is_held || !core.stored.fault.empty()) return false;
  const sched::PendingJob pending = pending_of(core, job);
  return sched::check(core.ledger.capacity(), pending, start) &&
         sched::check_reservations(core.reservations.told, pending, start, core.now);
}

bool go_on(Core& core, Job& job) {
  model::Placed& placed = *job.placed();
  if (!advance(core, job, JobEvent::kResume)) return false;
  const Suspension was = *placed.suspension;
  const Duration stood = core.now - was.since;
  placed.stood_still = placed.stood_still + stood;
  if (placed.saved) placed.saved = placed.saved + stood;
  leave_out(job.progress, stood);
  placed.suspension.reset();
  placed.moves_to.reset();
  for (const model::NodeShare& share : placed.allocation.shares) core.ledger.release(was.kept_id, share.node);
  core.placements.drop_holding(was.kept_id);
  hold_again(core, job);
  charge(core, job, model::kept_in_suspension(placed.allocation, was.shares_gpus), placed.allocation);
  core.rows.job(job);
  core.out.job_event(job, "resumed", fmt::format("after {}", base::format_duration(stood)));
  for (const model::NodeShare& share : placed.allocation.shares) send_resume(core, job, share.node);
  arm_limits(core, job);
  core.post(RunResumed{job.id});
  return true;
}

void suspension_due(Core& core, Job& job) {
  if (job.state != JobState::kRunning || !job.placed()->suspension) return;
  const Time due = job.placed()->suspension->freeze_at + core.settings.start_timeout;
  if (core.now < due) return core.timers.set({due, TimerKind::kSuspension, job.id.value, job.attempt});
  std::vector<std::string> silent;
  for (NodeId node : job.placed()->waiting_for) silent.push_back(core.nodes.name_of(node));
  run_on(core, job, fmt::format("no word from {}", base::compress_hostlist(silent)));
}

void restore_suspension(Core& core, const Job& job, const model::Allocation& held) {
  const Suspension& s = *job.placed()->suspension;
  if (!s.kept_id) {
    if (job.state == JobState::kRunning) {
      if (s.for_job != 0) expect_end(core, job, s.freeze_at, true);
      core.timers.set({std::max(core.now, s.freeze_at) + core.settings.start_timeout, TimerKind::kSuspension,
                       job.id.value, job.attempt});
    }
    return;
  }
  hold_kept(core, job, model::kept_in_suspension(held, s.shares_gpus));
  if (is_suspended(job)) wait_to_go_on(core, job);
}

base::Status suspend_on_request(Core& core, const Caller& caller, Job& job) {
  GW_TRY_STATUS(may_suspend(core, caller, job));
  if (is_suspended(job)) {
    if (std::exchange(job.placed()->suspension->is_held, true))
      return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is suspended already", job.id.value));
    job.placed()->moves_to.reset();
    core.rows.job(job);
    core.feed.tell(sched::JobUnqueued{job.id});
    core.out.job_event(job, "held", "suspended until resumed, by " + caller.user, caller.uid);
    return {};
  }
  if (job.state != JobState::kRunning)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not running", job.id.value));
  if (job.placed()->suspension)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is being suspended already", job.id.value));
  Suspension by_hand;
  by_hand.is_held = true;
  by_hand.who = caller.user;
  if (!suspend(core, job, std::move(by_hand), {}))
    return base::fail(
        base::ErrorCode::kConflict,
        fmt::format("job {} cannot be suspended: it has several components, is elastic, or is in a reservation",
                    job.id.value));
  return {};
}

base::Status resume_on_request(Core& core, const Caller& caller, Job& job) {
  GW_TRY_STATUS(may_suspend(core, caller, job));
  const bool is_under_way = job.state == JobState::kRunning && job.placed()->suspension;
  if (!is_suspended(job) && !is_under_way)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not suspended", job.id.value),
                      job.is_held() ? "it is held: gcontrol release " + job.id.text() : "");
  if (!std::exchange(job.placed()->suspension->is_held, false))
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("job {} is preempted for job {}: it resumes by itself when its place is free again",
                                  job.id.value, job.placed()->suspension->for_job));
  core.out.job_event(job, "resumed", "by " + caller.user, caller.uid);
  core.rows.job(job);
  if (is_suspended(job))
    wait_to_go_on(core, job);
  else if (job.placed()->suspension->for_job == 0)
    run_on(core, job, "resumed by " + caller.user);
  return {};
}

}  // namespace gw::ctld
