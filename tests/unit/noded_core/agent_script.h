// A small language for tests of the node agent: one line an event, one text the effects it must have.
// "prepare 7.1 go" -> "lookup 7.1". Log lines are left out of the texts.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/job.h"
#include "model/job_state.h"
#include "noded/core/agent.h"
#include "wire/gang.h"

namespace gw::noded::testing {

template <typename Message>
std::string key_text(const Message& m) {
  return RunKey::of(m).text();
}

/// "7.1", or "7.1.s0" of a step.
inline RunKey parse_key(const std::string& text) {
  const auto number = [](const std::string& digits) { return static_cast<uint32_t>(std::stoul(digits)); };
  const size_t dot = text.find('.'), step = text.find(".s");
  return {number(text.substr(0, dot)), number(text.substr(dot + 1)),
          step == std::string::npos ? 0 : number(text.substr(step + 2)) + 1};
}

inline std::string describe(const wire::NodeToController& m) {
  if (m.has_register_node()) {
    std::string text = "> register";
    for (const wire::RunState& r : m.register_node().runs())
      text += " " + key_text(r) + "=" + std::to_string(r.phase()) + (r.address().empty() ? "" : "@" + r.address());
    return text;
  }
  if (m.has_heartbeat()) return "> beat";
  if (m.has_prepared()) {
    const auto& p = m.prepared();
    return "> prepared " + key_text(p) + (p.address().empty() ? "" : " at " + p.address() + " " + p.key());
  }
  if (m.has_prepare_failed()) {
    const auto& f = m.prepare_failed();
    return "> failed " + key_text(f) + " (" + f.detail() + ")" + (f.node_fault() ? " node" : "");
  }
  if (m.has_started()) return "> started " + RunKey{m.started().job(), m.started().attempt()}.text();
  if (m.has_batch_exited()) {
    const auto& b = m.batch_exited();
    const std::string why = b.detail().empty() ? "" : " (" + b.detail() + ")";
    return "> exited " + key_text(b) + " " + std::to_string(b.exit_code()) + ":" + std::to_string(b.exit_signo()) + why;
  }
  if (m.has_suspended()) {
    const auto& s = m.suspended();
    return "> suspended " + RunKey{s.job(), s.attempt()}.text() + " " + std::to_string(s.round()) +
           (s.problem().empty() ? "" : " (" + s.problem() + ")");
  }
  if (m.has_unfit())
    return "> unfit " + RunKey{m.unfit().job(), m.unfit().attempt()}.text() + " (" + m.unfit().why() + ")";
  if (m.has_usage()) return "> uses " + key_text(m.usage()) + " (" + m.usage().usage().problem() + ")";
  const auto& d = m.done();
  return "> done " + key_text(d) + (d.lease_expired() ? " lease" : "") +
         (d.problem().empty() ? "" : " (" + d.problem() + ")");
}

inline std::string describe(const wire::ToShepherd& m) {
  if (m.has_go()) return "go";
  if (m.has_signal()) return "signal " + std::to_string(m.signal().signo());
  if (m.has_notice()) return "notice " + m.notice().text();
  if (m.has_stop() && m.stop().lease_over()) return "lease over";
  if (m.has_stop()) return m.stop().kill_now() ? "kill" : "stop " + std::to_string(m.stop().grace_us() / 1'000'000);
  if (m.has_forget()) return "forget";
  if (m.has_suspend()) return "suspend " + std::to_string(m.suspend().round());
  if (m.has_usage_query()) return "use " + std::to_string(m.usage_query().id());
  if (m.has_places()) {
    std::string text = "places";
    for (const std::string& cpus : m.places().cpus()) text += " " + cpus;
    return text;
  }
  if (m.has_resume()) return "resume " + std::to_string(m.resume().round());
  return "renew";
}

struct Describe {
  std::string operator()(const Connect&) const { return "connect"; }
  std::string operator()(const Disconnect&) const { return "disconnect"; }
  std::string operator()(const SendToController& e) const { return describe(e.message); }
  std::string operator()(const LookupUser& e) const { return "lookup " + e.run.text(); }
  std::string operator()(const LaunchShepherd& e) const { return "launch " + key_text(e.record); }
  std::string operator()(const ToShepherd& e) const { return e.run.text() + " < " + describe(e.message); }
  std::string operator()(const KeepOrder& e) const {
    return e.run.text() + " ! " + std::to_string(e.order.signo()) + " for " + std::to_string(e.order.preempted_for());
  }
  std::string operator()(const KeepHosts& e) const {
    std::string nodes;
    for (const std::string& node : e.order.nodes()) nodes += " " + node;
    return "hosts " + RunKey{e.order.job(), e.order.attempt()}.text() + nodes + (e.is_first ? " (first)" : "");
  }
  std::string operator()(const PrepareShare& e) const { return "contain " + key_text(e.record); }
  std::string operator()(const ReleaseShare& e) const { return "release " + e.run.text(); }
  std::string operator()(const RunProgram& e) const {
    return std::string(name(e.which)) + " " + key_text(e.record) + (e.record.in_prolog() ? " first" : "");
  }
  std::string operator()(const PersistRun& e) const { return "persist " + key_text(e.record); }
  std::string operator()(const ForgetRun& e) const { return "forget " + e.run.text(); }
  std::string operator()(const MeasureShare& e) const { return "measure " + key_text(e.told) + " gpus " + e.gpus; }
  std::string operator()(const MeasureGpus& e) const {
    return "measure gpus " + e.gpus + " of " + key_text(e.told) + " " + std::to_string(e.told.usage().mem());
  }
  std::string operator()(const KeepUnfit& e) const {
    std::string text = "keep unfit";
    for (const wire::Unfit& unfit : e.unfit.all()) text += " " + std::to_string(unfit.job());
    return text;
  }
  std::string operator()(const KeepMark& e) const {
    return "keep " + e.mark.root() + "/" + e.mark.incarnation() + " " + std::to_string(e.mark.commit());
  }
  std::string operator()(const Say&) const { return {}; }
};

inline std::string describe(const Effects& effects) {
  std::string text;
  for (const Effect& effect : effects) {
    const std::string one = std::visit(Describe{}, effect);
    if (!one.empty()) text += (text.empty() ? "" : "; ") + one;
  }
  return text;
}

inline NodeFacts test_node(const std::string& name = "n0") {
  NodeFacts node;
  node.name = name;
  node.cluster = "c";
  node.containment = "cgroup_v2";
  node.steps_dir = "/s/steps";
  for (int i = 0; i < 4; ++i) {
    node.topology.add_cores()->add_pus(static_cast<uint32_t>(i));
    node.topology.add_gpus()->set_vendor("nvidia");
  }
  return node;
}

inline wire::NodeShare test_share(const std::string& node) {
  wire::NodeShare share;
  share.set_node(node);
  share.set_tasks(1);
  share.set_cpus(2);
  share.set_cores("0-1");
  share.set_gpus("0-1");
  share.set_mem_mb(100);
  return share;
}

/// What node `self` is told of the nodes, each with so many tasks and two CPUs.
inline wire::Gang test_gang(const std::vector<std::string>& names, const std::string& self = "n0", uint32_t tasks = 1) {
  model::Allocation allocation;
  for (const std::string& name : names) {
    model::NodeShare& share = allocation.shares.emplace_back();
    share.name = name;
    share.tasks = tasks;
    share.cpus = 2;
  }
  wire::Gang gang = wire::gang_of(allocation);
  gang.set_node_id(static_cast<uint32_t>(std::find(names.begin(), names.end(), self) - names.begin()));
  return gang;
}

/// An agent with a clock, driven by lines of text.
class AgentScript {
 public:
  explicit AgentScript(uint32_t own_uid = 0) : agent(config(own_uid)) {}
  explicit AgentScript(AgentConfig born_with) : agent(std::move(born_with)) {}

  static AgentConfig config(uint32_t own_uid = 0) {
    AgentConfig c;
    c.node = test_node();
    c.boot_id = "boot-1";
    c.own_uid = own_uid;
    return c;
  }

  /// Carries out one line and returns the text of its effects.
  std::string operator()(const std::string& line) { return describe(play(line)); }

  /// Carries out one line.
  Effects play(const std::string& line) {
    std::istringstream words(line);
    std::string verb, arg;
    words >> verb >> arg;
    std::vector<std::string> rest;
    for (std::string word; words >> word;) rest.push_back(word);
    pass(base::milliseconds(1));
    return event(verb, arg, rest);
  }

  /// Both clocks advance; they show different times, so that nobody may take one for the other.
  void pass(base::Duration d) {
    now = now + d;
    agent.set_lease_clock(boot_now());
  }
  base::BootTime boot_now() const { return {now.us - 600'000'000}; }

  base::Time now{1'000'000'000};
  std::string state;  // what the controller works from; empty: one without marks
  uint64_t commit = 0;
  bool is_behind = false;
  NodeAgent agent;

 private:
  static std::string option(const std::vector<std::string>& words, const std::string& name,
                            const std::string& fallback) {
    for (const std::string& word : words)
      if (word.rfind(name, 0) == 0) return word.size() > name.size() ? word.substr(name.size() + 1) : "yes";
    return fallback;
  }

  static wire::ControllerToNode prepare(RunKey key, const std::vector<std::string>& words) {
    wire::ControllerToNode m;
    wire::Prepare& p = *m.mutable_prepare();
    p.set_job(key.job);
    p.set_attempt(key.attempt);
    if (option(words, "allocation", "") == "yes")
      p.mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
    p.mutable_spec()->set_uid(static_cast<uint32_t>(std::stoul(option(words, "uid", "1000"))));
    p.set_generation(static_cast<uint32_t>(std::stoul(option(words, "generation", "0"))));
    p.mutable_spec()->mutable_request()->set_elastic(option(words, "elastic", "") == "yes");
    *p.mutable_gang() = test_gang(base::split(option(words, "nodes", "n0"), ','));
    *p.mutable_share() = test_share("n0");
    p.mutable_share()->set_gpus(option(words, "gpus", "0-1"));
    p.mutable_share()->set_cores(option(words, "job", "0-1"));
    p.set_script("#!/bin/sh\n");
    p.set_go(option(words, "go", "") == "yes");
    p.set_lease_us(std::stoll(option(words, "lease", "0")) * 1'000'000);
    p.set_grace_us(30'000'000);
    p.set_allow_root(option(words, "root", "") == "yes");
    if (const std::string root = option(words, "state", ""); !root.empty()) {
      p.mutable_placed_in()->set_root(root);
      p.mutable_placed_in()->set_incarnation("i");
    }
    return m;
  }

  static wire::ControllerToNode start_step(RunKey key, const std::vector<std::string>& words) {
    wire::ControllerToNode m;
    wire::StartStep& s = *m.mutable_start_step();
    *s.mutable_job() = prepare(key.own(), words).prepare();
    s.mutable_job()->clear_script();
    s.set_step(key.step);
    *s.mutable_share() = s.job().share();
    s.mutable_share()->set_tasks(static_cast<uint32_t>(std::stoul(option(words, "tasks", "1"))));
    s.mutable_share()->set_cores(option(words, "cores", s.share().cores()));
    s.mutable_request()->set_cpus_per_task(static_cast<uint32_t>(std::stoul(option(words, "-c", "0"))));
    s.mutable_request()->set_overlap(option(words, "overlap", "") == "yes");
    *s.mutable_gang() = s.job().gang();
    s.set_ticket_key("t");
    return m;
  }

  template <typename Set>
  Effects order(Set set) {
    wire::ControllerToNode m;
    set(m);
    return agent.on_controller(now, m);
  }

  template <typename Order>
  static void address(Order* order, RunKey key) {
    order->set_job(key.job);
    order->set_attempt(key.attempt);
    if constexpr (requires { order->set_step(0); }) order->set_step(key.step);
  }

  Effects ack(RunKey key, wire::RunPhase phase) {
    return order([&](auto& m) {
      address(m.mutable_ack(), key);
      m.mutable_ack()->set_phase(phase);
    });
  }

  Effects event(const std::string& verb, const std::string& arg, const std::vector<std::string>& rest) {
    if (verb == "start") return agent.on_recovered(now, {});
    if (verb == "up") return agent.on_link_up(now);
    if (verb == "down") return agent.on_link_down(now, "test");
    if (verb == "beat") return order([&](auto& m) { m.mutable_heartbeat(); });
    if (verb == "echo")  // of the beat sent so many seconds ago
      return order(
          [&](auto& m) { m.mutable_heartbeat()->set_echo_us((boot_now() - base::seconds(std::stoll(arg))).us); });
    if (verb == "registered-echoes") return registered(arg, rest, true);
    if (verb == "refused") return order([&](auto& m) { m.mutable_refused()->set_reason("no"); });
    if (verb == "registered") return registered(arg, rest);
    if (verb == "wait") {
      pass(base::seconds(std::stoll(arg)));
      return agent.on_tick(now);
    }
    const RunKey key = parse_key(arg);
    if (verb == "unfit-heard")
      return order([&](auto& m) {
        address(m.mutable_unfit_heard(), key);
        m.mutable_unfit_heard()->set_by_prolog(option(rest, "epilog", "no") == "no");
      });
    if (verb == "prepare") return agent.on_controller(now, prepare(key, rest));
    if (verb == "step") return agent.on_controller(now, start_step(key, rest));
    if (verb == "go") return order([&](auto& m) { address(m.mutable_go(), key); });
    if (verb == "stop" || verb == "kill")
      return order([&](auto& m) {
        address(m.mutable_stop(), key);
        m.mutable_stop()->set_grace_us(5'000'000);
        m.mutable_stop()->set_kill_now(verb == "kill");
        m.mutable_stop()->set_signo(std::stoi(option(rest, "signo", "0")));
        m.mutable_stop()->set_preempted_for(static_cast<uint32_t>(std::stoul(option(rest, "for", "0"))));
      });
    if (verb == "signal")
      return order([&](auto& m) {
        address(m.mutable_signal(), key);
        m.mutable_signal()->set_signo(std::stoi(rest.at(0)));
        m.mutable_signal()->set_batch_only(option(rest, "batch", "") == "yes");
      });
    if (verb == "notice")
      return order([&](auto& m) {
        address(m.mutable_notice(), key);
        m.mutable_notice()->set_text(rest.at(0));
      });
    if (verb == "resize")
      return order([&](auto& m) {
        address(m.mutable_resize(), key);
        for (const std::string& node : rest) m.mutable_resize()->add_nodes(node);
      });
    if (verb == "suspend")
      return order([&](auto& m) {
        address(m.mutable_suspend(), key);
        m.mutable_suspend()->set_round(static_cast<uint32_t>(std::stoul(rest.at(0))));
        m.mutable_suspend()->set_signo(std::stoi(option(rest, "signo", "0")));
        m.mutable_suspend()->set_preempted_for(static_cast<uint32_t>(std::stoul(option(rest, "for", "0"))));
      });
    if (verb == "resume")
      return order([&](auto& m) {
        address(m.mutable_resume(), key);
        m.mutable_resume()->set_round(static_cast<uint32_t>(std::stoul(rest.at(0))));
      });
    if (verb == "use")
      return order([&](auto& m) {
        address(m.mutable_usage_query(), key);
        m.mutable_usage_query()->set_id(std::stoull(rest.at(0)));
        m.mutable_usage_query()->set_gpus("0-1");
      });
    if (verb == "ack-exit") return ack(key, wire::kRunEnding);
    if (verb == "ack-done") return ack(key, wire::kRunDone);
    return node_event(verb, key, rest);
  }

  Effects registered(const std::string& arg, const std::vector<std::string>& rest, bool echoes = false) {
    return order([&](auto& m) {
      m.mutable_registered()->set_echoes(echoes);
      m.mutable_registered()->set_heartbeat_us(10'000'000);
      m.mutable_registered()->set_timeout_us(60'000'000);
      if (!state.empty()) {
        m.mutable_registered()->mutable_mark()->set_root(state);
        m.mutable_registered()->mutable_mark()->set_incarnation(state + "1");
        m.set_commit(commit);
        m.mutable_registered()->set_is_behind(is_behind);
      }
      if (!arg.empty()) address(m.mutable_registered()->add_wanted(), parse_key(arg));
      for (const std::string& word : rest) address(m.mutable_registered()->add_wanted(), parse_key(word));
    });
  }

  Effects node_event(const std::string& verb, RunKey key, const std::vector<std::string>& rest) {
    const auto word = [&](size_t i, const char* fallback) { return i < rest.size() ? rest[i] : std::string(fallback); };
    wire::FromShepherd m;
    if (verb == "user") return agent.on_user(now, key, UserInfo{"ann", 1000, 1000, {1000}, "/home/ann", "/bin/bash"});
    if (verb == "nouser") return agent.on_user(now, key, base::fail(base::ErrorCode::kNotFound, "no user 1000 on n0"));
    if (verb == "nss-down") return agent.on_user(now, key, base::fail(base::ErrorCode::kUnavailable, "LDAP down"));
    if (verb == "prolog" || verb == "epilog") {
      const base::Status failed = base::fail(base::ErrorCode::kInternal, "exit code 3");
      return agent.on_program_ended(now, key, verb == "prolog" ? NodeProgram::kProlog : NodeProgram::kEpilog,
                                    word(0, "") == "fails" ? failed : base::Status());
    }
    if (verb == "connected") return agent.on_shepherd_connected(now, key);
    if (verb == "lost") return agent.on_shepherd_lost(now, key);
    if (verb == "gone") return agent.on_shepherd_gone(now, key, 0, std::stoi(word(0, "0")), std::nullopt);
    if (verb == "launch-failed") return agent.on_launch_failed(now, key, "no launcher");
    if (verb == "contained") return agent.on_share_prepared(now, key, {});
    if (verb == "not-contained") return agent.on_share_prepared(now, key, base::invalid("no cgroup"));
    if (verb == "released") return agent.on_share_released(now, key, word(0, ""));
    if (verb == "ready") {
      m.mutable_ready()->set_pid(9);
      if (key.is_step()) m.mutable_ready()->set_address("h:" + std::to_string(key.step));
      if (key.is_step()) m.mutable_ready()->set_key("k");
    }
    if (verb == "started") m.mutable_started()->set_at_us(now.us);
    if (verb == "exit") m.mutable_exit()->set_code(std::stoi(word(0, "0")));
    if (verb == "exit") m.mutable_exit()->set_signo(std::stoi(word(1, "0")));
    if (verb == "never") {
      m.mutable_exit()->set_never_started(true);
      m.mutable_exit()->set_reason(static_cast<uint32_t>(model::EndReason::kOutputPath));
      m.mutable_exit()->set_detail("output");
    }
    if (verb == "uses") {
      m.mutable_used()->set_id(std::stoull(word(0, "0")));
      m.mutable_used()->mutable_usage()->set_mem(std::stoull(word(1, "0")));
    }
    if (verb == "clean") m.mutable_clean();
    if (verb == "stands") {
      m.mutable_suspended()->set_round(static_cast<uint32_t>(std::stoul(word(0, "1"))));
      m.mutable_suspended()->set_problem(word(1, ""));
    }
    return agent.on_shepherd(now, key, m);
  }
};

}  // namespace gw::noded::testing
