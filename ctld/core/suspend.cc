// Jobs that stand still: their processes are frozen, their memory stays, and they go on where they were when what they
// gave away is free again. A job is suspended because it makes way for another and would rather not be ended, or
// because an administrator says so.
// Invariants: from when all nodes have said that the job stands still until it goes on, the scheduler knows what it
// still holds under an id of its own (Suspension::holder), and the job itself as one that waits for the rest; its time
// limit does not count that time; a node that cannot freeze it makes it run on, or, where others need the room, end.
#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/controller.h"
#include "model/suspension.h"

namespace gw::ctld {

using base::Duration;
using model::Job;
using model::JobEvent;
using model::JobState;
using model::Outcome;
using model::Suspension;

/// What the job holds now.
model::Allocation Controller::held_by(const Job& job) {
  const model::Placed& placed = *job.placed();
  if (!placed.suspension || !placed.suspension->holder) return placed.allocation;
  return model::kept_in_suspension(placed.allocation, placed.suspension->shares_gpus);
}

/// So that a suspended job waits to go on. The rest of its time limit is what it asks for.
void Controller::ask_for_the_rest(const Job& job, sched::PendingJob& out) {
  const model::Placed& placed = *job.placed();
  out.request.exactly = model::freed_in_suspension(placed.allocation, placed.suspension->shares_gpus).shares;
  out.partitions = {placed.partition};
  out.time_min = {};
  out.deadline = {};  // what has begun is not given up for it
  out.suspends = sched::Suspends::kNo;
  if (out.time_limit != base::kUnlimited)
    out.time_limit = std::max(placed.running_since() + out.time_limit - placed.suspension->since, base::seconds(1));
}

/// Those whose parts would have to stand still together cannot; nor those in a reservation, which may be over by then.
bool Controller::can_stand_still(const model::JobSpec& spec) {
  return !spec.is_het() && !spec.request.elastic && spec.reservation.empty();
}

/// False: it cannot stand still at all.
bool Controller::suspend(Time now, Job& job, Suspension why, Duration grace) {
  model::Placed& placed = *job.placed();
  if (job.state != JobState::kRunning || !can_stand_still(job.spec)) return false;
  if (placed.suspension) {  // somebody asked for it already; now it makes way, too
    if (placed.suspension->for_job != 0) return false;
    placed.suspension->for_job = why.for_job;
    placed.suspension->rule = why.rule;
    expect_end(job, placed.suspension->freeze_at, true);
    rows_.job(job);
    return true;
  }
  const bool makes_way = why.for_job != 0;
  placed.suspension = std::move(why);
  ++placed.suspensions;
  placed.waiting_for.clear();
  for (const model::NodeShare& share : placed.allocation.shares) placed.waiting_for.insert(share.node);
  const bool is_told = makes_way && job.spec.preempt_signo != 0;
  placed.suspension->freeze_at = is_told ? now + grace : now;
  if (makes_way) expect_end(job, placed.suspension->freeze_at, true);
  rows_.run(job);
  out_.job_event(now, job, "is to stand still", why_suspended(*placed.suspension));
  for (NodeId node : std::set<NodeId>(placed.waiting_for)) send_suspend(now, job, node);
  timers_.set(
      {placed.suspension->freeze_at + settings_.start_timeout, TimerKind::kSuspension, job.id.value, job.attempt});
  return true;
}

std::string Controller::why_suspended(const Suspension& s) {
  if (s.for_job == 0) return "by " + s.who;
  return fmt::format("makes way for job {}{}", s.for_job,
                     s.rule == 0 ? "" : fmt::format(" (rule {} of the quotas)", s.rule));
}

void Controller::send_suspend(Time now, const Job& job, NodeId node) {
  const Suspension& why = *job.placed()->suspension;
  wire::ControllerToNode message;
  wire::Suspend& s = *message.mutable_suspend();
  s.set_job(job.id.value);
  s.set_attempt(job.attempt);
  s.set_round(job.placed()->suspensions);
  const Duration left = std::max(why.freeze_at - now, Duration{});
  if (left.us > 0 && !stands_still(job)) {
    s.set_grace_us(left.us);
    s.set_signo(job.spec.preempt_signo);
  }
  s.set_preempted_for(why.for_job);
  s.set_preempt_rule(why.rule);
  send_to_node(node, std::move(message));
}

void Controller::send_resume(const Job& job, NodeId node) {
  wire::ControllerToNode message;
  message.mutable_resume()->set_job(job.id.value);
  message.mutable_resume()->set_attempt(job.attempt);
  message.mutable_resume()->set_round(job.placed()->suspensions);
  send_to_node(node, std::move(message));
}

/// A node that was away may have missed what it was told last; said again it changes nothing.
void Controller::repeat_suspension(Time now, const Job& job, NodeId node) {
  if (job.state != JobState::kRunning && job.state != JobState::kSuspended) return;
  if (job.placed()->suspension) return send_suspend(now, job, node);
  if (job.placed()->suspensions > 0) send_resume(job, node);
}

void Controller::on_suspended(Time now, NodeId node, const wire::Suspended& m) {
  Job* job = current_run(m.job(), m.attempt());
  if (job == nullptr || job->state != JobState::kRunning || m.round() != job->placed()->suspensions) return;
  model::Placed& placed = *job->placed();
  if (!placed.suspension && placements_.is_on(node, job->id)) return send_resume(*job, node);
  if (!placed.suspension || !placed.waiting_for.contains(node)) return;
  if (!m.problem().empty())
    return run_on(now, *job, fmt::format("{}: {}", nodes_.name_of(node), base::printable(m.problem(), 200)));
  placed.waiting_for.erase(node);
  rows_.run_node(*job, node);
  if (placed.waiting_for.empty()) stand_still(now, *job);
}

/// All of it stands still: what it gives away is free.
void Controller::stand_still(Time now, Job& job) {
  if (!advance(job, JobEvent::kSuspend)) return;
  model::Placed& placed = *job.placed();
  Suspension& s = *placed.suspension;
  const int64_t before = sched::usage_rate(placed.allocation);
  s.since = now;
  const auto partition = partitions_.find(placed.partition);
  s.shares_gpus = partition != partitions_.end() && partition->second.share_suspended_gpus;
  s.holder = jobs_.take_holder();
  for (const model::NodeShare& share : placed.allocation.shares) ledger_.release(job.id, share.node);
  hold_remains(job, held_by(job));
  charge(now, job, sched::usage_rate(held_by(job)) - before);
  if (s.for_job != 0) count_preempted_run(job, 0);
  rows_.job(job);
  out_.job_event(now, job, "suspended", why_suspended(s));
  wait_to_go_on(job);
}

/// What a suspended job keeps of those nodes is held under the id for it.
void Controller::hold_remains(const Job& job, const model::Allocation& kept) {
  const model::Placed& placed = *job.placed();
  const JobId holder = placed.suspension->holder;
  placements_.set_holder(holder, job.id);
  const Time begun = placed.running_since();
  auto remains = std::make_shared<const sched::PendingJob>(sched::remains_of(pending_of(job), holder));
  (void)ledger_.hold({holder, placed.partition, kept, begun, Time::never(), std::move(remains)});
}

/// Its QOS, or what it asks for, is another one.
void Controller::tell_of_suspended(const Job& job) {
  const JobId holder = job.placed()->suspension->holder;
  auto remains = std::make_shared<const sched::PendingJob>(sched::remains_of(pending_of(job), holder));
  feed_.tell(sched::RunningChanged{holder, std::move(remains)});
  if (stands_still(job) && !job.placed()->suspension->is_held) wait_to_go_on(job);
}

void Controller::wait_to_go_on(const Job& job) {
  if (job.placed()->suspension->is_held) return feed_.tell(sched::JobUnqueued{job.id});
  feed_.tell(sched::JobQueued{pending_of(job)});
  if (const auto& c = job.placed()->moves_to)
    feed_.tell(sched::ClaimSet{{job.id, c->partition, c->allocation, c->when}});
}

bool Controller::can_go_on(Time now, const Job& job, const sched::Start& start) const {
  if (!stands_still(job) || job.placed()->suspension->is_held || !store_fault_.empty()) return false;
  const sched::PendingJob pending = pending_of(job);
  return sched::check(ledger_.capacity(), pending, start) && sched::check_reservations(advance_, pending, start, now);
}

bool Controller::go_on(Time now, Job& job) {
  model::Placed& placed = *job.placed();
  if (!advance(job, JobEvent::kResume)) return false;
  const Suspension was = *placed.suspension;
  const int64_t before = sched::usage_rate(model::kept_in_suspension(placed.allocation, was.shares_gpus));
  const Duration stood = now - was.since;
  placed.stood_still = placed.stood_still + stood;
  if (placed.saved) placed.saved = placed.saved + stood;
  placed.suspension.reset();
  placed.moves_to.reset();
  for (const model::NodeShare& share : placed.allocation.shares) ledger_.release(was.holder, share.node);
  placements_.drop_holder(was.holder);
  const Time begun = placed.running_since(), end = begun + job.spec.time_limit;
  (void)ledger_.hold({job.id, placed.partition, placed.allocation, begun, end,
                      std::make_shared<const sched::PendingJob>(pending_of(job))});
  charge(now, job, sched::usage_rate(placed.allocation) - before);
  rows_.job(job);
  out_.job_event(now, job, "goes on", fmt::format("after {}", base::format_duration(stood)));
  for (const model::NodeShare& share : placed.allocation.shares) send_resume(job, share.node);
  arm_limits(job);
  begin_waiting_steps(now, job);
  return true;
}

/// It could not be made to stand still.
void Controller::run_on(Time now, Job& job, const std::string& why) {
  model::Placed& placed = *job.placed();
  const Suspension was = *placed.suspension;
  out_.job_event(now, job, "cannot stand still", why);
  placed.suspension.reset();
  placed.waiting_for.clear();
  if (was.for_job == 0) {
    rows_.run(job);
    for (const model::NodeShare& share : placed.allocation.shares) send_resume(job, share.node);
    return;
  }
  Outcome outcome = preempted(job, was.for_job, was.rule, false);
  outcome.detail += ", since it cannot be suspended: " + why;
  outcome.ended = now;
  stop(now, job, std::move(outcome));
}

void Controller::suspension_due(Time now, Job& job) {
  if (job.state != JobState::kRunning || !job.placed()->suspension) return;
  const Time due = job.placed()->suspension->freeze_at + settings_.start_timeout;
  if (now < due) return timers_.set({due, TimerKind::kSuspension, job.id.value, job.attempt});
  std::vector<std::string> silent;
  for (NodeId node : job.placed()->waiting_for) silent.push_back(nodes_.name_of(node));
  run_on(now, job, fmt::format("no word from {}", base::compress_hostlist(silent)));
}

/// After the controller's start.
void Controller::restore_suspension(Time now, const Job& job, const model::Allocation& held) {
  const Suspension& s = *job.placed()->suspension;
  if (!s.holder) {
    if (job.state == JobState::kRunning) {
      if (s.for_job != 0) expect_end(job, s.freeze_at, true);
      timers_.set(
          {std::max(now, s.freeze_at) + settings_.start_timeout, TimerKind::kSuspension, job.id.value, job.attempt});
    }
    return;
  }
  hold_remains(job, model::kept_in_suspension(held, s.shares_gpus));
  if (stands_still(job)) wait_to_go_on(job);
}

base::Status Controller::suspend_on_request(Time now, const Caller& caller, Job& job) {
  GW_TRY_STATUS(may_suspend(caller, job));
  if (stands_still(job)) {
    if (std::exchange(job.placed()->suspension->is_held, true))
      return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is suspended already", job.id.value));
    job.placed()->moves_to.reset();
    rows_.job(job);
    feed_.tell(sched::JobUnqueued{job.id});
    out_.job_event(now, job, "held", "suspended until resumed, by " + caller.user, caller.uid);
    return {};
  }
  if (job.state != JobState::kRunning)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not running", job.id.value));
  if (job.placed()->suspension)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is being suspended already", job.id.value));
  Suspension by_hand;
  by_hand.is_held = true;
  by_hand.who = caller.user;
  if (!suspend(now, job, std::move(by_hand), {}))
    return base::fail(
        base::ErrorCode::kConflict,
        fmt::format("job {} cannot be suspended: it has several components, is elastic, or is in a reservation",
                    job.id.value));
  return {};
}

base::Status Controller::resume_on_request(Time now, const Caller& caller, Job& job) {
  GW_TRY_STATUS(may_suspend(caller, job));
  const bool is_under_way = job.state == JobState::kRunning && job.placed()->suspension;
  if (!stands_still(job) && !is_under_way)
    return base::fail(base::ErrorCode::kConflict, fmt::format("job {} is not suspended", job.id.value),
                      job.is_held() ? "it is held: gcontrol release " + job.id.text() : "");
  if (!std::exchange(job.placed()->suspension->is_held, false))
    return base::fail(base::ErrorCode::kConflict,
                      fmt::format("job {} makes way for job {}: it goes on by itself when its place is free again",
                                  job.id.value, job.placed()->suspension->for_job));
  out_.job_event(now, job, "resumed", "by " + caller.user, caller.uid);
  rows_.job(job);
  if (stands_still(job))
    wait_to_go_on(job);
  else if (job.placed()->suspension->for_job == 0)
    run_on(now, job, "resumed by " + caller.user);
  return {};
}

/// Its time limit does not count while a job stands still, and it keeps what it keeps: not for its owner to ask for.
base::Status Controller::may_suspend(const Caller& caller, const Job& job) const {
  if (is_admin(settings_, caller) || is_operator(book_, caller, job.spec.qos)) return {};
  return base::fail(base::ErrorCode::kDenied,
                    "only administrators, and operators of its QOS, suspend and resume a job");
}

}  // namespace gw::ctld
