// Input of a step's tasks: from one source, piece by piece, to every node that takes it. A terminal's keys also mean
// something here.
// Invariants: the next piece is read when every node has taken the one before. Who joins reads nothing before the step
// runs: what is typed to one that cannot be joined yet waits for who tries again.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attach/local/detach_key.h"
#include "attach/local/source.h"
#include "attach/step/step_nodes.h"
#include "base/state_machine.h"

namespace gw::attach {

class StepInput {
 public:
  /// All of them outlive it.
  StepInput(io::Loop& loop, const StepOptions& options, StepNodes& nodes);

  /// The user wants to leave.
  void on_detach(io::Callback fn) { detach_fn_ = std::move(fn); }
  /// Once, before start().
  void take(Descriptor from);
  /// Null: there is none.
  Source* source();

  /// The nodes' sessions are open. Without a source the tasks have no input.
  void start();
  /// Every task runs. `has_terminal`: of a step that was joined.
  void on_running(bool has_terminal);
  /// Some node takes input again, or takes none any more.
  void pump();
  /// A key that waits for a second one is forgotten.
  void forget_key() { key_timer_.cancel(); }
  /// Nothing more is read. Not from inside a callback of the source.
  void stop();

 private:
  struct None {};
  struct Flowing {
    std::unique_ptr<Source> source;
    std::string piece;  // not taken by every node yet
  };
  /// The source has ended, and it is not known yet whether the step that is joined has a terminal.
  struct EndHeld {
    Flowing flow;
  };
  /// The tasks have been told that no more comes.
  struct Over {
    std::unique_ptr<Source> source;
  };
  using Table = base::Transitions<base::From<None>::To<Flowing, Over>, base::From<Flowing>::To<EndHeld, Over>,
                                  base::From<EndHeld>::To<Flowing, Over>>;
  /// What the end of the source means.
  enum class AtEnd : uint8_t { kHold, kEnd, kNothing };

  io::Loop& loop_;
  const StepOptions& options_;
  StepNodes& nodes_;
  base::StateMachine<Table, None, Flowing, EndHeld, Over> state_;
  AtEnd at_end_;
  DetachKey key_;
  io::Timer key_timer_;
  io::Callback detach_fn_;
  std::shared_ptr<void> alive_ = std::make_shared<char>();

  Flowing* flow();
  void on_piece(std::string_view piece);
  void on_source_end();
  std::string without_keys(std::string_view piece);
  void on_key_alone();
  void begin_piece();
  void end_all();
};

}  // namespace gw::attach
