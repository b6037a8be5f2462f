// See registration.h.
#include "noded/core/registration.h"

#include <set>
#include <string>
#include <utility>

#include "noded/core/link.h"
#include "noded/core/programs.h"
#include "noded/core/reports.h"
#include "noded/core/run_end.h"

namespace gw::noded {

namespace {

constexpr base::Duration kRefusedRetry = base::seconds(10);

wire::RunPhase phase_of(const Run& run) {
  if (run.stage == Stage::kClean) return wire::kRunDone;
  if (run.exit || run.is_winding_up()) return wire::kRunEnding;
  if (run.stage == Stage::kStarted) return wire::kRunStarted;
  if (run.stage == Stage::kPrepared || run.stage == Stage::kStarting) return wire::kRunPrepared;
  return wire::kRunUnknown;
}

void list_run(const Run& run, wire::RunState& state) {
  state.set_job(run.key.job);
  state.set_attempt(run.key.attempt);
  state.set_step(run.key.step);
  state.set_phase(phase_of(run));
  if (run.record.has_placed_in()) *state.mutable_placed_in() = run.record.placed_in();
  state.set_first_node(run.record.first_node());
  if (state.phase() != wire::kRunPrepared && state.phase() != wire::kRunStarted) return;
  state.set_address(run.access.address);
  state.set_key(run.access.key);
}

}  // namespace

void on_link_up(Core& core) {
  if (!core.link.is_connecting()) return;
  core.link.opened(core.now);
  const AgentConfig& config = core.config;
  wire::NodeToController message;
  wire::Register& r = *message.mutable_register_node();
  r.set_name(config.node.name);
  r.set_boot_id(config.boot_id);
  r.set_version(config.version);
  *r.mutable_topology() = config.node.topology;
  r.set_containment(config.node.containment);
  r.set_is_emulated(config.node.is_emulated);
  r.set_now_us(core.now.us);
  r.set_warning(config.warning);
  r.set_instance(config.instance);
  r.set_address(config.node.own_address);
  *r.mutable_host() = config.host;
  if (!core.known_state.root().empty()) *r.mutable_seen() = core.known_state.seen();
  for (const auto& [key, run] : core.runs.all()) list_run(run, *r.add_runs());
  send(core, std::move(message));
}

void on_registered(Core& core, const wire::Registered& message) {
  core.link.registered(base::Duration{message.heartbeat_us()}, base::Duration{message.timeout_us()});
  core.leases.set_echoes(message.echoes());
  core.out.say(Level::kInfo, "registered with the controller");
  repeat_unfit(core);
  std::set<RunKey> wanted;
  for (const wire::RunState& run : message.wanted()) wanted.insert(RunKey::of(run));
  for (const RunKey& key : wanted) {
    const Tombstone* grave = core.graves.find(key, core.known_state.root());
    if (grave != nullptr && core.runs.find(key) == nullptr) repeat_failure(core, *grave, key);
  }
  for (const RunKey& key : core.runs.keys()) {
    Run* run = core.runs.find(key);
    if (run && !wanted.contains(key) && run->stage != Stage::kClean) {
      core.out.say(Level::kWarn, "run " + key.text() + " is not known to the controller: ending it");
      stop(core, *run, 0, true);
      run = core.runs.find(key);
    }
    if (!run) continue;
    repeat_prepare(core, *run);
    repeat_end(core, *run);
  }
}

void on_refused(Core& core, const wire::Refused& message) {
  const std::string hint = message.hint().empty() ? "" : " (" + message.hint() + ")";
  core.out.say(Level::kError, "the controller refuses this node: " + message.reason() + hint);
  hang_up(core, "refused", kRefusedRetry);
}

}  // namespace gw::noded
