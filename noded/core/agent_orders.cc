// The node agent: what the controller orders.
// Invariants: an order may come twice, late, or for a run that is not here; each case has an answer that changes
// nothing.
#include "base/hostlist.h"
#include "noded/core/agent.h"
#include "noded/core/step_spec.h"

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

}  // namespace

void NodeAgent::on_prepare(base::Time now, const wire::Prepare& message) {
  const RunKey key{message.job(), message.attempt(), 0};
  if (refuse_beside_foreign(now, message)) return;
  if (Run* run = find(key)) {
    if (message.go() && run->stage == Stage::kPrepared) return give_go(now, *run, message.started_us());
    return repeat_prepare(now, *run);
  }
  const Tombstone* grave = tombstone(key);
  if (grave != nullptr && grave->age() >= std::pair(key.attempt, message.generation())) {
    if (grave->attempt == key.attempt && grave->failure) send_failure(now, *grave->failure);
    return;
  }
  for (const RunKey& other : keys()) {
    if (other.job != key.job) continue;
    if (other.attempt > key.attempt) return;  // late: the controller has moved on
    if (Run* run = find(other); run && run->stage != Stage::kClean) stop(now, *run, 0, true);
  }
  Run& run = runs_[key];
  run.key = key;
  run.prepare = std::make_shared<const wire::Prepare>(message);
  run.hosts = first_hosts(message);
  run.record = make_record(config_, message);
  run.grace_us = message.grace_us();
  run.done.set_job(key.job);
  run.done.set_attempt(key.attempt);
  run.done.set_generation(message.generation());
  run.deadline = now + kReplaceLimit;
  if (!has_live_run(key.job)) begin(now, run);
}

void NodeAgent::repeat_prepare(base::Time now, Run& run) {
  if (run.stop_asked || run.exit) return;
  if (run.key.is_step()) return report_prepared(now, run);
  if (run.stage == Stage::kPrepared) report_prepared(now, run);
  if (run.stage == Stage::kStarted) report_started(now, run);
}

void NodeAgent::begin(base::Time now, Run& run) {
  run.deadline = base::Time::never();
  base::Status status = check_user(run.prepare->spec().uid(), run.prepare->allow_root());
  if (status) status = check_share(config_.node, run.prepare->share());
  if (!status) {
    const bool node_fault = status.error().code != base::ErrorCode::kDenied;
    fail_start(now, run, model::EndReason::kLaunchFailed, status.error().text(), node_fault);
    return finish(now, run);
  }
  *run.record.mutable_containment() = make_containment(config_.node, *run.prepare);
  if (run.has_shepherd()) {
    run.stage = Stage::kLookup;
    out_.emplace_back(LookupUser{run.key, run.prepare->spec().uid()});
  } else {
    run.stage = Stage::kLaunching;
    run.prepare.reset();
    out_.emplace_back(PrepareShare{run.record});
  }
}

base::Status NodeAgent::check_user(uint32_t uid, bool allow_root) const {
  if (uid == 0 && !allow_root)
    return base::fail(base::ErrorCode::kDenied, "root may not run jobs here", "jobs.allow_root_jobs");
  if (config_.own_uid != 0 && uid != config_.own_uid)
    return base::fail(base::ErrorCode::kDenied,
                      "the node daemon of " + config_.node.name + " runs as uid " + std::to_string(config_.own_uid) +
                          " and cannot start jobs of uid " + std::to_string(uid),
                      "start gnoded as root");
  return {};
}

void NodeAgent::on_go(base::Time now, const wire::Go& message) {
  if (Run* run = find({message.job(), message.attempt(), 0})) give_go(now, *run, message.started_us());
}

void NodeAgent::give_go(base::Time now, Run& run, int64_t started_us) {
  if (run.stop_asked || run.is_winding_up()) return;
  if (run.started_at_us == 0) run.started_at_us = started_us;
  const bool is_new = !run.record.go();
  run.record.set_go(true);
  run.go_asked = true;
  if (run.stage == Stage::kStarted) return repeat_prepare(now, run);
  if (run.stage != Stage::kPrepared) return;  // goes as soon as it is prepared
  go(run);
  if (is_new && !run.has_shepherd()) out_.emplace_back(PersistRun{run.record});
}

void NodeAgent::go(Run& run) {
  run.stage = run.has_shepherd() ? Stage::kStarting : Stage::kStarted;
  run.was_prepared = true;
  if (!run.has_shepherd()) return;
  if (run.hosts) out_.emplace_back(KeepHosts{*run.hosts, true});  // the file is there when the script begins
  wire::ToShepherd message;
  message.mutable_go()->set_at_us(run.started_at_us);
  to_shepherd(run, std::move(message));
}

void NodeAgent::on_stop(base::Time now, const wire::Stop& message) {
  const RunKey key = RunKey::of(message);
  if (Run* run = find(key)) {
    if (message.signo() != 0 || message.preempted_for() != 0) {
      run->order = message;
      for (const RunKey& step : live_steps(key)) find(step)->order = message;
    }
    return stop(now, *run, message.grace_us(), message.kill_now());
  }
  // Nothing of it is here: that is what the controller wants to know. A Prepare that comes after it must not start it.
  bury(key, message.generation(), std::nullopt);
  wire::NodeToController answer;
  answer.mutable_done()->set_job(key.job);
  answer.mutable_done()->set_attempt(key.attempt);
  answer.mutable_done()->set_step(key.step);
  answer.mutable_done()->set_generation(message.generation());
  send(now, std::move(answer));
}

void NodeAgent::stop(base::Time now, Run& run, int64_t grace_us, bool kill_now) {
  if (run.stage == Stage::kClean) return report(now, run);
  const bool is_repeat = run.stop_asked && (run.kill_now || !kill_now) && run.grace_us == grace_us;
  run.stop_asked = true;
  run.kill_now = run.kill_now || kill_now;
  run.grace_us = grace_us;
  if (run.stage == Stage::kQueued || run.stage == Stage::kLookup) return finish(now, run);  // nothing exists yet
  if (run.stage == Stage::kAwaiting) return stop_steps(now, run.key, grace_us, kill_now);   // which may end it
  stop_steps(now, run.key, grace_us, kill_now);
  if (run.stage == Stage::kReleasing || is_repeat) return;
  if (run.has_shepherd()) return send_stop(run);
  if (run.stage != Stage::kLaunching) release(now, run);  // while being contained: released when that is done
}

void NodeAgent::send_stop(Run& run) {
  if (run.order && run.is_connected && !run.kill_now) out_.emplace_back(KeepOrder{run.key, *run.order});
  wire::ToShepherd message;
  message.mutable_stop()->set_grace_us(run.grace_us);
  message.mutable_stop()->set_kill_now(run.kill_now);
  message.mutable_stop()->set_lease_over(run.done.lease_expired());
  to_shepherd(run, std::move(message));
}

void NodeAgent::on_signal(const wire::Signal& message) {
  const RunKey key = RunKey::of(message);
  wire::ToShepherd signal;
  signal.mutable_signal()->set_signo(message.signo());
  signal.mutable_signal()->set_batch_only(message.batch_only());
  if (const Run* run = find(key); run != nullptr && run->has_shepherd()) to_shepherd(*run, signal);
  if (message.batch_only()) return;
  for (const RunKey& step : live_steps(key)) to_shepherd(*find(step), signal);
}

void NodeAgent::on_resize(const wire::Resize& message) {
  const Run* run = find({message.job(), message.attempt(), 0});
  if (run == nullptr || !run->has_shepherd() || run->stop_asked || run->exit) return;
  out_.emplace_back(KeepHosts{message, false});
}

void NodeAgent::on_ack(base::Time now, const wire::Ack& message) {
  const RunKey key = RunKey::of(message);
  Run* run = find(key);
  if (!run) return;
  if (message.phase() == wire::kRunEnding && run->exit) run->exit_acked = true;
  if (message.phase() == wire::kRunDone && run->stage == Stage::kClean) forget(now, key, std::nullopt);
}

}  // namespace gw::noded
