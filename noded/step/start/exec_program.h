// Turning a task into the program of its user, and saying why that failed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace gw::noded::step {

/// Exit codes as shells give them.
constexpr int kNotFoundCode = 127;
constexpr int kNotExecutableCode = 126;

struct ExecFailure {
  int exit_code = kNotExecutableCode;
  std::string text;  ///< "./prog: No such file or directory"
  int error = 0;     ///< errno
};

/// How a ProgramCall would fail, as far as that can be known before: the program or its interpreter is not there, or
/// may not be executed.
std::optional<ExecFailure> foresee_failure(const std::string& name, const std::string& path);

/// A program that is about to be executed. What that takes is laid out before: its process may share this one's memory,
/// and have hardly any left by its limits.
class ProgramCall {
 public:
  struct Failed {
    size_t file = 0;
    int error = 0;
  };

  /// words[0] is looked for in the folders of `path` unless it has a slash.
  ProgramCall(std::vector<std::string> words, const std::string& path, std::vector<std::string> environment);
  ProgramCall(const ProgramCall&) = delete;
  ProgramCall& operator=(const ProgramCall&) = delete;

  /// Its own name for itself is another than that of its file.
  void call_itself(std::string name);
  /// SLURM_TASK_PID and GANGWAY_TASK_PID, which are part of every environment.
  void set_pid(pid_t pid);
  /// Replaces this process by the program. A text that the kernel takes for none is given to /bin/sh, as shells do it.
  /// Returns only on failure, and takes no memory.
  Failed run();
  ExecFailure explain(const Failed& failed) const;

 private:
  std::vector<std::string> words_;
  std::vector<std::string> files_;
  std::vector<std::string> environment_;
  std::vector<char*> argv_, shell_argv_, env_;

  int attempt(size_t file);
};

}  // namespace gw::noded::step
