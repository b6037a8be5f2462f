// See orders.h.
#include "noded/core/orders.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/hostlist.h"
#include "noded/core/link.h"
#include "noded/core/node_allocation.h"
#include "noded/core/reports.h"
#include "noded/core/run_end.h"
#include "noded/core/run_start.h"

namespace gw::noded {

namespace {

// How long a new run waits for the end of an earlier one of its job.
constexpr base::Duration kReplaceLimit = base::seconds(30);

wire::RunRecord make_record(const AgentConfig& config, const wire::Prepare& p) {
  wire::RunRecord record;
  record.set_version(1);
  record.set_job(p.job());
  record.set_attempt(p.attempt());
  record.set_has_script(runs_script(p));
  record.set_boot_id(config.boot_id);
  record.set_lease_us(p.lease_us());
  record.set_grace_us(p.grace_us());
  record.set_alone(p.gang().node_count() == 1 && p.spec().het_job() == 0 && !p.spec().request().elastic());
  record.set_go(p.go());
  record.set_generation(p.generation());
  record.set_is_contained(false);
  record.set_gpus(p.share().gpus());
  if (p.has_placed_in()) *record.mutable_placed_in() = p.placed_in();
  if (p.gang().node_id() != 0)
    if (const auto nodes = base::expand_hostlist(p.gang().nodes()); nodes && !nodes->empty())
      record.set_first_node(nodes->front());
  return record;
}

std::optional<wire::Resize> first_hosts(const wire::Prepare& p) {
  if (!p.spec().request().elastic()) return std::nullopt;
  const auto nodes = base::expand_hostlist(p.gang().nodes());
  if (!nodes) return std::nullopt;
  wire::Resize out;
  out.set_job(p.job());
  out.set_attempt(p.attempt());
  out.set_uid(p.spec().uid());
  out.set_gid(p.spec().gid());
  for (const std::string& node : *nodes) out.add_nodes(node);
  return out;
}

/// A run of another state of the controller has the job's number: it is not touched.
const Run* foreign_run(const Core& core, const wire::Prepare& message) {
  const std::string& root = message.placed_in().root();
  if (root.empty()) return nullptr;
  for (const auto& [key, run] : core.runs.all()) {
    const std::string& other = run.record.placed_in().root();
    if (key.job == message.job() && !other.empty() && other != root) return &run;
  }
  return nullptr;
}

void give_go(Core& core, Run& run, int64_t started_us) {
  if (run.stop.is_asked || run.is_winding_up()) return;
  if (run.started_at_us == 0) run.started_at_us = started_us;
  const bool is_new = !run.record.go();
  run.record.set_go(true);
  run.go_asked = true;
  if (run.stage == Stage::kStarted) return repeat_prepare(core, run);
  if (run.stage != Stage::kPrepared) return;  // goes as soon as it is prepared
  go(core, run);
  if (is_new && !run.has_shepherd()) core.out.add(PersistRun{run.record});
}

/// The run waits until what is left of earlier ones is gone.
void enter(Core& core, const wire::Prepare& message) {
  Run& run = core.runs.add(make_record(core.config, message));
  run.prepare = std::make_shared<const wire::Prepare>(message);
  run.hosts = first_hosts(message);
  run.deadline = core.now + kReplaceLimit;
  if (!core.runs.has_live_run(run.key.job) && !begin(core, run)) finish(core, run);
}

}  // namespace

void on_prepare(Core& core, const wire::Prepare& message) {
  const RunKey key{message.job(), message.attempt(), 0};
  if (const Run* foreign = foreign_run(core, message)) {
    const std::string why = "run " + foreign->key.text() + " of another state of the controller is here";
    return send_failure(core, make_refusal(key, why, true));
  }
  if (Run* run = core.runs.find(key)) {
    if (message.go() && run->stage == Stage::kPrepared) return give_go(core, *run, message.started_us());
    return repeat_prepare(core, *run);
  }
  const Tombstone* grave = core.graves.find(key, core.known_state.root());
  if (grave != nullptr && grave->age() >= std::pair(key.attempt, message.generation()))
    return repeat_failure(core, *grave, key);
  for (const RunKey& other : core.runs.keys()) {
    if (other.job != key.job) continue;
    if (other.attempt > key.attempt) return;  // late: the controller has moved on
    if (Run* run = core.runs.find(other); run && run->stage != Stage::kClean) stop(core, *run, 0, true);
  }
  enter(core, message);
}

void on_go(Core& core, const wire::Go& message) {
  if (Run* run = core.runs.find({message.job(), message.attempt(), 0})) give_go(core, *run, message.started_us());
}

void on_stop(Core& core, const wire::Stop& message) {
  const RunKey key = RunKey::of(message);
  if (Run* run = core.runs.find(key)) {
    run->stop.cause = message.cause();
    for (const RunKey& step : core.runs.live_steps(key)) core.runs.find(step)->stop.cause = message.cause();
    if (message.signo() != 0 || message.preempted_for() != 0) {
      run->stop.word = message;
      for (const RunKey& step : core.runs.live_steps(key)) core.runs.find(step)->stop.word = message;
    }
    return stop(core, *run, message.grace_us(), message.kill_now());
  }
  // Nothing of it is here: that is what the controller wants to know. A Prepare that comes after it must not start it.
  core.graves.bury(key, message.generation(), std::nullopt);
  wire::NodeToController answer;
  answer.mutable_done()->set_job(key.job);
  answer.mutable_done()->set_attempt(key.attempt);
  answer.mutable_done()->set_step(key.step);
  answer.mutable_done()->set_generation(message.generation());
  send(core, std::move(answer));
}

void on_signal(Core& core, const wire::Signal& message) {
  const RunKey key = RunKey::of(message);
  wire::ToShepherd signal;
  signal.mutable_signal()->set_signo(message.signo());
  signal.mutable_signal()->set_batch_only(message.batch_only());
  if (const Run* run = core.runs.find(key); run != nullptr && run->has_shepherd()) core.out.tell_shepherd(*run, signal);
  if (message.batch_only()) return;
  for (const RunKey& step : core.runs.live_steps(key)) core.out.tell_shepherd(*core.runs.find(step), signal);
}

void on_notice(Core& core, const wire::Notice& message) {
  const Run* run = core.runs.find(RunKey::of(message));
  if (run == nullptr || !run->has_shepherd()) return;
  wire::ToShepherd notice;
  notice.mutable_notice()->set_text(message.text());
  core.out.tell_shepherd(*run, notice);
}

void on_resize(Core& core, const wire::Resize& message) {
  const Run* run = core.runs.find({message.job(), message.attempt(), 0});
  if (run == nullptr || !run->has_shepherd() || run->stop.is_asked || run->exit) return;
  core.out.add(KeepHosts{message, false});
}

void on_ack(Core& core, const wire::Ack& message) {
  const RunKey key = RunKey::of(message);
  Run* run = core.runs.find(key);
  if (!run) return;
  if (message.phase() == wire::kRunEnding && run->exit) run->reports.is_exit_acked = true;
  if (message.phase() == wire::kRunDone && run->stage == Stage::kClean) forget(core, key, std::nullopt);
}

}  // namespace gw::noded
