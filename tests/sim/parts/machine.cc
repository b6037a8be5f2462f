// A node. See machine.h.
#include "tests/sim/parts/machine.h"

#include <algorithm>
#include <utility>

#include "wire/convert.h"

namespace gw::ctld::testing {

Machine::Machine(std::string name, NodeNetwork& network, const model::NodeTopology& topology, base::Time now)
    : name_(std::move(name)), network_(network), topology_(wire::to_wire(topology)) {
  boot(now);
  start_daemon(now);
}

void Machine::boot(base::Time) {
  if (std::exchange(is_on_, true)) return;
  ++boots_;
}

void Machine::power_off() {
  kill_daemon();
  is_on_ = false;
  processes_.clear();
  shares_.clear();
}

void Machine::start_daemon(base::Time now) {
  if (!is_on_ || agent_) return;
  noded::AgentConfig config;
  config.node.name = name_;
  config.node.cluster = "test";
  config.node.topology = topology_;
  config.node.is_emulated = true;
  config.node.containment = "none";
  config.node.steps_dir = "/s";
  if ((name_.back() - '0') % 2 != 0) config.node.prolog = config.node.epilog = "/program";
  config.boot_id = "boot" + std::to_string(boots_);
  config.instance = "daemon" + std::to_string(++daemons_);
  config.seen = mark_;
  config.unfit = unfit_;
  config.seed = daemons_;
  agent_ = std::make_unique<noded::NodeAgent>(std::move(config));
  std::vector<noded::RecoveredRun> found;
  for (const auto& [key, record] : records_) {
    noded::RecoveredRun& run = found.emplace_back();
    run.record = record;
    run.shepherd_answers = processes_.contains(key);
    const auto folder = folders_.find(key);
    run.has_step_dir = folder != folders_.end();
    if (run.has_step_dir && !run.shepherd_answers) run.exit = folder->second;
  }
  tell_agent(now, [&](auto& agent) { return agent.on_recovered(now, found); });
  std::vector<RunKey> shepherds;
  for (const auto& [key, process] : processes_) shepherds.push_back(key);
  for (const RunKey& key : shepherds) {
    const auto process = processes_.find(key);
    if (!agent_ || process == processes_.end()) continue;
    process->second.is_connected = true;
    process->second.told = 0;
    tell_agent(now, [&](auto& agent) { return agent.on_shepherd_connected(now, key); });
  }
}

void Machine::kill_daemon() {
  if (!agent_) return;
  agent_.reset();
  chores_.clear();
  is_dialing_ = false;
  fuse_ = 0;
  for (auto& [key, process] : processes_) process.is_connected = false;
  network_.hang_up(name_);
}

void Machine::link_up(base::Time now) {
  is_dialing_ = false;
  tell_agent(now, [&](auto& agent) { return agent.on_link_up(now); });
}

void Machine::link_down(base::Time now, const std::string& why) {
  is_dialing_ = false;
  tell_agent(now, [&](auto& agent) { return agent.on_link_down(now, why); });
}

void Machine::hear(base::Time now, const wire::ControllerToNode& message) {
  if (message.has_prepare()) {
    const wire::Prepare& order = message.prepare();
    offered_[{RunKey{order.job(), order.attempt(), 0}, order.generation()}] = order.share();
  }
  if (message.has_start_step()) {
    const wire::StartStep& order = message.start_step();
    offered_[{RunKey{order.job().job(), order.job().attempt(), order.step()}, 0}] = order.share();
  }
  tell_agent(now, [&](auto& agent) { return agent.on_controller(now, message); });
}

void Machine::tick(base::Time now) {
  std::vector<RunKey> over;
  for (auto& [key, process] : processes_)
    if (process.lease_us > 0 && process.stage < Stage::kClean &&
        boot_time(now) >= process.heard + base::Duration{process.lease_us})
      over.push_back(key);
  for (const RunKey& key : over) {
    Process& process = processes_.at(key);
    // What its script left behind when it ended is killed likewise, and how it ended stays as it is.
    if (process.stage < Stage::kOver)
      end(now, key, process, 0, 9, static_cast<uint32_t>(model::EndReason::kLeaseExpired));
    clean(key, process);
  }
  tell_agent(now, [&](auto& agent) { return agent.on_tick(now); });
}

base::Time Machine::next_wakeup(base::Time now) const {
  base::Time next = base::Time::never();
  for (const auto& [key, process] : processes_)
    if (process.lease_us > 0 && process.stage < Stage::kClean)
      next = std::min(next, now + (process.heard + base::Duration{process.lease_us} - boot_time(now)));
  if (!agent_) return next;
  next = std::min(next, agent_->next_wakeup());
  if (const base::BootTime lease = agent_->next_lease_end(); lease != base::BootTime::never())
    next = std::min(next, now + (lease - boot_time(now)));
  return next;
}

/// The daemon may die between any two of its effects.
void Machine::carry_out(base::Time now, std::vector<noded::Effect> effects) {
  for (const noded::Effect& effect : effects) {
    handle(now, effect);
    if (!agent_) return;
    if (fuse_ == 0 || --fuse_ > 0) continue;
    return kill_daemon();
  }
}

void Machine::handle(base::Time, const noded::Effect& effect) {
  if (std::holds_alternative<noded::Connect>(effect)) is_dialing_ = true;
  if (std::holds_alternative<noded::Disconnect>(effect)) network_.hang_up(name_);
  if (const auto* e = std::get_if<noded::SendToController>(&effect)) network_.to_controller(name_, e->message);
  if (const auto* e = std::get_if<noded::LaunchShepherd>(&effect)) records_[RunKey::of(e->record)] = e->record;
  if (const auto* e = std::get_if<noded::PrepareShare>(&effect)) records_[RunKey::of(e->record)] = e->record;
  if (const auto* e = std::get_if<noded::RunProgram>(&effect)) records_[RunKey::of(e->record)] = e->record;
  if (const auto* e = std::get_if<noded::PersistRun>(&effect)) records_[RunKey::of(e->record)] = e->record;
  if (const auto* e = std::get_if<noded::KeepMark>(&effect)) mark_ = e->mark;
  if (const auto* e = std::get_if<noded::KeepUnfit>(&effect)) unfit_ = e->unfit;
  if (const auto* e = std::get_if<noded::ForgetRun>(&effect)) {
    records_.erase(e->run);
    if (!processes_.contains(e->run)) folders_.erase(e->run);
  }
  if (const auto* e = std::get_if<noded::ToShepherd>(&effect))
    if (const auto it = processes_.find(e->run); it != processes_.end() && it->second.is_connected)
      it->second.inbox.push_back(e->message);
  if (std::holds_alternative<noded::LookupUser>(effect) || std::holds_alternative<noded::LaunchShepherd>(effect) ||
      std::holds_alternative<noded::PrepareShare>(effect) || std::holds_alternative<noded::ReleaseShare>(effect) ||
      std::holds_alternative<noded::RunProgram>(effect))
    chores_.push_back(effect);
}

bool Machine::work(base::Time now, uint32_t pick) {
  const size_t things = chores_.size() + processes_.size();
  if (things == 0) return false;
  for (size_t i = 0; i < things; ++i) {
    const size_t at = (pick + i) % things;
    if (at < chores_.size()) return do_chore(now, static_cast<uint32_t>(at + 7 * (pick / things)));
    auto process = processes_.begin();
    std::advance(process, at - chores_.size());
    if (advance(now, process->first, process->second)) return true;
  }
  return false;
}

bool Machine::has_work() const {
  if (!chores_.empty()) return true;
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& entry) {
    const Process& p = entry.second;
    return !p.inbox.empty() || (p.is_connected && p.told < p.said.size()) || p.stage == Stage::kBegun ||
           (p.stage == Stage::kReady && !p.waits_for_go);
  });
}

bool Machine::do_chore(base::Time now, uint32_t pick) {
  const size_t at = pick % 7 < chores_.size() ? pick % 7 : 0;
  const noded::Effect chore = chores_[at];
  chores_.erase(chores_.begin() + static_cast<std::ptrdiff_t>(at));
  if (const auto* e = std::get_if<noded::LookupUser>(&chore)) {
    const noded::UserInfo user{"user" + std::to_string(e->uid), e->uid, e->uid, {e->uid}, "/home", "/bin/sh"};
    tell_agent(now, [&](auto& agent) { return agent.on_user(now, e->run, user); });
  }
  if (const auto* e = std::get_if<noded::LaunchShepherd>(&chore)) {
    const RunKey key = RunKey::of(e->record);
    if (pick % 23 == 11) {
      tell_agent(now, [&](auto& agent) { return agent.on_launch_failed(now, key, "no room for a process"); });
      return true;
    }
    launch(now, *e);
  }
  if (const auto* e = std::get_if<noded::PrepareShare>(&chore)) {
    const RunKey key = RunKey::of(e->record);
    shares_.insert(key);
    take_up(e->record);
    tell_agent(now, [&](auto& agent) { return agent.on_share_prepared(now, key, base::Status()); });
  }
  if (const auto* e = std::get_if<noded::RunProgram>(&chore)) {
    const bool fails = pick % 31 == 17;
    const base::Status status = fails ? base::fail(base::ErrorCode::kInternal, "exit code 1") : base::Status();
    tell_agent(now, [&](auto& agent) { return agent.on_program_ended(now, RunKey::of(e->record), e->which, status); });
  }
  if (const auto* e = std::get_if<noded::ReleaseShare>(&chore)) {
    shares_.erase(e->run);
    processes_.erase(e->run);
    tell_agent(now, [&](auto& agent) { return agent.on_share_released(now, e->run, ""); });
  }
  return true;
}

void Machine::take_up(const wire::RunRecord& record) {
  const RunKey key = RunKey::of(record);
  const auto offer = offered_.find({key, key.is_step() ? 0 : record.generation()});
  if (offer != offered_.end()) given_[key] = offer->second;
}

void Machine::launch(base::Time now, const noded::LaunchShepherd& order) {
  const RunKey key = RunKey::of(order.record);
  Process& process = processes_[key];
  process.is_step = key.is_step();
  process.waits_for_go = order.spec.wait_for_go();
  process.uid = order.spec.uid();
  process.lease_us = order.spec.lease_us();
  process.heard = {order.spec.heard_boot_us()};
  process.is_connected = true;
  folders_[key];
  take_up(order.record);
  tell_agent(now, [&](auto& agent) { return agent.on_shepherd_connected(now, key); });
}

/// A shepherd hears, says or does one thing.
bool Machine::advance(base::Time now, RunKey key, Process& process) {
  if (!process.inbox.empty()) {
    const wire::ToShepherd order = process.inbox.front();
    process.inbox.pop_front();
    obey(now, key, process, order);
    return true;
  }
  if (process.is_connected && process.told < process.said.size()) {
    const wire::FromShepherd message = process.said[process.told++];
    tell_agent(now, [&](auto& agent) { return agent.on_shepherd(now, key, message); });
    return true;
  }
  if (process.stage == Stage::kBegun) {
    process.stage = Stage::kReady;
    wire::StepReady& ready = *process.said.emplace_back().mutable_ready();
    if (process.is_step) {
      ready.set_address("10.0.0.1:1");
      ready.set_key(std::string(32, 'k'));
    }
    return true;
  }
  if (process.stage == Stage::kReady && !process.waits_for_go) {
    say_started(now, key, process);
    return true;
  }
  return false;
}

void Machine::say_started(base::Time now, RunKey key, Process& process) {
  process.stage = Stage::kRuns;
  network_.on_begun(name_, key);
  process.said.emplace_back().mutable_started()->set_at_us(now.us);
}

void Machine::obey(base::Time now, RunKey key, Process& process, const wire::ToShepherd& order) {
  if (order.has_go()) process.waits_for_go = false;
  if (order.has_query()) process.heard = {std::max(process.heard.us, order.query().heard_boot_us())};
  if (order.has_suspend() && process.stage < Stage::kOver) {
    const bool refuses = (key.job * 2'654'435'761U / 65'536 + order.suspend().round()) % 2 == 1;
    process.is_frozen = !refuses;
    wire::StepSuspended& answer = *process.said.emplace_back().mutable_suspended();
    answer.set_round(order.suspend().round());
    if (refuses) answer.set_problem("it cannot be frozen");
  }
  if (order.has_resume()) process.is_frozen = false;
  if (order.has_stop() && process.stage < Stage::kClean) {
    const auto reason =
        static_cast<uint32_t>(order.stop().lease_over() ? model::EndReason::kLeaseExpired : model::EndReason::kNone);
    if (process.stage == Stage::kRuns) end(now, key, process, 0, order.stop().kill_now() ? 9 : 15, reason);
    clean(key, process);
  }
  if (order.has_forget() && process.stage == Stage::kClean) {
    folders_.erase(key);
    processes_.erase(key);
  }
}

void Machine::end(base::Time now, RunKey key, Process& process, int code, int signo, uint32_t reason) {
  process.stage = Stage::kOver;
  process.is_frozen = false;
  wire::StepExit& exit = *process.said.emplace_back().mutable_exit();
  exit.set_code(code);
  exit.set_signo(signo);
  exit.set_reason(reason);
  exit.set_ended_us(now.us);
  folders_[key] = exit;
}

void Machine::clean(RunKey, Process& process) {
  process.stage = Stage::kClean;
  process.is_frozen = false;
  process.said.emplace_back().mutable_clean();
}

bool Machine::end_something(base::Time now, uint32_t pick) {
  std::vector<RunKey> running;
  for (const auto& [key, process] : processes_)
    if (process.stage == Stage::kRuns && !process.is_frozen) running.push_back(key);
  if (running.empty()) return false;
  const RunKey key = running[pick % running.size()];
  end(now, key, processes_.at(key), static_cast<int>(pick % 3), 0, 0);
  return true;
}

std::vector<Machine::Seen> Machine::seen() const {
  std::vector<Seen> out;
  const auto add = [&](RunKey key) -> Seen& {
    Seen& one = out.emplace_back();
    one.run = key;
    if (const auto given = given_.find(key); given != given_.end()) one.share = given->second;
    const auto record = records_.find(key);
    one.has_lease = record != records_.end() && record->second.lease_us() > 0;
    return one;
  };
  for (const auto& [key, process] : processes_) {
    if (process.stage == Stage::kClean) continue;
    Seen& one = add(key);
    one.has_process = true;
    one.is_frozen = process.is_frozen;
    one.has_begun = process.stage >= Stage::kRuns;
  }
  for (const RunKey& key : shares_)
    if (!processes_.contains(key)) add(key);
  return out;
}

std::map<RunKey, Machine::Use> Machine::in_use() const {
  std::map<RunKey, Use> out;
  for (const auto& [key, process] : processes_) {
    if (process.stage == Stage::kClean) continue;
    Use& use = out[key.own()];
    use.has_processes = true;
    use.has_begun |= process.stage >= Stage::kRuns;
    use.runs |= process.stage >= Stage::kRuns && !process.is_frozen;
  }
  for (const RunKey& key : shares_) out.try_emplace(key.own());
  for (auto& [key, use] : out)
    if (const auto given = given_.find(key); given != given_.end()) use.share = given->second;
  return out;
}

std::string Machine::text() const {
  std::string out = name_ + (is_on_ ? "" : " off") + (agent_ ? "" : " without daemon") + ":";
  for (const auto& [key, process] : processes_)
    out += " " + key.text() + "=" + std::to_string(static_cast<int>(process.stage)) + (process.is_frozen ? "f" : "");
  for (const RunKey& key : shares_) out += " " + key.text() + "=share";
  for (const auto& [key, record] : records_)
    if (!processes_.contains(key) && !shares_.contains(key)) out += " " + key.text() + "=record";
  return out;
}

}  // namespace gw::ctld::testing
