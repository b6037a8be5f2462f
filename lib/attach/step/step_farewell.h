// How a step's client comes to its end: the step is over, or is ended from here, or this client goes and leaves it
// alone.
// Invariants: on_done comes once, from the loop, and never once this has gone. Who watches ends nothing. Once the end
// is decided nothing that nodes say changes it.
#pragma once

#include <functional>
#include <memory>

#include "attach/step/step_input.h"
#include "attach/step/step_nodes.h"
#include "attach/step/step_outputs.h"
#include "attach/step/step_reports.h"
#include "attach/step/step_verdict.h"
#include "base/state_machine.h"

namespace gw::attach {

class StepFarewell {
 public:
  /// All of them outlive it.
  StepFarewell(io::Loop& loop, const StepOptions& options, StepNodes& nodes, StepOutputs& outputs, StepInput& input,
               StepReports& reports, StepVerdict& verdict)
      : loop_(loop),
        options_(options),
        nodes_(nodes),
        outputs_(outputs),
        input_(input),
        reports_(reports),
        verdict_(verdict) {}

  void on_done(std::function<void(int exit_code)> fn) { done_fn_ = std::move(fn); }

  /// Nobody has told the step to end, and this client is there.
  bool is_attending() const { return state_.is<Attending>(); }
  /// The same, or its end is waited for.
  bool is_waiting() const { return state_.is<Attending, Ending>(); }
  /// See StepClient.
  bool has_departed() const;
  bool is_too_early() const;

  /// The first task has ended: ends the others after so long.
  void end_others_after(base::Duration wait);
  /// SIGTERM to all tasks, SIGKILL after the grace.
  void end(base::Duration grace);
  /// SIGKILL, and what they still print is dropped.
  void kill();
  /// Leaves the tasks alone and says so to their nodes; then on_done, with this code. `is_too_early`: it was to join
  /// tasks that do not run yet.
  void depart(int exit_code, bool is_too_early = false);
  /// To be called after everything that may have been the last thing to wait for.
  void check();

 private:
  struct Attending {
    io::Timer first_exit_timer;
  };
  struct Ending {
    io::Timer timer;
  };
  struct Departing {
    bool is_too_early = false;
    io::Timer look_timer;
  };
  /// on_done is on its way, or has come. `has_left`: it was to depart then.
  struct Done {
    bool has_left = false;
  };
  using Table =
      base::Transitions<base::From<Attending>::To<Ending, Departing, Done>, base::From<Ending>::To<Departing, Done>>;

  io::Loop& loop_;
  const StepOptions& options_;
  StepNodes& nodes_;
  StepOutputs& outputs_;
  StepInput& input_;
  StepReports& reports_;
  StepVerdict& verdict_;
  std::function<void(int)> done_fn_;
  base::StateMachine<Table, Attending, Ending, Departing, Done> state_;
  std::shared_ptr<void> alive_ = std::make_shared<char>();

  /// Continues waiting for the end until `limit` has passed, then calls `fn`.
  void wait_for_end(base::Duration limit, void (StepFarewell::*fn)());
  void give_up_waiting();
  void give_up_sessions();
  void wait_departed(int exit_code, int looks);
  void finish();
};

}  // namespace gw::attach
