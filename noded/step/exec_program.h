// Turning a task into the program of its user, and saying why that failed.
#pragma once

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

/// How exec_program() would fail, as far as that can be known before: the program is not there, or may not be executed.
std::optional<ExecFailure> foresee_failure(const std::string& name, const std::string& path);
/// Replaces this process by words[0], which is looked for in the folders of `path` unless it has a slash. A text that
/// the kernel takes for no program is given to /bin/sh, as shells do it. Returns only on failure.
ExecFailure exec_program(std::vector<std::string> words, std::string path, std::vector<std::string>& environment);

}  // namespace gw::noded::step
