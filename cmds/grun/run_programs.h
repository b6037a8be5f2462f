// What grun runs itself beside its step: --prolog and the copies of --bcast before the tasks start, --epilog when they
// have ended.
// Invariants: signals are answered meanwhile; what runs is ended with what it is for; an epilog runs once, and only
// behind what came before the tasks.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "client/conn/program.h"
#include "cmds/grun/run_options.h"
#include "io/fd.h"
#include "io/loop.h"
#include "wire/job.pb.h"

namespace gw::cmds {

/// The nodes wait for their programs for a minute.
constexpr base::Duration kMostBefore = base::seconds(45), kMostBeforeAndHeld = base::seconds(55);

/// A process of this one, in a group of its own, with nothing to read.
class ChildProgram {
 public:
  /// Its exit code, 128 + signal, or 127 if it cannot be run.
  using Done = std::function<void(int code)>;
  explicit ChildProgram(io::Loop& loop) : loop_(loop) {}
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;
  ~ChildProgram() { stop(); }

  /// words[0] is its own name; `settings` stand above this process's environment. One at a time.
  void start(const std::string& file, std::vector<std::string> words, std::vector<std::string> settings, Done done);
  /// Kills it; `done` is not called.
  void stop();
  bool is_running() const { return pid_ > 0; }

 private:
  io::Loop& loop_;
  pid_t pid_ = 0;
  io::Fd end_;
  io::Watch watch_;
  Done done_;

  void on_end();
};

class BesideStep {
 public:
  /// All references outlive it. `words`: of the first program.
  BesideStep(io::Loop& loop, const client::Program& program, const RunOptions& options,
             const std::vector<std::string>& words)
      : loop_(loop), program_(program), options_(options), words_(words), child_(loop) {}

  /// Where the copies lie, as run_copies() takes it; empty: there are none. Errors: it took longer than `limit`; no
  /// copies could be made.
  using Ready = std::function<void(base::Result<std::string> copies)>;
  void before(const std::vector<wire::Step>& steps, const std::string& folder, base::Duration limit, Ready ready);
  /// Runs the epilog if there was a before(), then calls `done`; at once if it runs already.
  void after(const std::vector<wire::Step>& steps, std::function<void()> done);

 private:
  io::Loop& loop_;
  const client::Program& program_;
  const RunOptions& options_;
  const std::vector<std::string>& words_;
  ChildProgram child_;
  io::Timer limit_;
  bool has_begun_ = false;

  void run_own(const std::string& program, const char* name, const std::vector<wire::Step>& steps,
               std::function<void()> then);
  void copy(const std::vector<wire::Step>& steps, const std::string& folder, const Ready& ready);
};

}  // namespace gw::cmds
