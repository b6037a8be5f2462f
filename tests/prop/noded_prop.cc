// The node agent under random events in random order: it never crashes, never has two attempts of one job at once,
// begins a step only within its job and says Done of the job after its steps, says Done only of runs whose processes
// are gone, and never forgets a living run. A prolog runs while nothing of the job is there, an epilog when nothing of
// it is there any more, of every run that had a prolog.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/noded_core/agent_script.h"

namespace gw::noded::testing {
namespace {

// What really is on the node, kept from the effects alone.
class Checker {
 public:
  explicit Checker(const NodeFacts& node) : has_no_prolog_(node.prolog.empty()), has_epilog_(!node.epilog.empty()) {}

  void see(const Effects& effects) {
    for (const Effect& effect : effects) std::visit([this](const auto& e) { on(e); }, effect);
  }
  // The shepherd of a run said that all is gone, died, or the containment was swept.
  void gone(RunKey run) { alive_.erase(run); }
  bool is_alive(RunKey run) const { return alive_.contains(run); }
  bool has_shepherd(RunKey run) const { return is_alive(run) && shepherds_.contains(run); }
  std::set<RunKey> releasing;
  std::set<RunKey> looked_up;

 private:
  void on(const LaunchShepherd& e) {
    start(RunKey::of(e.record));
    shepherds_.insert(RunKey::of(e.record));
  }
  void on(const PrepareShare& e) { start(RunKey::of(e.record)); }
  void on(const LookupUser& e) { looked_up.insert(e.run); }
  void on(const ReleaseShare& e) {
    RC_ASSERT(!has_steps(e.run));  // they lie in its group
    releasing.insert(e.run);
  }
  void on(const SendToController& e) {
    if (e.message.has_done()) {
      RC_ASSERT(!is_alive(RunKey::of(e.message.done())));
      RC_ASSERT(!has_steps(RunKey::of(e.message.done())));
      RC_ASSERT(!owed_.contains(RunKey::of(e.message.done())));
    }
    if (e.message.has_prepare_failed()) RC_ASSERT(!is_alive(RunKey::of(e.message.prepare_failed())));
    if (e.message.has_prepare_failed()) RC_ASSERT(!owed_.contains(RunKey::of(e.message.prepare_failed())));
  }
  void on(const RunProgram& e) {
    const RunKey run = RunKey::of(e.record);
    RC_ASSERT(!is_alive(run) && !has_steps(run));
    for (const RunKey& other : alive_) RC_ASSERT(other.job != run.job);
    const bool was_owed = owed_.erase(run) == 1;
    for (const RunKey& other : owed_) RC_ASSERT(other.job != run.job);
    if (e.which == NodeProgram::kEpilog) RC_ASSERT(was_owed || has_no_prolog_);
    if (e.which == NodeProgram::kEpilog) return;
    RC_ASSERT(!was_owed);
    if (has_epilog_) owed_.insert(run);
  }
  void on(const ForgetRun& e) {
    RC_ASSERT(!is_alive(e.run));
    RC_ASSERT(!owed_.contains(e.run));
  }
  void on(const auto&) {}

  void start(RunKey run) {
    RC_ASSERT(launched_.insert(run).second);  // a run starts once
    for (const RunKey& other : alive_) RC_ASSERT(other.job != run.job || (run.is_step() && other.own() == run.own()));
    alive_.insert(run);
  }

  bool has_steps(RunKey run) const {
    return std::any_of(alive_.begin(), alive_.end(), [&](const RunKey& other) { return other.is_step_of(run); });
  }

  std::set<RunKey> alive_, launched_, shepherds_;
  bool has_no_prolog_, has_epilog_;
  std::set<RunKey> owed_;  // their epilog
};

const std::vector<std::string> kVerbs = {
    "prepare",  "prepare",  "prepare", "user",   "user",       "nouser", "connected",     "lost",      "gone",
    "ready",    "ready",    "started", "exit",   "never",      "clean",  "contained",     "contained", "not-contained",
    "released", "released", "go",      "go",     "stop",       "kill",   "signal",        "ack-exit",  "ack-done",
    "wait",     "down",     "up",      "up",     "registered", "beat",   "launch-failed", "step",      "step",
    "suspend",  "resume",   "stands",  "prolog", "prolog",     "epilog", "epilog"};

std::string random_line() {
  const std::string verb = *rc::gen::elementOf(kVerbs);
  static const std::set<std::string> of_jobs = {"prepare", "go",     "contained", "not-contained",
                                                "suspend", "resume", "prolog",    "epilog"};
  const uint32_t step = of_jobs.contains(verb) ? 0 : *rc::gen::inRange(verb == "step" ? 1u : 0u, 3u);
  const RunKey run{*rc::gen::inRange(7u, 9u), *rc::gen::inRange(1u, 4u), step};
  if (verb == "wait") return "wait " + std::to_string(*rc::gen::elementOf(std::vector<int>{0, 1, 6, 35, 61}));
  if (verb == "down" || verb == "up" || verb == "beat") return verb;
  if (verb == "registered" && *rc::gen::arbitrary<bool>()) return verb;
  std::string line = verb + " " + run.text();
  if (verb == "signal") line += " 10";
  if (verb == "suspend" || verb == "resume" || verb == "stands") line += " " + std::to_string(*rc::gen::inRange(1, 3));
  if (verb == "stands" && *rc::gen::inRange(0, 4) == 0) line += " cannot";
  if ((verb == "prolog" || verb == "epilog") && *rc::gen::inRange(0, 4) == 0) line += " fails";
  if (verb != "prepare") return line;
  return line + *rc::gen::elementOf(std::vector<std::string>{" go", " nodes=n0,n1", " nodes=n1,n0", " go lease=30"});
}

// Mostly one thing; now and then all that makes a job or a step run, which chance alone seldom brings together.
std::vector<std::string> random_lines() {
  const int kind = *rc::gen::inRange(0, 12);
  const std::string job = RunKey{*rc::gen::inRange(7u, 9u), *rc::gen::inRange(1u, 4u), 0}.text();
  if (kind == 0)
    return {"prepare " + job + " nodes=n1,n0", "user " + job, "prolog " + job, "contained " + job, "go " + job};
  if (kind == 1)
    return {"prepare " + job + " go", "user " + job,  "prolog " + job,
            "connected " + job,       "ready " + job, "started " + job};
  if (kind > 4) return {random_line()};
  const std::string step = job + ".s" + std::to_string(*rc::gen::inRange(0, 2));
  return {"step " + step, "user " + step, "connected " + step, "ready " + step, "started " + step};
}

// Whether the node could say this: a shepherd that never was, or has gone, says nothing.
bool is_possible(const std::string& verb, RunKey run, const Checker& checker) {
  static const std::set<std::string> of_shepherd = {"connected", "lost",  "gone",  "ready",         "started",
                                                    "exit",      "never", "clean", "launch-failed", "stands"};
  if (verb == "released") return checker.releasing.contains(run);
  if (verb == "user" || verb == "nouser") return checker.looked_up.contains(run);
  if (verb == "contained" || verb == "not-contained") return checker.is_alive(run) && !checker.has_shepherd(run);
  return !of_shepherd.contains(verb) || checker.has_shepherd(run);
}

AgentConfig random_config() {
  AgentConfig config = AgentScript::config();
  const int kind = *rc::gen::inRange(0, 4);
  if (kind < 2) config.node.prolog = "/prolog";
  if (kind == 1 || kind == 2) config.node.epilog = "/epilog";
  return config;
}

void tell(AgentScript& script, Checker& checker, const std::string& line) {
  RC_LOG() << line << "\n";
  std::istringstream words(line);
  std::string verb, arg;
  words >> verb >> arg;
  const bool has_run = arg.find('.') != std::string::npos;
  const RunKey run = has_run ? parse_key(arg) : RunKey{};
  if (has_run && !is_possible(verb, run, checker)) return;
  // A script's processes end with its shepherd's word, its death, or a sweep; a share's with the sweep.
  if (verb == "clean" || (verb == "released" && checker.releasing.erase(run))) checker.gone(run);
  checker.see(script.play(line));
}

RC_GTEST_PROP(NodeAgentProperty, HoldsItsPromisesInAnyOrder, ()) {
  const AgentConfig config = random_config();
  AgentScript script(config);
  Checker checker(config.node);
  for (const char* line : {"start", "up", "registered"}) checker.see(script.play(line));
  const int count = *rc::gen::inRange(0, 150);
  for (int i = 0; i < count; ++i) {
    for (const std::string& line : random_lines()) tell(script, checker, line);
    RC_ASSERT(script.agent.next_wakeup() > base::Time{});
  }
}

// Whatever happened before: the controller, back for good, can end everything.
RC_GTEST_PROP(NodeAgentProperty, EndsEverythingWhenAsked, ()) {
  const AgentConfig config = random_config();
  AgentScript script(config);
  Checker checker(config.node);
  for (const char* line : {"start", "up", "registered"}) checker.see(script.play(line));
  const int count = *rc::gen::inRange(0, 80);
  for (int i = 0; i < count; ++i)
    for (const std::string& line : random_lines()) tell(script, checker, line);
  for (int round = 0; round < 12; ++round) {
    for (const std::string line : {"down", "wait 11", "up", "registered"}) tell(script, checker, line);
    std::vector<RunKey> keys;
    for (const auto& [key, run] : script.agent.runs()) keys.push_back(key);
    for (const RunKey& key : keys)
      for (const char* verb :
           {"user ", "prolog ", "contained ", "connected ", "clean ", "released ", "epilog ", "ack-exit ", "ack-done "})
        tell(script, checker, verb + key.text());
  }
  RC_ASSERT(script.agent.runs().empty());
}

}  // namespace
}  // namespace gw::noded::testing
