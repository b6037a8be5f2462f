// Runs an administrator's program (fencing, mail, prolog and epilog) with a fixed environment and a time limit.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace gw::program {

struct ProgramCall {
  std::string program;  ///< An absolute path.
  std::vector<std::string> args;
  base::Duration limit = base::seconds(60);
  std::vector<std::string> variables = {};  ///< "NAME=value": what it sees beside PATH.
  std::string input = {};                   ///< Its standard input, cut at kMostProgramInput.
  size_t most_output = 4096;
  bool keeps_end = false;           ///< Of a longer output the end is kept, not the beginning.
  bool keeps_errors_apart = false;  ///< Its standard error is this process's, and no part of the output.
};
constexpr size_t kMostProgramInput = 1 << 20;

struct ProgramResult {
  int exit_code = -1;  ///< 128 + signal if it was killed; -1 if it could not be started.
  std::string text;    ///< Its output, cut at `most_output`, or why it could not run.
};

/// Blocks until the program itself has ended or the limit has passed; then it is killed, with what it started. It has
/// no open descriptors of ours and the system's signal dispositions.
ProgramResult run_program(const ProgramCall& call);

}  // namespace gw::program
