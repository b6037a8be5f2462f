// The client of a whole step: launches its tasks on all nodes as one, or joins those that run, or watches them; carries
// their input and output, and says how it ended.
// Invariants: no task runs before every node stands ready; a node that cannot start its tasks ends the whole step. Who
// did not launch the step never ends it. The step is done when each task has ended and every byte of output was
// written, or was given up with a message. Nothing is called back once the client has gone; on_done comes once, from
// the loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attach/step/step_events.h"
#include "attach/step/step_machines.h"
#include "attach/step/step_options.h"

namespace gw::attach {

class StepClient final {
 public:
  using AskFor = StepNodes::AskFor;

  /// `plans` has at least one task. The key, the loop and the sinks outlive it.
  StepClient(io::Loop& loop, const auth::KeyPair& key, StepOptions options, std::vector<NodePlan> plans, Sink& out,
             Sink& error);
  ~StepClient();
  StepClient(const StepClient&) = delete;
  StepClient& operator=(const StepClient&) = delete;

  void on_say(SayFn fn) { machines_.reports.on_say(std::move(fn)); }
  /// Every task runs.
  void on_running(io::Callback fn) { machines_.running_fn = std::move(fn); }
  void on_done(std::function<void(int exit_code)> fn) { machines_.farewell.on_done(std::move(fn)); }
  /// The user wants to leave; see depart().
  void on_detach(io::Callback fn) { machines_.input.on_detach(std::move(fn)); }
  /// Input for the tasks; without it they get none. Once, before start().
  void take_input(Descriptor from) { machines_.input.take(std::move(from)); }
  /// Errors: those of StepNodes::open.
  base::Status start(const AskFor& ask);

  void signal(int signo) { machines_.nodes.signal(signo); }
  /// At any time: before the tasks run too.
  void resize(uint16_t rows, uint16_t columns) { machines_.start.resize({rows, columns}); }
  /// SIGTERM to all tasks, SIGKILL after the grace.
  void end(base::Duration grace) { machines_.farewell.end(grace); }
  /// SIGKILL, and what they still print is dropped.
  void kill() { machines_.farewell.kill(); }
  /// Leaves the tasks alone and says so to their nodes; then on_done, with this code.
  void depart(int exit_code) { machines_.farewell.depart(exit_code); }

  /// It was to join a step whose tasks do not run yet; on_done comes, and whoever likes tries again.
  bool is_too_early() const { return machines_.farewell.is_too_early(); }
  /// The end of some tasks is not known, or some of their output is missing.
  bool has_lost() const { return machines_.verdict.has_lost(); }
  /// The tasks of some node had ended before they could be joined or watched: their codes are not among those here.
  bool misses_ends() const { return machines_.verdict.misses_ends(); }
  /// It left before the step's end, was turned away, or has lost a node: its code is not that of the tasks.
  bool has_departed() const { return machines_.farewell.has_departed(); }
  /// Every task has run at some time.
  bool is_running() const { return machines_.start.is_running(); }
  /// It joined a step that has a terminal, whose size is this.
  std::optional<stream::Joined> screen() const { return machines_.screen; }
  /// What puts a terminal back that has shown what came.
  std::string screen_leave() const { return machines_.outputs.screen_leave(); }
  std::vector<std::string> node_names() const { return machines_.nodes.names(); }
  /// ranks[node][place]; complete once all tasks run.
  std::vector<std::vector<uint32_t>> layout() const { return machines_.nodes.layout(); }
  const TaskTable& tasks() const { return machines_.reports.tasks(); }
  const std::string& step() const { return machines_.options.step; }
  /// Null: there is no input.
  Source* source() { return machines_.input.source(); }
  /// Ends the connections without ending the sessions. For tests.
  void drop_connections() { machines_.nodes.drop_connections(); }

 private:
  const auth::KeyPair& key_;
  Sink& out_;
  Sink& error_;
  StepMachines machines_;
  StepEvents events_;
};

}  // namespace gw::attach
