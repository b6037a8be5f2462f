// The life of one gang on all nodes of a cluster: placed, cut off, back, suspended, the controller begun anew, over.
// Each node says what it says in a message and a commit of its own, and what that costs is counted.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {

/// What some events caused.
struct Cost {
  size_t rows = 0, row_bytes = 0, deltas = 0, messages = 0, message_bytes = 0;
};

inline size_t bytes_of(const store::JobRow& row) {
  return row.user.size() + row.name.size() + row.partition.size() + row.account.size() + row.qos.size() +
         row.nodes.size() + row.spec.size() + row.status.size() + 15 * sizeof(uint64_t);
}

/// What an operation carries to the disk.
inline size_t bytes_of(const store::Op& op) {
  return std::visit(
      [](const auto& o) {
        size_t bytes = 2 * sizeof(uint64_t);
        if constexpr (requires { o.row.status; }) bytes += bytes_of(o.row);
        if constexpr (requires { o.bytes.size(); }) bytes += o.bytes.size();
        if constexpr (requires { o.reply.size(); }) bytes += o.reply.size();
        if constexpr (requires { o.value.size(); }) bytes += o.value.size();
        if constexpr (requires { o.text.size(); }) bytes += o.text.size() + o.kind.size();
        if constexpr (requires {
                        o.node.size();
                        o.text.size();
                      })
          bytes += o.node.size();
        if constexpr (requires { o.object.size(); }) bytes += o.object.size();
        return bytes;
      },
      op);
}

class GangWorld : public World {
 public:
  explicit GangWorld(uint32_t nodes) : World(nodes, settings_for()), client(++last_conn) {
    on_effects = [this](const Effects& e) { count(e); };
    connect_all();
  }
  void place() {
    wire::ApiRequest request = submission(gang(static_cast<uint32_t>(settings.nodes.size())));
    request.mutable_submit()->mutable_spec()->set_not_preemptible(true);
    id = JobId(ask(0, request).submit().job_id());
    schedule();
    each([this](const std::string& node) { prepared(node, id); });
  }
  /// A cut switch.
  void lose() {
    each([this](const std::string& node) { cut(node); });
  }
  void come_back() {
    std::vector<wire::RunState> runs = {run(id, job(id).attempt, wire::kRunStarted)};
    if (has_step) {
      wire::RunState& step = runs.emplace_back(run(id, job(id).attempt, wire::kRunStarted));
      step.set_step(1);
      step.set_address("10.0.0.1:4711");
      step.set_key(std::string(32, 'k'));
    }
    each([&](const std::string& node) { connect(node, runs); });
  }
  /// The controller begins anew; the nodes come back to it.
  void restart_controller() {
    restart();
    come_back();
  }
  /// For longer than the nodes are waited for, with a fencing program and a lease that runs out.
  void lose_for_good() {
    lose();
    now = now + settings.node_timeout + base::hours(2);
    core->set_lease_clock(boot_now());
    core->on_tick(now);
    pump();
  }
  void suspend() {
    act(wire::kSuspend);
    each([this](const std::string& node) {
      wire::NodeToController m;
      m.mutable_suspended()->set_job(id.value);
      m.mutable_suspended()->set_attempt(job(id).attempt);
      m.mutable_suspended()->set_round(job(id).placed()->suspensions);
      say(node, m);
    });
  }
  void resume() {
    act(wire::kResume);
    schedule();
  }
  /// A step on all of them, whose shepherds get ready.
  void begin_step() {
    ask_for_step();
    each([this](const std::string& node) { ready(node); });
  }
  /// One that the first node cannot start, which others hear when they are ready; each says that it is gone.
  void fail_step() {
    ask_for_step();
    wire::NodeToController m;
    m.mutable_prepare_failed()->set_job(id.value);
    m.mutable_prepare_failed()->set_attempt(job(id).attempt);
    m.mutable_prepare_failed()->set_step(1);
    say("n0", m);
    each([this](const std::string& node) { ready(node); });
    each([this](const std::string& node) { done_of_step(node); });
    has_step = false;
  }
  void ask_for_step() {
    wire::ApiRequest r;
    r.mutable_create_step()->set_job_id(id.value);
    r.mutable_create_step()->set_client_key(std::string(32, 'c'));
    r.mutable_create_step()->mutable_step()->set_min_nodes(static_cast<uint32_t>(settings.nodes.size()));
    r.set_id(7);
    core->on_request(now, client, user(0), r);
    pump();
    has_step = true;
  }
  void ready(const std::string& node) {
    wire::NodeToController m;
    m.mutable_prepared()->set_job(id.value);
    m.mutable_prepared()->set_attempt(job(id).attempt);
    m.mutable_prepared()->set_step(1);
    m.mutable_prepared()->set_address("*:4711");
    m.mutable_prepared()->set_key(std::string(32, 'k'));
    say(node, m);
  }
  /// One node has nothing of it left.
  void done_of_step(const std::string& node) {
    wire::NodeToController m;
    m.mutable_done()->set_job(id.value);
    m.mutable_done()->set_attempt(job(id).attempt);
    m.mutable_done()->set_step(1);
    say(node, m);
  }
  void end_step() {
    each([this](const std::string& node) {
      wire::NodeToController m;
      m.mutable_batch_exited()->set_job(id.value);
      m.mutable_batch_exited()->set_attempt(job(id).attempt);
      m.mutable_batch_exited()->set_step(1);
      say(node, m);
      done_of_step(node);
    });
    has_step = false;
  }
  void end() {
    exited("n0", id, 0);
    each([this](const std::string& node) {
      wire::NodeToController m;
      m.mutable_done()->set_job(id.value);
      m.mutable_done()->set_attempt(job(id).attempt);
      say(node, m);
    });
  }
  /// What was caused since the last call.
  Cost take_cost() { return std::exchange(cost_, {}); }

  JobId id;
  ConnId client;
  bool has_step = false;

 private:
  Cost cost_;

  static Settings settings_for() {
    Settings s;
    model::Partition& p = s.partitions.emplace_back();
    p.name = "main";
    p.is_default = p.unlimited = true;
    p.lease = base::hours(1);
    s.has_fence = true;
    s.allow_root_jobs = true;
    return s;
  }
  template <typename Fn>
  void each(const Fn& fn) {
    for (const model::NodeConfig& node : settings.nodes) fn(node.name);
  }
  void act(wire::JobAction action) {
    wire::ApiRequest r;
    r.mutable_job_action()->add_ids(id.value);
    r.mutable_job_action()->set_action(action);
    ask(0, r);
  }
  void count(const Effects& e) {
    cost_.rows += e.writes.size();
    for (const store::Op& op : e.writes) cost_.row_bytes += bytes_of(op);
    cost_.deltas += e.deltas.size();
    for (const Outgoing& out : e.out) {
      const auto* message = std::get_if<ToNode>(&out);
      if (message == nullptr) continue;
      ++cost_.messages;
      cost_.message_bytes += message->message.ByteSizeLong();
    }
  }
};

/// A part of a gang's life, in the order in which they follow each other.
struct GangPhase {
  const char* name;
  void (GangWorld::*run)();
  size_t most_rows;  ///< For each node.
};
inline constexpr GangPhase kGangLife[] = {
    {"placed", &GangWorld::place, 3},
    {"step begun", &GangWorld::begin_step, 2},
    {"controller restarted", &GangWorld::restart_controller, 2},
    {"switch cut", &GangWorld::lose, 2},
    {"back", &GangWorld::come_back, 2},
    {"step over", &GangWorld::end_step, 3},
    {"suspended", &GangWorld::suspend, 3},
    {"resumed", &GangWorld::resume, 1},
    {"over", &GangWorld::end, 5},
};

}  // namespace gw::ctld::testing
