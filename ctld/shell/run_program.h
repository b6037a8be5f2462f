// Runs an administrator's program (fencing) with a fixed environment and a time limit.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace gw::ctld {

struct ProgramResult {
  int exit_code = -1;  ///< 128 + signal if it was killed; -1 if it could not be started.
  std::string text;    ///< Its output, cut at 4 KiB, or why it could not run.
};

/// Blocks until the program has ended or `limit` has passed; then it is killed. It sees PATH and nothing else, no input
/// and no open descriptors of ours.
ProgramResult run_program(const std::string& program, const std::vector<std::string>& args, base::Duration limit);

}  // namespace gw::ctld
