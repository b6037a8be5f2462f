// One node of a step as its client knows it: how far its tasks are, who they are, and the session with its shepherd.
// Invariant: a node only moves forward (awaited, ready, running, ended, closed); what it says late changes nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attach/step/node_contact.h"
#include "attach/step/node_session.h"
#include "attach/step/step_options.h"
#include "base/state_machine.h"

namespace gw::attach {

class StepNode {
 public:
  /// `say` is for losses of the connection. All but the plan outlive it.
  StepNode(io::Loop& loop, const StepOptions& options, NodePlan plan, NodeContact::SayFn say);

  const std::string& name() const { return plan_.node; }
  const std::string& address() const { return plan_.address; }
  /// As planned; of a step that runs, as far as the node has said.
  const wire::LaunchTasks& launch() const { return plan_.launch; }

  /// `at_once`: its tasks need not wait for other nodes. Errors: those of NodeSession::open.
  base::Status open(const auth::KeyPair& key, stream::ClientOptions options, bool at_once, stream::Client::AskFn ask,
                    size_t index, NodeEvents& events);
  /// Null before open().
  NodeSession* session() { return session_.get(); }
  const NodeSession* session() const { return session_.get(); }
  NodeContact& contact() { return contact_; }
  /// Passed over once the tasks have ended.
  void order(const wire::StepOrder& order);
  void send(const stream::Control& control);
  void end_input();

  /// All tasks stand ready; `helper`: the address of its PMIx server, as the node sees it.
  void on_ready(const std::string& helper);
  void on_running();
  /// No task is left, and all output was taken.
  void on_ended();
  /// The session is over.
  void on_closed();
  /// Nothing is waited for any more, though the session may not be over.
  void give_up() { phase_.change_if<Awaited, Ready, Running, Ended>(Closed{}); }
  bool is_awaited() const { return phase_.is<Awaited>(); }
  bool has_run() const { return phase_.is<Running, Ended, Closed>(); }
  bool has_ended() const { return phase_.is<Ended, Closed>(); }
  bool is_closed() const { return phase_.is<Closed>(); }
  /// Its tasks have ended, and nothing that they printed is missing.
  bool is_over() const { return phase_.is<Ended>() && session_->open_outputs() == 0; }
  /// As others can reach it; of who is ready.
  std::string helper_address() const;

  /// Who joins or watches is told what runs. False if that is known already.
  bool on_joined(const stream::Joined& joined);
  bool is_joined() const { return known_tasks_.has_value(); }
  /// Ranks are told in the order of places; false if the node has no more.
  bool add_rank(uint32_t rank);
  /// They had all ended before they could be joined.
  void forget_tasks() { plan_.launch.clear_tasks(); }

 private:
  struct Awaited {};
  struct Ready {
    std::string helper;
  };
  struct Running {};
  struct Ended {};
  struct Closed {};
  using Table = base::Transitions<base::From<Awaited>::To<Ready, Running, Ended, Closed>,
                                  base::From<Ready>::To<Running, Ended, Closed>, base::From<Running>::To<Ended, Closed>,
                                  base::From<Ended>::To<Closed>>;

  io::Loop& loop_;
  const StepOptions& options_;
  NodePlan plan_;
  NodeContact contact_;
  std::unique_ptr<NodeSession> session_;
  base::StateMachine<Table, Awaited, Ready, Running, Ended, Closed> phase_;
  std::optional<int> known_tasks_;  // absent: not joined
};

}  // namespace gw::attach
