// See shepherds.h.
#include "noded/core/shepherds.h"

#include <utility>

#include "model/job_state.h"
#include "noded/core/leases.h"
#include "noded/core/places.h"
#include "noded/core/programs.h"
#include "noded/core/reports.h"
#include "noded/core/run_end.h"
#include "noded/core/run_start.h"
#include "noded/core/suspension.h"
#include "noded/core/usage.h"

namespace gw::noded {

namespace {

void on_ready(Core& core, Run& run) {
  if (run.stage != Stage::kLaunching && run.stage != Stage::kAdopting) return;
  run.stage = Stage::kPrepared;
  if (run.stop.is_asked || run.exit) return;
  if (run.go_asked) return go(core, run);
  if (!run.record.go()) {
    run.was_prepared = true;
    report_prepared(core, run);
  } else if (run.has_shepherd()) {
    run.stage = Stage::kStarting;  // the shepherd goes by itself
  } else {
    run.stage = Stage::kStarted;
    run.started_at_us = core.now.us;
    report_started(core, run);
  }
}

void on_step_ready(Core& core, Run& step, const wire::StepReady& message) {
  step.access = {message.address(), message.key()};
  on_ready(core, step);
  if (Run* job = core.runs.find(step.key.own())) check_suspended(core, *job);  // its tasks have not begun
}

void on_step_started(Core& core, Run& run, const wire::StepStarted& message) {
  if (run.stage == Stage::kStarted || run.exit) return;
  run.stage = Stage::kStarted;
  run.was_prepared = true;
  run.started_at_us = message.at_us();
  report_started(core, run);
}

void clean_up_after_exit(Core& core, Run& run) {
  // A step, and a gang of one node, need no word from the controller to end what was left.
  if (run.stop.is_asked || !(run.key.is_step() || run.record.alone() || run.fails_prepare())) return;
  run.stop.kill_now = run.fails_prepare();
  stop_steps(core, run.key, run.stop.grace_us, run.stop.kill_now);
  send_stop(core, run);
}

void on_step_exit(Core& core, Run& run, const wire::StepExit& message) {
  if (run.exit) return;
  run.exit = message;
  name_lease(run, *run.exit);
  if (message.never_started())
    core.out.say(Level::kWarn, "run " + run.key.text() + " could not start: " + message.detail());
  const bool is_for_lease = message.reason() == static_cast<uint32_t>(model::EndReason::kLeaseExpired);
  if (is_for_lease) run.done.set_lease_expired(true);
  report_exit(core, run);
  clean_up_after_exit(core, run);
}

void on_clean(Core& core, Run& run, const wire::StepClean& message) {
  run.done.set_peak_mem_mb(message.peak_mem_mb());
  run.done.set_oom(message.oom());
  run.done.set_problem(message.problem());
  *run.done.mutable_use() = message.use();
  finish(core, run);
}

/// Another daemon need not run it once more.
void end_epilog(Core& core, Run& run) {
  core.out.add(PersistRun{run.record});
  finish(core, run);
}

}  // namespace

void on_user(Core& core, RunKey key, const base::Result<UserInfo>& user) {
  Run* run = core.runs.find(key);
  if (!run || run->stage != Stage::kLookup) return;
  if (user) return admit(core, *run, *user);
  // A user that does not exist is the job's problem; a user database that does not answer is the node's.
  const bool is_unknown = user.error().code == base::ErrorCode::kNotFound;
  fail_start(core, *run, is_unknown ? model::EndReason::kUnknownUser : model::EndReason::kLaunchFailed,
             user.error().text(), !is_unknown);
  finish(core, *run);
}

void on_program_ended(Core& core, RunKey key, NodeProgram which, const base::Status& status) {
  Run* run = core.runs.find(key);
  if (!run || run->stage != (which == NodeProgram::kProlog ? Stage::kProlog : Stage::kEpilog)) return;
  const std::string why = status ? std::string() : std::string(name(which)) + " failed: " + status.error().text();
  if (!status) tell_unfit(core, *run, which, why);
  if (which == NodeProgram::kEpilog) return end_epilog(core, *run);
  run->record.clear_in_prolog();
  const UserInfo user = *std::exchange(run->user, std::nullopt);
  if (status && !run->stop.is_asked) return launch(core, *run, user);
  if (!status) fail_start(core, *run, model::EndReason::kPrologFailed, why, true);
  finish(core, *run);
}

void on_launch_failed(Core& core, RunKey key, const std::string& why) {
  Run* run = core.runs.find(key);
  if (run && run->stage == Stage::kProlog) {  // it has not begun
    run->record.clear_program_env();
    fail_start(core, *run, model::EndReason::kLaunchFailed, why, true);
    return finish(core, *run);
  }
  if (run && run->has_shepherd() && (run->stage == Stage::kLaunching || run->stage == Stage::kAdopting))
    fail_and_release(core, *run, why);
}

void on_share_prepared(Core& core, RunKey key, const base::Status& status) {
  Run* run = core.runs.find(key);
  if (!run || run->has_shepherd() || run->stage != Stage::kLaunching) return;
  if (run->stop.is_asked) return release(core, *run);
  if (!status) return fail_and_release(core, *run, status.error().text());
  run->record.set_is_contained(true);
  if (run->record.go()) core.out.add(PersistRun{run->record});  // else that is written with the go
  on_ready(core, *run);
}

void on_share_released(Core& core, RunKey key, const std::string& problem) {
  Run* run = core.runs.find(key);
  if (!run || run->stage != Stage::kReleasing) return;
  if (!problem.empty()) run->done.set_problem(problem);
  if (run->exit) {
    run->done.set_peak_mem_mb(run->exit->peak_mem_mb());
    run->done.set_oom(run->exit->oom());
  }
  finish(core, *run);
}

void on_shepherd_connected(Core& core, RunKey key) {
  Run* run = core.runs.find(key);
  if (!run) return;
  run->is_connected = true;
  run->deadline = base::Time::never();
  if (run->stage == Stage::kAdopting) run->stage = Stage::kLaunching;
  if (key.is_step()) core.places.changed(core.now, key.own());
  // It says by itself where it stands. What was sent over a link that broke may be lost.
  if (run->stop.is_asked) {
    send_stop(core, *run);
  } else if (run->stage == Stage::kStarting && run->go_asked) {
    go(core, *run);
  } else if (run->exit && run->is_live()) {
    clean_up_after_exit(core, *run);
  } else if (run->suspension.order || run->suspension.resume_round != 0) {
    repeat_suspension(core, *run);
  }
  tell_places(core);
}

void on_shepherd_lost(Core& core, RunKey key) {
  if (Run* run = core.runs.find(key)) run->is_connected = false;
  core.places.doubt(key);
}

void on_shepherd(Core& core, RunKey key, const wire::FromShepherd& message) {
  Run* run = core.runs.find(key);
  if (!run || !run->has_shepherd() || run->is_winding_up() || !run->is_live()) return;
  if (message.has_ready() && key.is_step()) on_step_ready(core, *run, message.ready());
  if (message.has_ready() && !key.is_step()) on_ready(core, *run);
  if (message.has_started()) on_step_started(core, *run, message.started());
  if (message.has_exit()) on_step_exit(core, *run, message.exit());
  if (message.has_clean()) on_clean(core, *run, message.clean());
  if (message.has_suspended()) on_suspended(core, *run, message.suspended());
  if (message.has_used()) on_used(core, key, message.used());
}

void on_shepherd_gone(Core& core, RunKey key, const ShepherdDeath& death) {
  if (Run* run = core.runs.find(key)) lose_shepherd(core, *run, death);
}

std::string death_text(const Run& run, const ShepherdDeath& death) {
  std::string how = run.stage == Stage::kAdopting ? " while the node daemon was away" : "";
  if (death.code != 0) how = ": exit code " + std::to_string(death.code);
  if (death.signo != 0) how = ": signal " + std::to_string(death.signo);
  const std::string whose = run.key.is_step() ? "step " + std::to_string(run.key.job) + "." + run.key.step_name()
                                              : "job " + std::to_string(run.key.job);
  return "shepherd of " + whose + " died" + how + "; its processes were killed";
}

void lose_shepherd(Core& core, Run& run, const ShepherdDeath& death) {
  run.is_connected = false;
  if (!run.has_shepherd() || !run.is_live() || run.is_winding_up() || run.stage == Stage::kLookup ||
      run.stage == Stage::kProlog)
    return;
  if (!run.exit && death.exit) name_lease(run, run.exit.emplace(*death.exit));
  if (!run.exit) {
    run.exit.emplace().set_reason(static_cast<uint32_t>(model::EndReason::kShepherdDied));
    run.exit->set_detail(death_text(run, death));
    run.exit->set_ended_us(core.now.us);
    run.exit->set_never_started(run.stage == Stage::kLaunching && !run.record.go());
    run.exit->set_node_fault(true);
    core.out.say(Level::kError, run.exit->detail());
  }
  if (!run.is_stale) report_exit(core, run);
  release(core, run);
}

}  // namespace gw::noded
