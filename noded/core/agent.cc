// The node agent: its link to the controller, time, and small helpers.
// Invariants: see agent.h.
#include "noded/core/agent.h"

#include <algorithm>
#include <set>

namespace gw::noded {

namespace {

constexpr base::Duration kFirstRetry = base::milliseconds(100);
constexpr base::Duration kLongestRetry = base::seconds(10);
constexpr base::Duration kRefusedRetry = base::seconds(10);
constexpr base::Duration kRegisterLimit = base::seconds(30);
constexpr base::Duration kResend = base::seconds(5);
// Bounds for what a controller may ask of our timers.
constexpr base::Duration kShortestBeat = base::milliseconds(10);
constexpr base::Duration kLongestBeat = base::hours(1);

wire::RunPhase phase_of(const Run& run) {
  if (run.stage == Stage::kClean) return wire::kRunDone;
  if (run.exit || run.is_winding_up()) return wire::kRunEnding;
  if (run.stage == Stage::kStarted) return wire::kRunStarted;
  if (run.stage == Stage::kPrepared || run.stage == Stage::kStarting) return wire::kRunPrepared;
  return wire::kRunUnknown;
}

bool needs_resend(const Run& run) {
  if (run.stage == Stage::kClean) return true;
  return run.exit && !run.exit_acked && !run.fails_prepare() && run.reported.us != 0;
}

}  // namespace

NodeAgent::NodeAgent(AgentConfig config) : config_(std::move(config)), seen_(config_.seen), random_(config_.seed) {}

Effects NodeAgent::on_recovered(base::Time now, const std::vector<RecoveredRun>& found) {
  last_heard_ = last_renewal_ = now;
  last_contact_ = boot_now_;
  // Steps first: the end of a job's run waits for them.
  for (const bool is_step : {true, false})
    for (const RecoveredRun& run : found)
      if ((run.record.step() != 0) == is_step) adopt(now, run);
  connect_once_clean(now);
  return take();
}

void NodeAgent::connect_once_clean(base::Time now) {
  if (!is_recovering_) return;
  // Register says that whatever is not listed is dead: the remains of an earlier boot must be gone by then.
  for (const auto& [key, run] : runs_)
    if (run.is_stale) return;
  is_recovering_ = false;
  link_ = Link::kConnecting;
  last_heard_ = now;
  out_.emplace_back(Connect{});
}

Effects NodeAgent::on_link_up(base::Time now) {
  if (link_ != Link::kConnecting) return take();
  link_ = Link::kRegistering;
  last_heard_ = now;
  register_node(now);
  return take();
}

void NodeAgent::register_node(base::Time now) {
  wire::NodeToController message;
  wire::Register& r = *message.mutable_register_node();
  r.set_name(config_.node.name);
  r.set_boot_id(config_.boot_id);
  r.set_version(config_.version);
  *r.mutable_topology() = config_.node.topology;
  r.set_containment(config_.node.containment);
  r.set_is_emulated(config_.node.is_emulated);
  r.set_now_us(now.us);
  r.set_warning(config_.warning);
  r.set_instance(config_.instance);
  r.set_address(config_.node.own_address);
  if (!seen_.root().empty()) *r.mutable_seen() = seen_;
  for (const auto& [key, run] : runs_) {
    wire::RunState& state = *r.add_runs();
    state.set_job(key.job);
    state.set_attempt(key.attempt);
    state.set_step(key.step);
    state.set_phase(phase_of(run));
    if (run.record.has_placed_in()) *state.mutable_placed_in() = run.record.placed_in();
    state.set_first_node(run.record.first_node());
    if (state.phase() != wire::kRunPrepared && state.phase() != wire::kRunStarted) continue;
    state.set_address(run.address);
    state.set_key(run.access_key);
  }
  send(now, std::move(message));
}

Effects NodeAgent::on_link_down(base::Time now, const std::string& why) {
  if (link_ == Link::kDown) return take();
  // One line for each loss, not for each try.
  if (failures_ == 0) say(Level::kWarn, "no link to the controller: " + why);
  retry_later(now, {});
  return take();
}

void NodeAgent::retry_later(base::Time now, base::Duration at_least) {
  link_ = Link::kDown;
  const base::Duration step = kFirstRetry * (int64_t{1} << std::min(failures_, 8));
  const double jittered = static_cast<double>(std::min(step, kLongestRetry).us) * (0.5 + next_random() / 2);
  retry_at_ = now + std::max(base::microseconds(static_cast<int64_t>(jittered)), at_least);
  ++failures_;
}

void NodeAgent::drop_link(base::Time now, const std::string& why) {
  out_.emplace_back(Disconnect{why});
  retry_later(now, {});
}

Effects NodeAgent::on_controller(base::Time now, const wire::ControllerToNode& message) {
  if (link_ != Link::kRegistering && link_ != Link::kRegistered) return take();
  last_heard_ = now;
  if (message.has_registered() || link_ == Link::kRegistered) hear_mark(now, message);
  if (message.has_registered()) on_registered(now, message.registered());
  if (message.has_refused()) on_refused(now, message.refused());
  if (link_ != Link::kRegistered) return take();  // orders are taken from a controller that knows us
  on_contact(now, message);
  if (message.has_prepare()) on_prepare(now, message.prepare());
  if (message.has_start_step()) on_start_step(now, message.start_step());
  if (message.has_go()) on_go(now, message.go());
  if (message.has_stop()) on_stop(now, message.stop());
  if (message.has_signal()) on_signal(message.signal());
  if (message.has_resize()) on_resize(message.resize());
  if (message.has_suspend()) on_suspend(now, message.suspend());
  if (message.has_resume()) on_resume(message.resume());
  if (message.has_ack()) on_ack(now, message.ack());
  if (message.has_usage_query()) on_usage_query(now, message.usage_query());
  return take();
}

/// Only what answers a beat of ours renews leases: anything else may have been under way since before the controller
/// gave this node up.
void NodeAgent::on_contact(base::Time now, const wire::ControllerToNode& message) {
  base::BootTime heard = last_contact_;
  if (!echoes_) heard = boot_now_;  // a controller of an earlier version
  if (message.has_registered()) heard = beat_sent_;
  if (message.has_heartbeat() && message.heartbeat().echo_us() != 0)
    heard = std::min(base::BootTime{message.heartbeat().echo_us()}, beat_sent_);
  if (heard <= last_contact_) return;
  last_contact_ = heard;
  renew_leases(now);
}

void NodeAgent::on_registered(base::Time now, const wire::Registered& message) {
  link_ = Link::kRegistered;
  echoes_ = message.echoes();
  ++link_number_;
  failures_ = 0;
  heartbeat_ = std::clamp(base::Duration{message.heartbeat_us()}, kShortestBeat, kLongestBeat);
  timeout_ = std::clamp(base::Duration{message.timeout_us()}, heartbeat_ * 2, kLongestBeat * 2);
  say(Level::kInfo, "registered with the controller");
  std::set<RunKey> wanted;
  for (const wire::RunState& run : message.wanted()) wanted.insert(RunKey::of(run));
  for (const RunKey& key : wanted) {
    const Tombstone* grave = tombstone(key);
    if (grave != nullptr && grave->attempt == key.attempt && grave->failure && !find(key))
      send_failure(now, *grave->failure);
  }
  for (const RunKey& key : keys()) {
    Run* run = find(key);
    if (run && !wanted.contains(key) && run->stage != Stage::kClean) {
      say(Level::kWarn, "run " + key.text() + " is not known to the controller: ending it");
      stop(now, *run, 0, true);
      run = find(key);
    }
    if (!run) continue;
    repeat_prepare(now, *run);
    report(now, *run);
  }
}

std::vector<RunKey> NodeAgent::keys() const {
  std::vector<RunKey> all;
  for (const auto& [key, run] : runs_) all.push_back(key);
  return all;
}

void NodeAgent::on_refused(base::Time now, const wire::Refused& message) {
  const std::string hint = message.hint().empty() ? "" : " (" + message.hint() + ")";
  say(Level::kError, "the controller refuses this node: " + message.reason() + hint);
  out_.emplace_back(Disconnect{"refused"});
  retry_later(now, kRefusedRetry);
}

void NodeAgent::send(base::Time now, wire::NodeToController message) {
  // What is not sent now is told again when the controller has registered us.
  if (link_ != Link::kRegistered && !(link_ == Link::kRegistering && message.has_register_node())) return;
  if (message.has_heartbeat() || message.has_register_node()) {
    last_beat_ = now;
    beat_sent_ = boot_now_;
  }
  out_.emplace_back(SendToController{std::move(message)});
}

void NodeAgent::renew_leases(base::Time now) {
  if (now - last_renewal_ < base::microseconds(heartbeat_.us / 2)) return;
  last_renewal_ = now;
  for (const auto& [key, run] : runs_) {
    if (run.record.lease_us() <= 0 || !run.is_connected || !run.is_live()) continue;
    wire::ToShepherd renewal;
    renewal.mutable_query()->set_age_us((boot_now_ - last_contact_).us);
    renewal.mutable_query()->set_heard_boot_us(last_contact_.us);
    to_shepherd(run, std::move(renewal));
  }
}

base::Duration NodeAgent::silence_limit() const {
  return link_ == Link::kRegistering ? std::min(timeout_, kRegisterLimit) : timeout_;
}

Effects NodeAgent::on_tick(base::Time now) {
  if (link_ == Link::kDown && !is_recovering_ && now >= retry_at_) {
    link_ = Link::kConnecting;
    out_.emplace_back(Connect{});
  }
  const bool has_link = link_ == Link::kRegistering || link_ == Link::kRegistered;
  if (has_link && now - last_heard_ >= silence_limit()) {
    say(Level::kWarn, "the controller was silent for " + std::to_string((now - last_heard_).seconds()) + " s");
    drop_link(now, "silence");
  }
  // Whatever else was sent: only a beat is answered.
  if (link_ == Link::kRegistered && now - last_beat_ >= heartbeat_) {
    wire::NodeToController beat;
    beat.mutable_heartbeat()->set_now_us(boot_now_.us);
    send(now, std::move(beat));
  }
  for (const RunKey& key : keys()) {
    if (Run* run = find(key)) check_lease(now, *run);
    if (Run* run = find(key)) check_deadline(now, *run);
    if (Run* run = find(key); run && needs_resend(*run) && now - run->reported >= kResend) report(now, *run);
  }
  tell_places(now);
  return take();
}

base::BootTime NodeAgent::lease_end(const Run& run) const {
  const bool counts = run.record.lease_us() > 0 && run.is_live() && !run.done.lease_expired();
  return counts ? last_contact_ + base::Duration{run.record.lease_us()} : base::BootTime::never();
}

void NodeAgent::check_lease(base::Time now, Run& run) {
  if (boot_now_ < lease_end(run)) return;
  say(Level::kWarn, "lease of run " + run.key.text() + " has expired: ending it");
  run.done.set_lease_expired(true);
  for (const RunKey& step : live_steps(run.key)) find(step)->done.set_lease_expired(true);  // they end with it
  stop(now, run, 0, true);
}

void NodeAgent::check_deadline(base::Time now, Run& run) {
  if (now < run.deadline) return;
  run.deadline = base::Time::never();
  if (run.stage == Stage::kAdopting) {
    // The shepherd was not even forked when the earlier daemon died, or died with it.
    lose_shepherd(now, run, 0, 0, std::nullopt);
  } else if (run.stage == Stage::kQueued) {
    fail_start(now, run, model::EndReason::kLaunchFailed,
               "an earlier run of job " + std::to_string(run.key.job) + " is still being ended on " + config_.node.name,
               true);
    finish(now, run);
  }
}

base::Time NodeAgent::next_wakeup() const {
  base::Time next = places_.next_due();
  if (link_ == Link::kDown && !is_recovering_) next = std::min(next, retry_at_);
  if (link_ == Link::kRegistering || link_ == Link::kRegistered) next = std::min(next, last_heard_ + silence_limit());
  if (link_ == Link::kRegistered) next = std::min(next, last_beat_ + heartbeat_);
  for (const auto& [key, run] : runs_) {
    next = std::min(next, run.deadline);
    if (link_ == Link::kRegistered && needs_resend(run)) next = std::min(next, run.reported + kResend);
  }
  return next;
}

base::BootTime NodeAgent::next_lease_end() const {
  base::BootTime next = base::BootTime::never();
  for (const auto& [key, run] : runs_) next = std::min(next, lease_end(run));
  return next;
}

double NodeAgent::next_random() {  // splitmix64
  random_ += 0x9e3779b97f4a7c15;
  uint64_t z = random_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) / static_cast<double>(uint64_t{1} << 53);
}

Run* NodeAgent::find(RunKey key) {
  const auto it = runs_.find(key);
  return it == runs_.end() ? nullptr : &it->second;
}

bool NodeAgent::has_live_run(uint32_t job) const {
  for (auto it = runs_.lower_bound({job, 0, 0}); it != runs_.end() && it->first.job == job; ++it)
    if (it->second.is_live()) return true;
  return false;
}

void NodeAgent::to_shepherd(const Run& run, wire::ToShepherd message) {
  if (run.is_connected) out_.emplace_back(ToShepherd{run.key, std::move(message)});
}

void NodeAgent::say(Level level, std::string text) { out_.emplace_back(Say{level, std::move(text)}); }

Effects NodeAgent::take() { return std::exchange(out_, {}); }

}  // namespace gw::noded
