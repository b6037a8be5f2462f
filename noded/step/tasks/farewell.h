// The end of a step towards its clients, and how it is told: outputs drain, the owner takes what is left and hears that
// the step has ended, and is let go.
// Invariants: the step's end is told once, when its output is with the owner or when there is nobody to take it; an
// owner that takes nothing holds it up for a limited time only, and so do last words the shepherd's leaving.
#pragma once

#include <functional>
#include <optional>
#include <variant>

#include "base/state_machine.h"
#include "io/loop.h"
#include "noded/step/tasks/audience.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// How long a client may take nothing of what it has not got yet once the tasks have ended: somebody may have stopped
/// it.
constexpr base::Duration kSettleLimit = base::minutes(10);
/// How long the last words to a client hold up the shepherd's leaving.
constexpr base::Duration kFarewell = base::seconds(2);

struct FarewellStates {
  /// The tasks live, or may.
  struct NotYet {};
  /// Outputs still have something.
  struct Draining {
    io::Timer patience;  // with an owner that takes nothing
  };
  /// The owner still takes what they had.
  struct Settling {
    io::Timer patience;
  };
  /// It is told that the step has ended.
  struct Closing {
    io::Timer patience;
  };
  /// It has been told, or is not there.
  struct Over {};
  using Machine =
      base::StateMachine<base::Transitions<base::From<NotYet>::To<Draining>, base::From<Draining>::To<Settling>,
                                           base::From<Settling>::To<Closing>, base::From<Closing>::To<Over>>,
                         NotYet, Draining, Settling, Closing, Over>;

  /// The step's end has not been told to the shepherd, waits to be fetched by it, or has been.
  struct Untold {};
  struct Told {
    wire::StepExit exit;
  };
  struct Fetched {};
  using Telling = base::StateMachine<base::Transitions<base::From<Untold>::To<Told>, base::From<Told>::To<Fetched>>,
                                     Untold, Told, Fetched>;

  /// The shepherd does not mean to leave yet; it does, and sessions get a moment; they are closed, and the word of it
  /// goes out; it may leave.
  struct Staying {};
  struct Parting {
    io::Timer moment;
  };
  struct LastWord {
    io::Timer moment;
  };
  struct Parted {};
  using Leaving =
      base::StateMachine<base::Transitions<base::From<Staying>::To<Parting>, base::From<Parting>::To<LastWord>,
                                           base::From<LastWord>::To<Parted>>,
                         Staying, Parting, LastWord, Parted>;
};

class Farewell : private FarewellStates {
 public:
  /// What it asks of the rest of the step.
  struct Asks {
    std::function<size_t()> untaken;  ///< Bytes that the owner is still to take.
    /// How the step ended; nothing if there is nothing to tell.
    std::function<std::optional<wire::StepExit>(bool is_stopped)> exit;
    std::function<void()> wake;  ///< The shepherd has something to look at.
  };
  /// `settle_limit_us`: in the place of kSettleLimit, if it is not 0.
  Farewell(io::Loop& loop, Audience& audience, int64_t settle_limit_us, Asks asks);
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;

  bool has_begun() const { return !state_.is<NotYet>(); }
  /// The last task has ended.
  void begin() { state_.go<NotYet, Draining>(); }
  /// The owner is waited for from now on, and no longer than it takes something.
  void await_owner() { await_owner(asks_.untaken()); }
  /// Continues as far as it can. `is_drained`: outputs have nothing more, and nothing else is awaited of the tasks.
  void advance(bool is_drained);
  /// The node daemon ends the step: nobody is waited for.
  void stop() { is_stopped_ = true; }
  /// How the step ended, once.
  std::optional<wire::StepExit> take_exit();
  /// The sessions have heard everything, or were given the time to.
  bool may_leave(size_t sessions);

 private:
  io::Loop& loop_;
  Audience& audience_;
  base::Duration settle_limit_;
  Asks asks_;
  Machine state_;
  Telling telling_;
  Leaving leaving_;
  bool is_stopped_ = false;

  void await_owner(size_t untaken_before);
  io::Timer* patience();
  void tell_exit();
  void say_last_word();
};

}  // namespace gw::noded::step
