// One run of galloc: the allocation, the command inside it, the end.
// Invariants: the allocation is given back whatever ends the command, and if this program is killed the controller
// takes it back; the command is in the foreground of the terminal while it runs, and this program is again when it has
// ended.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "attach/control/allocation.h"
#include "cmds/galloc/alloc_options.h"
#include "cmds/shared/commands.h"

namespace gw::cmds {

class AllocSession {
 public:
  AllocSession(client::Program program, config::Config config, AllocOptions options, std::vector<std::string> command,
               wire::SubmitRequest submit);
  /// Returns the exit code.
  int run();

 private:
  client::Program program_;
  AllocOptions options_;
  std::vector<std::string> command_;
  wire::SubmitRequest submit_;
  std::string cluster_;
  io::Loop loop_;
  attach::Errands line_, queries_;
  attach::Allocation allocation_;
  pid_t child_ = 0;
  bool has_terminal_ = false;
  bool is_over_ = false;    // the job has ended by itself
  bool is_ending_ = false;  // what was asked for is being given back
  std::optional<int> exit_code_;
  io::Timer timer_;

  void watch_signals();
  void on_signal(int signo);
  void on_child();
  void on_started(base::Result<wire::Job> job);
  std::string nodes_of(const wire::Job& job) const;
  base::Status start(const wire::Job& job);
  [[noreturn]] void become_command(const wire::Job& job);
  void on_job_ended(const wire::Job& job);
  void give_back(int status);
  void give_up(int code);
  void say(const std::string& text) const;
  void finish(int code);
};

}  // namespace gw::cmds
