// One run of gattach: a ticket, the step's nodes, and what passes between them and the user.
// Invariants: leaving never ends the step; signals are answered at any time; the terminal is left as it was found. Who
// stays to the end has the code of all tasks, those included that ended before or while this came.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/control/allocation.h"
#include "attach/control/step_end.h"
#include "attach/control/tickets.h"
#include "attach/local/interrupts.h"
#include "attach/local/raw_terminal.h"
#include "attach/step/step_client.h"
#include "base/state_machine.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

struct AttachOptions {
  bool watch = false, layout = false, label = false, quiet = false;
  std::optional<uint32_t> only_output, only_error;  ///< Number of a task.
};

class AttachSession {
 public:
  AttachSession(client::Program program, config::Config config, AttachOptions options, const wire::Step& step);
  /// Returns the exit code; none if the step's tasks are not running yet, so that it is worth another try.
  std::optional<int> run();

 private:
  struct Joining {};
  struct Joined {};
  /// Its tasks continue without this.
  struct Leaving {
    bool had_joined = false;
  };
  /// The step is over, and the controller is asked how tasks ended that ended before or while this came.
  struct FindingCodes {
    io::Timer slow_timer;
  };
  using Stages = base::Transitions<base::From<Joining>::To<Joined, Leaving, FindingCodes>,
                                   base::From<Joined>::To<Leaving, FindingCodes>>;

  client::Program program_;
  AttachOptions options_;
  io::Loop loop_;
  auth::KeyPair key_;
  attach::Errands line_;
  attach::EndOfJob end_of_job_;
  attach::EndOfStep end_of_step_;
  attach::Interrupts interrupts_{true};
  wire::TicketRequest ticket_;
  std::string name_;  // "7.0"
  std::optional<attach::Tickets> tickets_;
  attach::Sink out_, error_;
  std::optional<attach::RawTerminal> raw_;
  std::unique_ptr<attach::StepClient> client_;
  std::optional<int> exit_code_;
  base::StateMachine<Stages, Joining, Joined, Leaving, FindingCodes> stage_;
  io::Timer retry_timer_;
  wire::Step step_;  // as it was when the ticket came: without nodes

  bool only_looks() const { return options_.watch || options_.layout; }
  bool has_joined() const;
  void depart(int code);
  void on_ticket(base::Result<wire::ApiReply> reply);
  base::Status begin(const wire::Step& step);
  attach::StepOptions step_options() const;
  void on_joined();
  void enter_terminal(const stream::Joined& screen);
  void print_layout();
  void leave(int code);
  void watch_signals();
  void on_interrupt();
  void on_end(int signo);
  void on_resized();
  void on_stop();
  void say(bool is_error, const std::string& text) const;
  void fail(const base::Error& error);
  void on_done(int code);
  void find_codes(int code);
  void on_end_of_step(int code);
  void try_again();
  void finish(int code);
  void leave_terminal(bool speaks);
};

/// Its nodes with their addresses and keys, each with `orders` of nothing but the number of its tasks. Errors: a
/// shepherd's key that is none.
base::Result<std::vector<attach::NodePlan>> plans_to_join(const wire::Step& step);
/// "Job step layout:" and who runs where, as sattach prints it.
std::string layout_text(const std::vector<std::string>& nodes, const std::vector<std::vector<uint32_t>>& ranks);

}  // namespace gw::cmds
