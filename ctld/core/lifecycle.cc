// A job's way from the queue through placement and run to its end. Start of a gang is two-phase: every node prepares,
// then all go; a lost node or a time-out releases all of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "ctld/core/contract.h"
#include "ctld/core/controller.h"
#include "ctld/core/exit_report.h"
#include "model/find_on.h"
#include "wire/convert.h"
#include "wire/gang.h"

namespace gw::ctld {

using base::Duration;
using model::EndReason;
using model::Job;
using model::JobEvent;
using model::JobState;
using model::Outcome;
using model::WaitReason;

sched::PendingJob Controller::pending_of(const Job& job) const {
  sched::PendingJob out;
  out.id = job.id;
  out.request = model::least_of(asked_now(job));
  if (job.spec.request.elastic) out.most_tasks = model::most_tasks(job.spec.request);
  out.grows_by_node = job.spec.request.elastic;
  out.partitions = job.spec.partitions;
  out.qos = job.spec.qos;
  out.uid = job.spec.uid;
  const auto qos = book_.qos.find(job.spec.qos);
  // Bounded, so that no sum can wrap and pass everybody.
  constexpr int64_t kMost = int64_t{1} << 50;
  out.priority = std::clamp(job.spec.priority, -kMost, kMost);
  out.nice = job.spec.nice;
  out.qos_priority = qos == book_.qos.end() ? 0 : std::clamp(qos->second.priority, -kMost, kMost);
  out.submitted = job.submitted;
  out.eligible = job.eligible;
  if (job.placed() != nullptr) out.saved = job.placed()->saved;
  out.time_limit = job.spec.time_limit;
  out.time_min = job.spec.time_min;
  out.deadline = job.spec.deadline;
  out.reservation = job.spec.reservation;
  out.may_move = job.spec.requeue && job.spec.on_preempt != model::OnPreempt::kCancel;
  out.preemptible = !job.spec.not_preemptible && (job.spec.requeue || job.spec.on_preempt == model::OnPreempt::kCancel);
  if (job.placed() != nullptr) out.preemptible = job.placed()->preemptible;
  if (stands_still(job))
    ask_for_the_rest(job, out);
  else if (job.spec.on_preempt == model::OnPreempt::kSuspend && can_stand_still(job.spec))
    out.suspends = job.spec.preempt_signo == 0 ? sched::Suspends::kAtOnce : sched::Suspends::kAfterGrace;
  if (job.spec.het_job == job.id) add_components(job, out);
  if (job.spec.is_het() && job.spec.het_job != job.id) out.whole = job.spec.het_job;
  return out;
}

/// Puts a pending job before the scheduler, or says why not yet. The caller saves it.
void Controller::consider(Time now, Job& job) {
  model::Waiting& waiting = *job.waiting();
  shun_no_longer_than_due(now, job);
  const Time not_before = std::max(job.spec.begin, waiting.not_before);
  waiting.reason = WaitReason::kNone;
  waiting.detail.clear();
  if (awaits_foreign_run(job)) {
    // said already
  } else if (job.spec.hold_admin) {
    waiting.reason = WaitReason::kJobHeldAdmin;
    waiting.detail = "held by an administrator or after failed launches: gcontrol release " + job.id.text();
    if (!job.last_failure.empty()) waiting.detail += "; its last run: " + job.last_failure;
  } else if (job.spec.hold_user) {
    waiting.reason = WaitReason::kJobHeldUser;
    waiting.detail = "held by its owner: gcontrol release " + job.id.text();
  } else if (not_before > now) {
    const bool back_off = waiting.not_before > job.spec.begin;
    waiting.reason = back_off ? WaitReason::kLaunchBackoff : WaitReason::kBeginTime;
    waiting.detail = fmt::format("waits until {}{}", base::format_time(not_before),
                                 back_off ? "; its launch failed: " + job.last_failure : "");
    timers_.set({not_before, TimerKind::kJobEligible, job.id.value, job.attempt});
  }
  if (waiting.reason != WaitReason::kNone) waiting.claim.reset();
  if (job.spec.is_het()) return consider_components(now, job);
  if (waiting.reason != WaitReason::kNone) {
    if (job.eligible) feed_.tell(sched::JobUnqueued{job.id});  // the scheduler need not hear of a job that it never had
    return;
  }
  if (!job.eligible) job.eligible = now;
  if (!job.spec.reservation.empty()) admit_to_reservation(job);
  feed_.tell(sched::JobQueued{pending_of(job)});
  if (const auto& c = waiting.claim) feed_.tell(sched::ClaimSet{{job.id, c->partition, c->allocation, c->when}});
}

namespace {

bool is_only_told(const sched::Group& group) {
  return std::all_of(group.decisions.begin(), group.decisions.end(),
                     [](const auto& d) { return std::holds_alternative<sched::Wait>(d); });
}

}  // namespace

void Controller::on_plan(Time now, const sched::Plan& plan) {
  found_moves_ = plan.would_move;
  tell_moves(now);
  planned_ = plan.at;
  // One made for other quotas starts nobody beyond the present ones; what it promises, and why it lets others wait, is
  // said once, so it is kept.
  for (const sched::Group& group : plan.groups)
    if (plan.epoch >= quota_epoch_ || is_only_told(group)) commit_group(now, group);
  if (class_waits_.size() > 10'000 + 2 * jobs_.live()) forget_old_waits();
  if (!plan.exhausted) {  // of a plan that stopped half-way the promises are not complete
    estimates_.clear();
    for (const sched::Reserve& r : plan.reservations) estimates_[r.job] = r;
  }
}

/// Drops what was said of classes that no job is in any more.
void Controller::forget_old_waits() {
  std::set<sched::ClassKey> in_use;
  for (const auto& [id, job] : jobs_.all())
    if (job.waiting() != nullptr || stands_still(job)) in_use.insert(class_of(job));
  std::erase_if(class_waits_, [&](const auto& entry) { return !in_use.contains(entry.first); });
}

/// All of a group, or nothing of it.
void Controller::commit_group(Time now, const sched::Group& group) {
  if (!can_make_room(now, group)) return;
  for (const sched::Decision& decision : group.decisions) {
    const auto* start = std::get_if<sched::Start>(&decision);
    const bool makes_room = std::any_of(group.decisions.begin(), group.decisions.end(),
                                        [](const auto& d) { return std::holds_alternative<sched::Preempt>(d); });
    if (start != nullptr && !makes_room && !can_commit(now, *start)) return;
  }
  std::vector<JobId> placed;
  bool is_whole = true;
  for (const sched::Decision& decision : group.decisions) {
    if (const auto* start = std::get_if<sched::Start>(&decision)) {
      if (commit_start(now, *start))
        placed.push_back(start->job);
      else
        is_whole = false;
    }
    if (const auto* grow = std::get_if<sched::Grow>(&decision)) commit_growth(now, *grow);
    if (const auto* victim = std::get_if<sched::Preempt>(&decision)) preempt(now, *victim);
    if (const auto* claim = std::get_if<sched::Claim>(&decision)) keep_for(now, *claim);
    if (const auto* hopeless = std::get_if<sched::Reject>(&decision)) reject(now, *hopeless);
    if (const auto* wait = std::get_if<sched::Wait>(&decision))
      class_waits_[wait->job_class] = WaitInfo{wait->reason, wait->detail};
  }
  if (is_whole || placed.empty()) {
    for (JobId id : placed) prepare_everywhere(now, jobs_.at(id));
    return;
  }
  // A component that no longer fits takes those before it back.
  Outcome outcome;
  outcome.end = JobState::kNodeFail;
  outcome.reason = EndReason::kLaunchFailed;
  outcome.detail = "a component of the job could not be placed any more";
  outcome.requeue = true;
  outcome.ended = now;
  for (JobId id : placed) stop(now, jobs_.at(id), outcome);
}

void Controller::prepare_everywhere(Time now, const Job& job) {
  if (job.state != JobState::kConfiguring) return;  // one that was suspended goes on
  const wire::Prepare common = prepare_of(now, job);
  for (const model::NodeShare& share : job.placed()->allocation.shares) send_prepare(job, share.node, common);
}

void Controller::reject(Time now, const sched::Reject& hopeless) {
  Job* job = jobs_.find(hopeless.job);
  if (job == nullptr || job->waiting() == nullptr || !store_fault_.empty()) return;
  Outcome outcome;
  outcome.end = JobState::kDeadline;
  outcome.reason = EndReason::kDeadlinePassed;
  outcome.detail = hopeless.detail;
  outcome.ended = now;
  for (Job* other : siblings(*job))
    if (other->waiting() != nullptr) end_pending(now, *other, JobState::kDeadline, outcome);
  end_pending(now, *job, JobState::kDeadline, std::move(outcome));
}

bool Controller::can_commit(Time now, const sched::Start& start) const {
  const model::Job* job = jobs_.find(start.job);
  if (job != nullptr && job->placed() != nullptr) return can_go_on(now, *job, start);
  // While the state cannot be written nothing new is begun.
  if (job == nullptr || job->waiting() == nullptr || job->is_held() || !store_fault_.empty()) return false;
  if (job->waiting()->reason != WaitReason::kNone) return false;  // put off while the plan was made
  const model::JobSpec& spec = job->spec;
  const auto reservation = reservations_.find(spec.reservation);
  if (reservation != reservations_.end() && !reservation->second.admits(spec.user, spec.qos)) return false;
  const sched::PendingJob pending = pending_of(*job);
  return sched::check(ledger_.capacity(), pending, start) && sched::check_reservations(advance_, pending, start, now);
}

bool Controller::commit_start(Time now, const sched::Start& start) {
  if (!can_commit(now, start)) return false;
  Job* job = jobs_.find(start.job);
  if (job->placed() != nullptr) return go_on(now, *job);
  const Duration uncut = job->spec.time_limit;
  job->spec.time_limit = std::min(uncut, start.time_limit);
  const sched::PendingJob queued = pending_of(*job);
  const Placement placement{job->id,
                            start.partition,
                            start.allocation,
                            now,
                            now + job->spec.time_limit,
                            std::make_shared<const sched::PendingJob>(queued)};
  if (!ledger_.place(placement) || !advance(*job, JobEvent::kPlace)) return false;
  ++job->attempt;
  charge(now, *job, sched::usage_rate(start.allocation));
  model::Placed placed;
  placed.allocation = start.allocation;
  placed.partition = start.partition;
  placed.placed = now;
  const auto partition = partitions_.find(start.partition);
  placed.contract = contract_for(settings_, partition == partitions_.end() ? nullptr : &partition->second);
  placed.contract.placed_in = lineage_.mark_of_next();
  if (job->spec.time_limit != uncut) placed.uncut_limit = uncut;
  placed.preemptible = queued.preemptible;
  for (const model::NodeShare& share : start.allocation.shares) {
    placed.waiting_for.insert(share.node);
    placements_.put(share.node, job->id);
  }
  job->phase = std::move(placed);
  rows_.run(*job);
  if (job->placed()->uncut_limit.us != 0) rows_.job_and_spec(*job);
  out_.job_event(now, *job, "placed",
                 fmt::format("attempt {} in {} on {}", job->attempt, start.partition,
                             base::compress_hostlist(start.allocation.node_names())));
  timers_.set({now + settings_.start_timeout, TimerKind::kStartTimeout, job->id.value, job->attempt});
  return true;
}

/// What all its nodes are told of a job, without script and environment.
wire::Prepare Controller::prepare_of(Time now, const Job& job) const {
  const model::Placed& placed = *job.placed();
  wire::Prepare p;
  p.set_job(job.id.value);
  p.set_attempt(job.attempt);
  *p.mutable_spec() = wire::to_wire(job.spec);
  // Which nodes were asked for is over, and as long as the gang is large.
  p.mutable_spec()->mutable_request()->clear_nodelist();
  p.mutable_spec()->mutable_request()->clear_exclude();
  *p.mutable_gang() = wire::gang_of(placed.allocation);
  p.set_partition(placed.partition);
  p.set_cluster(settings_.cluster);
  p.set_restarts(job.restarts);
  p.set_lease_us(placed.contract.lease.us);
  p.set_grace_us(placed.contract.kill_wait.us);
  p.set_allow_root(placed.contract.allow_root);
  if (placed.contract.placed_in.says_anything()) *p.mutable_placed_in() = wire::to_wire(placed.contract.placed_in);
  p.set_time_limit_us(job.spec.time_limit.us);
  p.set_go(goes_alone(job));
  p.set_started_us(placed.started ? placed.started.us : now.us);
  return p;
}

/// What one of them is told beside.
void Controller::complete_for(const Job& job, NodeId node, wire::Prepare& p) {
  const auto& shares = job.placed()->allocation.shares;
  const auto at = model::find_on(shares, node, [](const model::NodeShare& share) { return share.node; });
  if (at == shares.end()) return;
  *p.mutable_share() = wire::to_wire(*at);
  p.mutable_gang()->set_node_id(static_cast<uint32_t>(at - shares.begin()));
  p.set_generation(generation_on(job, node));
}

void Controller::send_prepare(Time now, const Job& job, NodeId node) { send_prepare(job, node, prepare_of(now, job)); }

void Controller::send_prepare(const Job& job, NodeId node, const wire::Prepare& common) {
  wire::ControllerToNode message;
  wire::Prepare& p = *message.mutable_prepare();
  p = common;
  complete_for(job, node, p);
  const bool runs_script = job.placed()->allocation.shares.front().node == node && job.spec.het_offset == 0 &&
                           job.spec.kind == model::JobKind::kBatch;
  if (runs_script && job.spec.is_het()) tell_components(job, p);
  // The shell puts the submission environment in front of it.
  if (runs_script) p.set_environment(fmt::format("GANGWAY_PREEMPTIONS={}", job.preemptions));
  send_to_node(node, std::move(message), runs_script ? &job : nullptr);
}

void Controller::send_go(const Job& job, NodeId node) {
  wire::ControllerToNode message;
  message.mutable_go()->set_job(job.id.value);
  message.mutable_go()->set_attempt(job.attempt);
  message.mutable_go()->set_started_us(job.placed()->started.us);
  send_to_node(node, std::move(message));
}

/// `kill_now`: even if the node gives it a grace already.
void Controller::send_stop(const Job& job, NodeId node, bool kill_now) {
  const Outcome& outcome = *job.placed()->outcome;
  wire::ControllerToNode message;
  wire::Stop& s = *message.mutable_stop();
  s.set_job(job.id.value);
  s.set_attempt(job.attempt);
  s.set_grace_us(outcome.grace.value_or(job.placed()->contract.kill_wait).us);
  s.set_generation(generation_on(job, node));
  s.set_why(std::string(model::long_name(outcome.end)) + (outcome.detail.empty() ? "" : ": " + outcome.detail));
  // Without grace it was killed on purpose; one that makes way finds out why first, unless this is said.
  s.set_kill_now(kill_now || (outcome.grace == base::Duration{} && outcome.preempted_for == 0));
  tell_preemption(job, s);
  if (overtakes(job, node)) send_to_node(node, message, nullptr, true);
  // In its place as well: a node whose registration waits for the disk takes no order before the answer to that.
  send_to_node(node, std::move(message));
}

Job* Controller::current_run(uint32_t id, uint32_t attempt) {
  Job* job = jobs_.find(JobId(id));
  return job != nullptr && job->attempt == attempt && job->placed() != nullptr ? job : nullptr;
}

void Controller::on_prepared(Time now, NodeId node, const wire::Prepared& m) {
  Job* job = current_run(m.job(), m.attempt());
  if (job == nullptr || piece_ready(*job, node)) return;
  // The node lost what it was told after it had prepared: it is told again.
  // Or it has come late to an elastic gang that went on without it.
  if (job->state == JobState::kRunning && !placements_.is_on(node, job->id)) return clear_node(*job, node);
  if (job->state == JobState::kRunning && !goes_alone(*job)) return send_go(*job, node);
  if (job->state == JobState::kCompleting) return send_stop(*job, node);
  model::Placed& placed = *job->placed();
  if (job->state != JobState::kConfiguring || placed.waiting_for.erase(node) == 0) return;
  rows_.run_node(*job, node);
  if (placed.waiting_for.empty()) go_together(now, *job);
}

void Controller::go(Time now, Job& job) {
  if (!advance(job, JobEvent::kGo)) return;
  model::Placed& placed = *job.placed();
  placed.started = now;
  const bool is_told_all = placed.waiting_for.empty();
  placed.waiting_for.clear();
  launch_succeeded(job);
  if (is_told_all)
    rows_.job(job);
  else
    rows_.run(job);
  out_.job_event(now, job, "started", fmt::format("on {}", base::compress_hostlist(placed.allocation.node_names())));
  arm_limits(job);
  answer_waiters(job, /*has_started=*/true);
  if (job.spec.kind == model::JobKind::kStep) {
    begin_first_step(now, job);
    await_step(now, job);
  }
  // An elastic gang grows from now on: the scheduler is to look again.
  if (job.spec.request.elastic)
    feed_.tell(sched::RunningChanged{job.id, std::make_shared<const sched::PendingJob>(pending_of(job))});
  if (!goes_alone(job)) {
    for (const model::NodeShare& share : placed.allocation.shares) send_go(job, share.node);
    if (job.spec.request.elastic) tell_size(job);
  }
  if (job.spec.kind != model::JobKind::kStep) begin_waiting_steps(now, job);
}

void Controller::on_started(Time now, NodeId, const wire::Started& m) {
  Job* job = current_run(m.job(), m.attempt());
  // A gang of several nodes was started by go(); a gang of one reports that it went by itself.
  if (job != nullptr && job->state == JobState::kConfiguring && goes_alone(*job)) go(now, *job);
}

void Controller::arm_limits(const Job& job) {
  const Time end = job.placed()->running_since() + job.spec.time_limit;
  if (end == Time::never()) return;
  timers_.set({end, TimerKind::kJobLimit, job.id.value, job.attempt});
  if (job.spec.warn.signo != 0 && !job.placed()->warned)
    timers_.set({end - base::seconds(job.spec.warn.seconds_before), TimerKind::kJobWarn, job.id.value, job.attempt});
}

/// Ends a placed job: nodes are told to clean up, and the outcome is kept until they have.
void Controller::stop(Time now, Job& job, Outcome outcome) {
  if (stands_still(job)) {
    feed_.tell(sched::JobUnqueued{job.id});
    job.placed()->moves_to.reset();  // that was for going on, without its memory
  }
  if (job.state == JobState::kCompleting || !advance(job, JobEvent::kStop)) return;
  model::Placed& placed = *job.placed();
  placed.waiting_for.clear();
  // Only nodes that still hold a share are waited for: a dead one has nothing left to clean.
  for (const model::NodeShare& share : placed.allocation.shares)
    if (placements_.is_on(share.node, job.id)) placed.waiting_for.insert(share.node);
  placed.kill_sent = now;
  refuse_steps(job, outcome.detail.empty() ? std::string(model::long_name(outcome.end)) : outcome.detail);
  placed.outcome = std::move(outcome);
  expect_end(job, now + placed.outcome->grace.value_or(placed.contract.kill_wait), true);
  rows_.run(job);
  out_.job_event(now, job, "ending",
                 fmt::format("{}{}", model::long_name(placed.outcome->end),
                             placed.outcome->detail.empty() ? "" : ": " + placed.outcome->detail));
  const Outcome ending = *placed.outcome;
  const std::set<NodeId> nodes = placed.waiting_for;
  for (NodeId node : nodes) send_stop(job, node);
  if (nodes.empty()) finish(now, job);
  stop_siblings(now, job, ending);
}

void Controller::expect_end(const Job& job, Time when, bool is_leaving) {
  const auto& suspension = job.placed()->suspension;
  const JobId holder = suspension && suspension->holder ? suspension->holder : job.id;
  ledger_.expect_end(holder, when, is_leaving);
  for (const auto& [node, piece] : job.placed()->pieces)
    if (!piece.until) ledger_.expect_end(piece.id, when, is_leaving);
}

void Controller::on_prepare_failed(Time now, NodeId node, const wire::PrepareFailed& m) {
  Job* job = current_run(m.job(), m.attempt());
  if (job == nullptr || !placements_.is_on(node, job->id)) return;
  const std::string why = base::printable(m.detail(), 200);
  if (job->state == JobState::kRunning && piece_gone(now, *job, node, why)) {
    if (m.node_fault()) count_launch_fault(now, nodes_.at(node), job->id, why);
    return;
  }
  // A node says this of a run that it never reported prepared; of one that runs it is a late or repeated message, and
  // what the run holds is not free. If the run is gone there, the node says so by Done or when it registers.
  if (job->state != JobState::kConfiguring && job->state != JobState::kCompleting) {
    ++misfits_;
    return out_.note(fmt::format("node {} says that job {} could not start, which is {}: ignored", nodes_.name_of(node),
                                 job->id.value, model::long_name(job->state)),
                     true);
  }
  const std::string where = nodes_.name_of(node);
  if (job->state == JobState::kConfiguring) {
    Outcome outcome;
    outcome.end = m.node_fault() ? JobState::kNodeFail : JobState::kFailed;
    const bool known = m.reason() <= static_cast<uint32_t>(EndReason::kPrologFailed);
    outcome.reason = known ? static_cast<EndReason>(m.reason()) : EndReason::kLaunchFailed;
    outcome.detail = fmt::format("could not start on {}: {}", where, base::printable(m.detail(), 1000));
    outcome.exit.code = 1;
    outcome.requeue = m.node_fault();
    outcome.ended = now;
    if (m.node_fault()) blame(now, *job, {node}, why);
    stop(now, *job, std::move(outcome));
  }
  job = current_run(m.job(), m.attempt());
  if (job != nullptr) share_gone(now, *job, node);
}

void Controller::on_prepare_unsent(Time now, JobId id, uint32_t attempt, const std::string& why, bool is_final) {
  Job* job = current_run(id.value, attempt);
  if (job == nullptr || job->state != JobState::kConfiguring) return;
  Outcome outcome;
  outcome.end = is_final ? JobState::kFailed : JobState::kNodeFail;
  outcome.reason = EndReason::kLaunchFailed;
  outcome.detail = "could not be sent to its nodes: " + why;
  outcome.exit.code = 1;
  outcome.requeue = !is_final;
  outcome.ended = now;
  if (!is_final) ++job->launch_failures;
  stop(now, *job, std::move(outcome));
}

void Controller::on_batch_exited(Time now, NodeId node, const wire::BatchExited& m) {
  wire::ControllerToNode ack;
  ack.mutable_ack()->set_job(m.job());
  ack.mutable_ack()->set_attempt(m.attempt());
  ack.mutable_ack()->set_phase(wire::kRunEnding);
  Job* job = current_run(m.job(), m.attempt());
  if (job == nullptr || job->placed()->allocation.shares.front().node != node)
    return send_to_node(node, std::move(ack));
  Outcome outcome = outcome_of(m, nodes_.name_of(node), now);
  const bool lost_by_lease = outcome.reason == EndReason::kLeaseExpired;
  if (lost_by_lease) outcome.requeue = job->spec.requeue;
  if (job->state == JobState::kCompleting) {  // it was told to end: keep why, take over how
    Outcome& kept = *job->placed()->outcome;
    kept.exit = outcome.exit;
    kept.peak_mem_mb = outcome.peak_mem_mb;
    kept.ended = outcome.ended;
    take_exit_as_saved(*job, outcome);
    rows_.job(*job);
  } else {
    if (job->state == JobState::kConfiguring && outcome.reason == EndReason::kShepherdDied) {
      // The node lost what was to start it. One that goes by itself may have begun: again only if it may run twice.
      outcome.end = JobState::kNodeFail;
      outcome.requeue = !goes_alone(*job) || job->spec.requeue;
      blame(now, *job, {node}, outcome.detail);
    } else if (job->state == JobState::kConfiguring && goes_alone(*job)) {
      go(now, *job);  // its Started report was lost on the way
    } else if (job->state == JobState::kConfiguring) {
      // The gang has not started: what was prepared here is gone, and the others must not go.
      outcome.end = JobState::kNodeFail;
      outcome.requeue = true;
      if (!lost_by_lease) ++job->launch_failures;  // else it is no fault of the launch
    }
    stop(now, *job, std::move(outcome));
  }
  send_to_node(node, std::move(ack));
}

void Controller::on_done(Time now, NodeId node, const wire::Done& m) {
  wire::ControllerToNode ack;
  ack.mutable_ack()->set_job(m.job());
  ack.mutable_ack()->set_attempt(m.attempt());
  ack.mutable_ack()->set_phase(wire::kRunDone);
  Job* job = current_run(m.job(), m.attempt());
  // Not one that the gang does not have, nor of an earlier stay of one that has joined again.
  if (job != nullptr && placements_.is_on(node, job->id) && m.generation() == generation_on(*job, node)) {
    if (!m.problem().empty())
      out_.node_event(now, nodes_.at(node), "cleanup problem",
                      fmt::format("job {}: {}", m.job(), base::printable(m.problem(), 1000)));
    if (job->state == JobState::kCompleting) {
      Outcome& outcome = *job->placed()->outcome;
      if (m.peak_mem_mb() > outcome.peak_mem_mb) rows_.job_coalesced(*job);
      outcome.peak_mem_mb = std::max(outcome.peak_mem_mb, m.peak_mem_mb());
      share_gone(now, *job, node);
    } else {
      const std::string name = nodes_.name_of(node);
      if (m.lease_expired())
        node_lost_job(now, *job, node, lease_over_on(name, "the node was cut off for longer"),
                      EndReason::kLeaseExpired);
      else
        node_lost_job(now, *job, node, fmt::format("node {} ended it", name));
    }
  }
  send_to_node(node, std::move(ack));
}

/// A node has nothing of the job left: its share is free again.
void Controller::share_gone(Time now, Job& job, NodeId node) {
  steps_left(now, job.id, node);
  if (placements_.take(node, job.id)) {
    const JobId holder = holder_on(job, node);
    ledger_.release(holder, node);
    placements_.drop_holder(holder);
    discharge(now, job, node);
  }
  model::Placed* placed = job.placed();
  if (placed == nullptr) return;
  placed->unreachable.erase(node);
  if (job.state != JobState::kCompleting || placed->waiting_for.erase(node) == 0) return;
  if (placed->waiting_for.empty()) return finish(now, job);
  rows_.run_node(job, node);
}

/// The run is known to be over on one node, without having been told to end: the whole gang ends.
void Controller::node_lost_job(Time now, Job& job, NodeId node, const std::string& why, EndReason reason) {
  const JobId id = job.id;
  if (piece_gone(now, job, node, why)) return;
  if (job.state != JobState::kCompleting) {
    Outcome outcome;
    outcome.end = JobState::kNodeFail;
    outcome.reason = reason;
    outcome.detail = why;
    outcome.requeue = job.spec.requeue;
    outcome.ended = now;
    stop(now, job, std::move(outcome));
  }
  if (Job* still = jobs_.find(id); still != nullptr && still->placed() != nullptr) share_gone(now, *still, node);
}

void Controller::finish(Time now, Job& job) {
  drop_steps(job.id);
  rows_.run_over(job.id);
  Outcome outcome = *job.placed()->outcome;
  if (!outcome.ended) outcome.ended = now;
  count_preemption(now, job, outcome);
  if (outcome.requeue) return requeue(now, job);
  end(now, job, std::move(outcome));
}

void Controller::requeue(Time now, Job& job) {
  const Outcome outcome = *job.placed()->outcome;
  const bool had_started = static_cast<bool>(job.placed()->started);
  const Duration uncut = job.placed()->uncut_limit;
  if (!advance(job, JobEvent::kRequeue)) return;
  if (uncut.us != 0) job.spec.time_limit = uncut;
  model::Waiting waiting;
  waiting.claim = std::move(job.placed()->moves_to);
  job.phase = std::move(waiting);
  job.eligible = {};
  job.last_failure = outcome.detail;
  if (had_started)
    ++job.restarts;
  else if (!was_preempted(outcome))
    launch_failed(job, now);
  out_.job_event(now, job, "requeued", outcome.detail);
  consider(now, job);
  rows_.job(job);
  if (uncut.us != 0) rows_.job_and_spec(job);
}

void Controller::end(Time now, Job& job, Outcome outcome) {
  if (!advance(job, model::end_event(outcome.end))) return;
  model::Ended ended;
  if (const model::Placed* placed = job.placed()) {
    ended.allocation = placed->allocation;
    ended.partition = placed->partition;
    ended.started = placed->started;
    ended.stood_still = placed->stood_still;
    if (placed->suspension && placed->suspension->since)
      ended.stood_still = ended.stood_still + std::max(outcome.ended - placed->suspension->since, Duration{});
  }
  ended.ended = outcome.ended;
  ended.outcome = std::move(outcome);
  job.phase = std::move(ended);
  job_books_.end(job.id);
  timers_.set(
      {job.ended()->ended + settings_.retention.environments, TimerKind::kEnvironment, job.id.value, job.attempt});
  attendants_.erase(job.id);
  rows_.job(job);
  out_.job_event(now, job, "ended",
                 fmt::format("{} {}", model::long_name(job.state), job.ended()->outcome.exit.text()));
  timers_.cancel_job(job.id.value);
  timers_.set({job.ended()->ended + settings_.min_job_age, TimerKind::kJobPurge, job.id.value, job.attempt});
  answer_waiters(job);
}

void Controller::end_pending(Time now, Job& job, JobState state, Outcome outcome) {
  feed_.tell(sched::JobUnqueued{job.id});
  refuse_steps(job, std::string(model::long_name(state)));
  outcome.end = state;
  outcome.ended = now;
  end(now, job, std::move(outcome));
}

/// With `has_started` those alone who wait no longer than that.
void Controller::answer_waiters(const Job& job, bool has_started) {
  const auto range = waiters_.equal_range(job.id);
  for (auto it = range.first; it != range.second;) {
    if (has_started && !it->second.until_started) {
      ++it;
      continue;
    }
    wire::ApiReply out;
    *out.mutable_wait_job()->mutable_job() = job_to_wire(job);
    out.mutable_wait_job()->set_cluster(settings_.cluster);
    out_.reply(it->second.conn, it->second.request_id, std::move(out));
    it = waiters_.erase(it);
  }
}

}  // namespace gw::ctld
