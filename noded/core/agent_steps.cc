// The node agent: what happens to the runs: adoption, launch, reports of shepherds, their death, the end.
// Invariants: a run leaves the table only through forget(); its record goes with it.
#include "model/job_state.h"
#include "noded/core/agent.h"
#include "noded/core/step_spec.h"

namespace gw::noded {

namespace {

// A launch that was under way when the daemon died: the launcher needs so long at most to fork.
constexpr base::Duration kAdoptLimit = base::seconds(3);

uint32_t number(model::EndReason reason) { return static_cast<uint32_t>(reason); }

std::string death_of_shepherd(const Run& run, int code, int signo) {
  std::string how = run.stage == Stage::kAdopting ? " while the node daemon was away" : "";
  if (code != 0) how = ": exit code " + std::to_string(code);
  if (signo != 0) how = ": signal " + std::to_string(signo);
  const std::string whose = run.key.is_step() ? "step " + std::to_string(run.key.job) + "." + run.key.step_name()
                                              : "job " + std::to_string(run.key.job);
  return "shepherd of " + whose + " died" + how + "; its processes were killed";
}

}  // namespace

void NodeAgent::adopt(base::Time now, const RecoveredRun& found) {
  const RunKey key = RunKey::of(found.record);
  Run& run = runs_[key];
  run.key = key;
  run.record = found.record;
  recover_mark(found.record);
  run.grace_us = found.record.grace_us();
  run.done.set_job(key.job);
  run.done.set_attempt(key.attempt);
  run.done.set_step(key.step);
  run.done.set_generation(run.record.generation());
  run.was_prepared = true;  // whether the controller was told is not known: BatchExited is right in either case
  run.exit = found.exit;
  run.is_stale = found.record.boot_id() != config_.boot_id && !found.exit;
  if (run.is_stale) run.stop_asked = run.kill_now = true;
  say(Level::kInfo, "found run " + key.text() + " of " + (run.is_stale ? "an earlier boot" : "an earlier daemon"));
  if (found.shepherd_answers) {
    run.stage = Stage::kAdopting;
  } else if (!run.has_shepherd()) {
    adopt_share(now, run);
  } else if (!found.exit && !found.has_step_dir && !run.is_stale) {
    run.stage = Stage::kAdopting;
    run.deadline = now + kAdoptLimit;
  } else {
    run.stage = Stage::kAdopting;
    if (!run.exit && !run.is_stale) {
      run.exit.emplace().set_reason(number(model::EndReason::kShepherdDied));
      run.exit->set_detail(death_of_shepherd(run, 0, 0));
      run.exit->set_ended_us(now.us);
    }
    release(now, run);
  }
}

/// The daemon may have died between the record and the containment: then that is still to be set up, under the name
/// that it has here. A record of an earlier version does not say; setting it up again would fail if steps run in it.
void NodeAgent::adopt_share(base::Time now, Run& run) {
  run.stage = run.record.go() ? Stage::kStarted : Stage::kPrepared;
  if (run.is_stale) return release(now, run);
  if (!run.record.has_is_contained() || run.record.is_contained()) return;
  run.stage = Stage::kLaunching;
  run.record.mutable_containment()->set_group(job_group(config_.node, run.key));
  out_.emplace_back(PrepareShare{run.record});
}

Effects NodeAgent::on_user(base::Time now, RunKey key, const base::Result<UserInfo>& user) {
  Run* run = find(key);
  if (!run || run->stage != Stage::kLookup) return take();
  if (user) {
    launch(now, *run, *user);
  } else {
    // A user that does not exist is the job's problem; a user database that does not answer is the node's.
    const bool is_unknown = user.error().code == base::ErrorCode::kNotFound;
    fail_start(now, *run, is_unknown ? model::EndReason::kUnknownUser : model::EndReason::kLaunchFailed,
               user.error().text(), !is_unknown);
    finish(now, *run);
  }
  return take();
}

void NodeAgent::launch(base::Time now, Run& run, const UserInfo& user) {
  run.stage = Stage::kLaunching;
  wire::StepSpec spec = run.key.is_step() ? make_access_spec(config_.node, *run.start, user, now,
                                                             unclaimed_by_others(config_.node, runs_, run.key))
                                          : make_step_spec(config_.node, *run.prepare, user, now);
  if (run.key.is_step()) places_.knows(run.key, spec.access());
  *spec.mutable_containment() = run.record.containment();
  // By the run's own record: that of the job, and of all its steps, whatever an order says.
  spec.set_lease_us(run.record.lease_us());
  spec.set_lease_age_us((boot_now_ - last_contact_).us);
  spec.set_heard_boot_us(last_contact_.us);
  out_.emplace_back(LaunchShepherd{run.record, std::move(spec)});
  run.prepare.reset();  // the script may be large
  run.start.reset();
}

Effects NodeAgent::on_launch_failed(base::Time now, RunKey key, const std::string& why) {
  Run* run = find(key);
  if (run && run->has_shepherd() && (run->stage == Stage::kLaunching || run->stage == Stage::kAdopting))
    fail_and_release(now, *run, why);
  return take();
}

void NodeAgent::fail_start(base::Time now, Run& run, model::EndReason reason, const std::string& detail,
                           bool node_fault) {
  say(node_fault ? Level::kError : Level::kInfo, "run " + run.key.text() + " cannot start: " + detail);
  run.exit.emplace().set_reason(number(reason));
  run.exit->set_detail(detail);
  run.exit->set_never_started(true);
  run.exit->set_node_fault(node_fault);
  run.exit->set_ended_us(now.us);
}

void NodeAgent::fail_and_release(base::Time now, Run& run, const std::string& why) {
  fail_start(now, run, model::EndReason::kLaunchFailed, why, true);
  release(now, run);
}

Effects NodeAgent::on_share_prepared(base::Time now, RunKey key, const base::Status& status) {
  Run* run = find(key);
  if (!run || run->has_shepherd() || run->stage != Stage::kLaunching) return take();
  if (run->stop_asked) {
    release(now, *run);
  } else if (!status) {
    fail_and_release(now, *run, status.error().text());
  } else {
    run->record.set_is_contained(true);
    if (run->record.go()) out_.emplace_back(PersistRun{run->record});  // else that is written with the go
    on_ready(now, *run);
  }
  return take();
}

Effects NodeAgent::on_shepherd_connected(base::Time now, RunKey key) {
  Run* run = find(key);
  if (!run) return take();
  run->is_connected = true;
  run->deadline = base::Time::never();
  if (run->stage == Stage::kAdopting) run->stage = Stage::kLaunching;
  if (key.is_step()) places_.changed(now, key.own());
  // It says by itself where it stands. What was sent over a link that broke may be lost.
  if (run->stop_asked) {
    send_stop(*run);
  } else if (run->stage == Stage::kStarting && run->go_asked) {
    go(*run);
  } else if (run->exit && run->is_live()) {
    clean_up_after_exit(now, *run);
  } else if (run->suspend || run->resume_round != 0) {
    send_pace(*run);
  }
  tell_places(now);
  return take();
}

Effects NodeAgent::on_shepherd_lost(base::Time, RunKey key) {
  if (Run* run = find(key)) run->is_connected = false;
  places_.doubt(key);
  return take();
}

Effects NodeAgent::on_shepherd(base::Time now, RunKey key, const wire::FromShepherd& message) {
  Run* run = find(key);
  if (!run || !run->has_shepherd() || run->is_winding_up() || !run->is_live()) return take();
  if (message.has_ready() && key.is_step()) on_step_ready(now, *run, message.ready());
  if (message.has_ready() && !key.is_step()) on_ready(now, *run);
  if (message.has_started()) on_step_started(now, *run, message.started());
  if (message.has_exit()) on_step_exit(now, *run, message.exit());
  if (message.has_clean()) on_clean(now, *run, message.clean());
  if (message.has_suspended()) on_stands(now, *run, message.suspended());
  if (message.has_used()) on_used(key, message.used());
  return take();
}

void NodeAgent::on_ready(base::Time now, Run& run) {
  if (run.stage != Stage::kLaunching && run.stage != Stage::kAdopting) return;
  run.stage = Stage::kPrepared;
  if (run.stop_asked || run.exit) return;
  if (run.go_asked) return go(run);
  if (!run.record.go()) {
    run.was_prepared = true;
    report_prepared(now, run);
  } else if (run.has_shepherd()) {
    run.stage = Stage::kStarting;  // the shepherd goes by itself
  } else {
    run.stage = Stage::kStarted;
    run.started_at_us = now.us;
    report_started(now, run);
  }
}

void NodeAgent::on_step_ready(base::Time now, Run& run, const wire::StepReady& message) {
  run.address = message.address();
  run.access_key = message.key();
  on_ready(now, run);
  if (Run* job = find(run.key.own())) check_stands(now, *job);  // its tasks have not begun
}

void NodeAgent::on_step_started(base::Time now, Run& run, const wire::StepStarted& message) {
  if (run.stage == Stage::kStarted || run.exit) return;
  run.stage = Stage::kStarted;
  run.was_prepared = true;
  run.started_at_us = message.at_us();
  report_started(now, run);
}

void NodeAgent::on_step_exit(base::Time now, Run& run, const wire::StepExit& message) {
  if (run.exit) return;
  run.exit = message;
  name_lease(run, *run.exit);
  if (message.never_started()) say(Level::kWarn, "run " + run.key.text() + " could not start: " + message.detail());
  if (message.reason() == number(model::EndReason::kLeaseExpired)) run.done.set_lease_expired(true);
  report_exit(now, run);
  clean_up_after_exit(now, run);
}

/// A shepherd of an earlier version does not know that it was the lease for which it was told to kill.
void NodeAgent::name_lease(const Run& run, wire::StepExit& exit) const {
  const bool was_killed = exit.reason() == 0 && (exit.signo() != 0 || exit.code() != 0);
  if (!run.done.lease_expired() || !was_killed) return;
  exit.set_reason(number(model::EndReason::kLeaseExpired));
  exit.set_detail("the node heard nothing from the controller for " +
                  std::to_string(run.record.lease_us() / 1'000'000) + " s");
}

void NodeAgent::clean_up_after_exit(base::Time now, Run& run) {
  // A step, and a gang of one node, need no word from the controller to end what was left.
  if (run.stop_asked || !(run.key.is_step() || run.record.alone() || run.fails_prepare())) return;
  run.kill_now = run.fails_prepare();
  stop_steps(now, run.key, run.grace_us, run.kill_now);
  send_stop(run);
}

void NodeAgent::on_clean(base::Time now, Run& run, const wire::StepClean& message) {
  run.done.set_peak_mem_mb(message.peak_mem_mb());
  run.done.set_oom(message.oom());
  run.done.set_problem(message.problem());
  finish(now, run);
}

Effects NodeAgent::on_shepherd_gone(base::Time now, RunKey key, int code, int signo,
                                    const std::optional<wire::StepExit>& exit) {
  if (Run* run = find(key)) lose_shepherd(now, *run, code, signo, exit);
  return take();
}

void NodeAgent::lose_shepherd(base::Time now, Run& run, int code, int signo,
                              const std::optional<wire::StepExit>& exit) {
  run.is_connected = false;
  if (!run.has_shepherd() || !run.is_live() || run.is_winding_up() || run.stage == Stage::kLookup) return;
  if (!run.exit && exit) name_lease(run, run.exit.emplace(*exit));
  if (!run.exit) {
    run.exit.emplace().set_reason(number(model::EndReason::kShepherdDied));
    run.exit->set_detail(death_of_shepherd(run, code, signo));
    run.exit->set_ended_us(now.us);
    run.exit->set_never_started(run.stage == Stage::kLaunching && !run.record.go());
    run.exit->set_node_fault(true);
    say(Level::kError, run.exit->detail());
  }
  if (!run.is_stale) report_exit(now, run);
  release(now, run);
}

/// The group must be there as long as steps lie in it.
void NodeAgent::release(base::Time now, Run& run) {
  if (!must_await_steps(now, run, true)) release_share(run);
}

void NodeAgent::release_share(Run& run) {
  run.stage = Stage::kReleasing;
  run.deadline = base::Time::never();
  out_.emplace_back(ReleaseShare{run.key, run.record.containment()});
}

Effects NodeAgent::on_share_released(base::Time now, RunKey key, const std::string& problem) {
  Run* run = find(key);
  if (!run || run->stage != Stage::kReleasing) return take();
  if (!problem.empty()) run->done.set_problem(problem);
  if (run->exit) {
    run->done.set_peak_mem_mb(run->exit->peak_mem_mb());
    run->done.set_oom(run->exit->oom());
  }
  finish(now, *run);
  return take();
}

void NodeAgent::finish(base::Time now, Run& run) {
  const RunKey key = run.key;
  if (must_await_steps(now, run, false)) return;
  close(now, run);
  if (key.is_step()) step_is_over(now, key);
  if (has_live_run(key.job)) return;
  for (auto it = runs_.lower_bound({key.job, 0, 0}); it != runs_.end() && it->first.job == key.job; ++it)
    if (it->second.stage == Stage::kQueued) return begin(now, it->second);
}

/// Every process of it is gone: says so.
void NodeAgent::close(base::Time now, Run& run) {
  const RunKey key = run.key;
  if (run.is_stale) {
    forget(now, key, std::nullopt);
    connect_once_clean(now);
    return;
  }
  if (run.fails_prepare()) {
    wire::PrepareFailed failure;
    failure.set_job(key.job);
    failure.set_attempt(key.attempt);
    failure.set_step(key.step);
    failure.set_reason(run.exit->reason());
    failure.set_detail(run.exit->detail());
    failure.set_node_fault(run.exit->node_fault());
    send_failure(now, failure);
    forget(now, key, failure);
  } else {
    run.stage = Stage::kClean;
    run.deadline = base::Time::never();
    run.prepare.reset();
    run.start.reset();
    report_done(now, run);
  }
}

void NodeAgent::report(base::Time now, Run& run) {
  run.exit_link = 0;
  if (run.stage == Stage::kClean) return report_done(now, run);
  report_exit(now, run);
}

void NodeAgent::report_done(base::Time now, Run& run) {
  // The exit comes before Done; what went over this link arrives, or the link breaks.
  if (run.exit_link != link_number_) report_exit(now, run);
  run.reported = now;
  wire::NodeToController message;
  *message.mutable_done() = run.done;
  send(now, std::move(message));
}

void NodeAgent::report_exit(base::Time now, Run& run) {
  if (!run.exit || run.exit_acked || run.fails_prepare()) return;
  // A start that the controller called off is answered by Done alone.
  if (run.exit->never_started() && run.stop_asked) return;
  run.reported = now;
  if (link_ == Link::kRegistered) run.exit_link = link_number_;
  wire::NodeToController message;
  wire::BatchExited& b = *message.mutable_batch_exited();
  b.set_job(run.key.job);
  b.set_attempt(run.key.attempt);
  b.set_step(run.key.step);
  b.set_exit_code(run.exit->code());
  b.set_exit_signo(run.exit->signo());
  b.set_oom(run.exit->oom());
  b.set_peak_mem_mb(run.exit->peak_mem_mb());
  b.set_limit_mem_mb(run.exit->limit_mem_mb());
  b.set_reason(run.exit->reason());
  b.set_detail(run.exit->detail());
  b.set_ended_us(run.exit->ended_us());
  send(now, std::move(message));
}

void NodeAgent::report_prepared(base::Time now, const Run& run) {
  const bool is_ready = run.stage == Stage::kPrepared || run.stage == Stage::kStarted;
  if (run.key.is_step() && (!is_ready || run.address.empty())) return;
  wire::NodeToController message;
  message.mutable_prepared()->set_job(run.key.job);
  message.mutable_prepared()->set_attempt(run.key.attempt);
  message.mutable_prepared()->set_step(run.key.step);
  message.mutable_prepared()->set_address(run.address);
  message.mutable_prepared()->set_key(run.access_key);
  send(now, std::move(message));
}

void NodeAgent::report_started(base::Time now, const Run& run) {
  // A script has a start, and an allocation without one that goes as soon as it is held. Steps have none.
  if (run.key.is_step() || !(run.has_shepherd() || run.record.alone())) return;
  wire::NodeToController message;
  message.mutable_started()->set_job(run.key.job);
  message.mutable_started()->set_attempt(run.key.attempt);
  message.mutable_started()->set_at_us(run.started_at_us);
  send(now, std::move(message));
}

void NodeAgent::send_failure(base::Time now, const wire::PrepareFailed& failure) {
  wire::NodeToController message;
  *message.mutable_prepare_failed() = failure;
  send(now, std::move(message));
}

void NodeAgent::forget(base::Time, RunKey key, std::optional<wire::PrepareFailed> failure) {
  uint32_t generation = 0;
  std::string root;
  if (const Run* run = find(key)) {
    generation = run->record.generation();
    root = run->record.placed_in().root();
    wire::ToShepherd message;
    message.mutable_forget();
    to_shepherd(*run, std::move(message));
  }
  out_.emplace_back(ForgetRun{key});
  runs_.erase(key);
  places_.forget(key);
  bury(key, generation, std::move(failure), std::move(root));
}

void NodeAgent::bury(RunKey key, uint32_t generation, std::optional<wire::PrepareFailed> failure, std::string root) {
  Tombstone stone{key.attempt, generation, std::move(failure), std::move(root)};
  if (key.is_step()) return step_graves_.bury(key, std::move(stone));
  job_graves_.bury(key.job, std::move(stone));
}

const Tombstone* NodeAgent::tombstone(RunKey key) const {
  const Tombstone* grave = key.is_step() ? step_graves_.find(key) : job_graves_.find(key.job);
  // One of another state says nothing of a run that has its number.
  const bool is_other = grave != nullptr && !grave->root.empty() && grave->root != seen_.root();
  return is_other ? nullptr : grave;
}

}  // namespace gw::noded
