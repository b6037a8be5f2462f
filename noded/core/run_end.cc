// See run_end.h.
#include "noded/core/run_end.h"

#include <utility>
#include <vector>

#include "noded/core/gpu_watch.h"
#include "noded/core/link.h"
#include "noded/core/places.h"
#include "noded/core/programs.h"
#include "noded/core/reports.h"
#include "noded/core/run_start.h"
#include "noded/core/suspension.h"

namespace gw::noded {

namespace {

void release_share(Core& core, Run& run) {
  run.stage = Stage::kReleasing;
  run.deadline = base::Time::never();
  core.out.add(ReleaseShare{run.key, run.record.containment()});
}

/// True: steps of it are still there; it continues in step_is_over(), maybe before this returns. Steps that nobody has
/// told to end are killed.
bool must_await_steps(Core& core, Run& run, bool must_release) {
  const std::vector<RunKey> steps = core.runs.live_steps(run.key);
  if (steps.empty()) return false;
  run.stage = Stage::kAwaiting;
  run.deadline = base::Time::never();
  run.must_release = must_release;
  for (const RunKey& key : steps)
    if (Run* step = core.runs.find(key); step != nullptr && !step->stop.is_asked) stop(core, *step, 0, true);
  return true;
}

void step_is_over(Core& core, RunKey step) {
  Run* job = core.runs.find(step.own());
  if (job == nullptr) return;
  places_changed(core, job->key);
  if (job->stage != Stage::kAwaiting) return check_suspended(core, *job);
  if (!core.runs.live_steps(job->key).empty()) return;
  if (job->must_release) return release_share(core, *job);
  finish(core, *job);
}

/// Says that every process is gone.
void close(Core& core, Run& run) {
  const RunKey key = run.key;
  if (run.is_stale) {
    forget(core, key, std::nullopt);
    connect_once_clean(core);
  } else if (run.fails_prepare()) {
    const auto failure = make_failure(key, run.exit->reason(), run.exit->detail(), run.exit->node_fault());
    send_failure(core, failure);
    forget(core, key, failure);
  } else {
    run.stage = Stage::kClean;
    run.deadline = base::Time::never();
    run.prepare.reset();
    run.start.reset();
    tell_gpu_use(run);
    report_done(core, run);
  }
}

}  // namespace

void stop(Core& core, Run& run, int64_t grace_us, bool kill_now) {
  if (run.stage == Stage::kClean) return repeat_end(core, run);
  const bool is_repeat = run.stop.is_asked && (run.stop.kill_now || !kill_now) && run.stop.grace_us == grace_us;
  run.stop.is_asked = true;
  run.stop.kill_now = run.stop.kill_now || kill_now;
  run.stop.grace_us = grace_us;
  if (run.stage == Stage::kQueued || run.stage == Stage::kLookup) return finish(core, run);  // nothing exists yet
  if (run.stage == Stage::kProlog || run.stage == Stage::kEpilog) return;                    // continues when that ends
  if (run.stage == Stage::kAwaiting) return stop_steps(core, run.key, grace_us, kill_now);   // which may end it
  stop_steps(core, run.key, grace_us, kill_now);
  if (run.stage == Stage::kReleasing || is_repeat) return;
  if (run.has_shepherd()) return send_stop(core, run);
  if (run.stage != Stage::kLaunching) release(core, run);  // while being contained: released when that is done
}

void stop_steps(Core& core, RunKey job, int64_t grace_us, bool kill_now) {
  for (const RunKey& key : core.runs.live_steps(job))
    if (Run* step = core.runs.find(key)) stop(core, *step, grace_us, kill_now);
}

void send_stop(Core& core, Run& run) {
  if (run.stop.word && run.is_connected && !run.stop.kill_now) core.out.add(KeepOrder{run.key, *run.stop.word});
  wire::ToShepherd message;
  message.mutable_stop()->set_grace_us(run.stop.grace_us);
  message.mutable_stop()->set_kill_now(run.stop.kill_now);
  message.mutable_stop()->set_lease_over(run.done.lease_expired());
  message.mutable_stop()->set_cause(run.stop.cause);
  core.out.tell_shepherd(run, std::move(message));
}

void release(Core& core, Run& run) {
  if (!must_await_steps(core, run, true)) release_share(core, run);
}

void fail_and_release(Core& core, Run& run, const std::string& why) {
  fail_start(core, run, model::EndReason::kLaunchFailed, why, true);
  release(core, run);
}

void finish(Core& core, Run& run) {
  const RunKey key = run.key;
  if (must_await_steps(core, run, false) || begin_epilog(core, run)) return;
  close(core, run);
  if (key.is_step()) step_is_over(core, key);
  if (core.runs.has_live_run(key.job)) return;
  if (Run* next = core.runs.queued(key.job); next != nullptr && !begin(core, *next)) finish(core, *next);
}

void forget(Core& core, RunKey key, std::optional<wire::PrepareFailed> failure) {
  uint32_t generation = 0;
  std::string root;
  if (const Run* run = core.runs.find(key)) {
    generation = run->record.generation();
    root = run->record.placed_in().root();
    wire::ToShepherd message;
    message.mutable_forget();
    core.out.tell_shepherd(*run, std::move(message));
  }
  core.out.add(ForgetRun{key});
  core.runs.remove(key);
  core.places.forget(key);
  core.graves.bury(key, generation, std::move(failure), std::move(root));
}

}  // namespace gw::noded
