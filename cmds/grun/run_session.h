// One run of grun: an allocation if there is none, the step, its tasks, the end.
// Invariants: signals are answered at any time, whatever is waited for; what was asked of the controller and is not
// needed any more is taken back before the end; the terminal is left as it was found.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/control/allocation.h"
#include "attach/local/interrupts.h"
#include "attach/local/raw_terminal.h"
#include "attach/step/step_client.h"
#include "base/state_machine.h"
#include "cmds/grun/run_launch.h"
#include "cmds/grun/run_members.h"
#include "cmds/grun/run_options.h"
#include "cmds/grun/run_programs.h"
#include "cmds/grun/run_steps.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

/// What grun was called with, checked as far as that goes without the controller.
struct RunPlan {
  std::vector<MemberStep> members = std::vector<MemberStep>(1);
  wire::SubmitRequest submit;
  std::string multi_prog;  ///< Text of the file.
  LaunchContext context;
  bool quiet_ends = false;  ///< Tasks that fail say so themselves.
  /// The last word on what each node launches; may be empty.
  std::function<void(const wire::Step&, std::vector<attach::NodePlan>&, const LaunchContext&)> adjust;

  /// What was said of the first member holds for the call, where it is no matter of sizes.
  const RunOptions& options() const { return members.front().options; }
  RunOptions& options() { return members.front().options; }
  /// Of the first program.
  const std::vector<std::string>& words() const { return members.front().parts.front().command; }
};

class RunSession {
 public:
  RunSession(client::Program program, config::Config config, RunPlan plan);
  /// Returns the exit code.
  int run();

 private:
  /// For an allocation, or what the one that is there has.
  struct Asking {};
  /// The steps were asked for.
  struct Creating {};
  /// The controller has made them, or refused one.
  struct Answered {
    io::Timer kill_timer, interrupt_timer;
  };
  /// What was asked for is taken back.
  struct GivingUp {
    int code = 0;
    io::Timer limit_timer;
  };
  using Stages = base::Transitions<base::From<Asking>::To<Creating, GivingUp>,
                                   base::From<Creating>::To<Answered, GivingUp>, base::From<Answered>::To<GivingUp>>;

  client::Program program_;
  RunPlan plan_;
  io::Loop loop_;
  auth::KeyPair key_;
  attach::Errands line_, queries_;
  attach::Allocation allocation_;
  attach::EndOfJob end_of_job_;
  attach::Interrupts interrupts_;
  BesideStep beside_;
  const bool has_own_allocation_;
  RunSteps steps_;
  std::vector<io::Fd> files_;
  std::vector<std::unique_ptr<attach::Sink>> sinks_;
  std::optional<attach::RawTerminal> raw_;
  std::unique_ptr<attach::StepClient> client_;
  std::optional<int> exit_code_;
  bool has_reported_end_ = false;  // of its own allocation
  io::Timer end_timer_;
  base::StateMachine<Stages, Asking, Creating, Answered, GivingUp> stage_;

  bool has_own_allocation() const { return has_own_allocation_; }
  void ask_for_allocation();
  void on_allocated(const wire::Job& job);
  void ask_for_facts();
  void on_facts(MemberStep& member, const wire::Job& job);
  void create_steps();
  void on_steps(const base::Status& created);
  base::Status begin(const std::string& copies);
  base::Result<Commands> commands() const;
  base::Result<attach::Sink*> open_output(const Redirect& redirect, int otherwise, const char* name);
  base::Status open_input();
  void read_terminal_size();
  void enter_terminal();
  void watch_allocation();

  void watch_signals();
  void on_signal(int signo, void (RunSession::*handler)(int));
  void on_interrupt(int signo);
  void on_quit(int signo);
  void on_terminate(int signo);
  void on_forwarded(int signo);
  void on_resized(int signo);
  void on_stop(int signo);
  void on_continue(int signo);
  void give_up(int code);
  void end_allocation(int code);
  void leave(int code);

  void say(bool is_error, const std::string& text) const;
  void fail(const base::Error& error);
  void on_done(int code);
  void finish(int code);
  void leave_terminal(bool speaks);
};

}  // namespace gw::cmds
