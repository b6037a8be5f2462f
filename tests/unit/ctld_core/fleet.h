// Nodes that obey a controller core and remember what real ones do: which state they were told of, and by which state
// each of their runs was placed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {

class Fleet : public World {
 public:
  struct Run {
    wire::StateMark placed_in;
    wire::RunPhase phase = wire::kRunPrepared;
    wire::BatchExited exit;
    bool is_first = false;  // the script is here
  };
  using Key = std::pair<uint32_t, uint32_t>;
  struct NodeMemory {
    wire::StateMark seen;
    std::map<Key, Run> runs;
    std::set<Key> ended_by_order;
    size_t read = 0;  // of the messages over the present link
  };

  using World::World;
  std::map<std::string, NodeMemory> fleet;

  void join(const std::string& name) {
    NodeMemory& node = fleet[name];
    node.read = 0;
    const LinkId link = ++last_link;
    wire::NodeToController m;
    wire::Register& r = *m.mutable_register_node();
    r.set_name(name);
    r.set_boot_id("b1");
    *r.mutable_topology() = wire::to_wire(eight_gpus());
    if (!node.seen.root().empty()) *r.mutable_seen() = node.seen;
    for (const auto& [key, run] : node.runs) {
      wire::RunState& state = *r.add_runs() = World::run(JobId(key.first), key.second, run.phase);
      if (!run.placed_in.root().empty()) *state.mutable_placed_in() = run.placed_in;
    }
    core->on_node_message(now, link, NodePeer{0, "127.0.0.1"}, m);
    links[name] = link;
    pump();
    obey();
  }
  void join_all() {
    for (const auto& n : settings.nodes) join(n.name);
    settle();
  }
  /// Until nobody has anything to say.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      schedule();
      obey();
    }
  }
  /// The script of a run comes to its end.
  void end_script(const std::string& name, Key key, int code) {
    Run& run = fleet[name].runs.at(key);
    run.phase = wire::kRunEnding;
    run.exit.set_exit_code(code);
    if (links.contains(name)) report(name, key);
    settle();
  }
  /// The node has heard nothing for so long that it ends what has a lease.
  void lose_leases(const std::string& name) {
    for (auto& [key, run] : fleet[name].runs) {
      if (run.phase >= wire::kRunEnding) continue;
      run.phase = wire::kRunDone;
      run.exit.set_exit_signo(9);
      run.exit.set_reason(static_cast<uint32_t>(model::EndReason::kLeaseExpired));
    }
  }
  /// All links are gone, as when the controller is.
  void part() { links.clear(); }

 private:
  void report(const std::string& name, Key key) {
    const Run& run = fleet[name].runs.at(key);
    wire::NodeToController m;
    if (run.is_first) {
      *m.mutable_batch_exited() = run.exit;
      m.mutable_batch_exited()->set_job(key.first);
      m.mutable_batch_exited()->set_attempt(key.second);
      say(name, m);
    }
    if (run.phase == wire::kRunDone) report_done(name, key);
  }
  void report_done(const std::string& name, Key key) {
    wire::NodeToController m;
    m.mutable_done()->set_job(key.first);
    m.mutable_done()->set_attempt(key.second);
    say(name, m);
  }
  void obey() {
    for (const auto& [name, link] : std::map<std::string, LinkId>(links)) {
      NodeMemory& node = fleet[name];
      while (node.read < to_node[link].size()) {
        const wire::ControllerToNode m = to_node[link][node.read++];
        remember(node, m);
        obey(name, node, m);
      }
    }
  }
  static void remember(NodeMemory& node, const wire::ControllerToNode& m) {
    if (m.has_registered() && m.registered().has_mark() &&
        m.registered().mark().incarnation() != node.seen.incarnation())
      node.seen = m.registered().mark();
    node.seen.set_commit(std::max(node.seen.commit(), m.commit()));
    node.seen.set_next_job(std::max(node.seen.next_job(), m.next_job()));
  }
  void obey(const std::string& name, NodeMemory& node, const wire::ControllerToNode& m) {
    if (m.has_registered()) on_registered(name, node, m.registered());
    if (m.has_prepare()) {
      const Key key{m.prepare().job(), m.prepare().attempt()};
      Run& run = node.runs[key];
      run.placed_in = m.prepare().placed_in();
      run.is_first = m.prepare().gang().node_id() == 0;
      run.phase = m.prepare().go() ? wire::kRunStarted : wire::kRunPrepared;
      if (m.prepare().go())
        started(name, JobId(key.first));
      else
        prepared(name, JobId(key.first));
    }
    if (m.has_go())
      if (const auto it = node.runs.find({m.go().job(), m.go().attempt()}); it != node.runs.end())
        it->second.phase = wire::kRunStarted;
    if (m.has_stop()) {
      const Key key{m.stop().job(), m.stop().attempt()};
      if (const auto it = node.runs.find(key); it != node.runs.end()) {
        if (it->second.phase < wire::kRunEnding) node.ended_by_order.insert(key);
        it->second.phase = wire::kRunDone;
      }
      report_done(name, key);
    }
    if (m.has_ack() && m.ack().phase() == wire::kRunDone) node.runs.erase({m.ack().job(), m.ack().attempt()});
  }
  void on_registered(const std::string& name, NodeMemory& node, const wire::Registered& r) {
    std::set<Key> wanted;
    for (const wire::RunState& run : r.wanted()) wanted.insert({run.job(), run.attempt()});
    for (const auto& [key, run] : std::map<Key, Run>(node.runs)) {
      if (!wanted.contains(key) && run.phase < wire::kRunEnding) {
        node.ended_by_order.insert(key);
        node.runs.at(key).phase = wire::kRunDone;
      }
      if (node.runs.at(key).phase >= wire::kRunEnding) report(name, key);
    }
  }
};

}  // namespace gw::ctld::testing
