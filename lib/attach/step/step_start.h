// The start of a step on all its nodes as one.
// Invariants: no task runs before every node stands ready. Who watches says nothing to that. A size that is told before
// the tasks' terminal is there reaches it all the same.
#pragma once

#include <optional>

#include "attach/step/step_nodes.h"
#include "base/state_machine.h"

namespace gw::attach {

class StepStart {
 public:
  /// Both outlive it.
  StepStart(const StepOptions& options, StepNodes& nodes) : options_(options), nodes_(nodes) {}

  /// Lets the tasks go, or joins them, once no node is awaited any more.
  void release_if_ready();
  /// True when it turns out that every task runs, or has run: once.
  bool begin_running();
  bool is_running() const { return state_.is<Running>(); }
  /// Of the user's terminal. Before every task runs, the last one is kept for then: a node that has no terminal yet
  /// drops it.
  void resize(stream::WindowSize size);

 private:
  struct Gathering {};
  struct Released {};
  struct Running {};
  using Table = base::Transitions<base::From<Gathering>::To<Released, Running>, base::From<Released>::To<Running>>;

  const StepOptions& options_;
  StepNodes& nodes_;
  base::StateMachine<Table, Gathering, Released, Running> state_;
  std::optional<stream::WindowSize> early_size_;
};

}  // namespace gw::attach
