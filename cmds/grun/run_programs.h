// Programs that grun runs itself, beside its step: --prolog before the tasks start, --epilog when they have ended.
#pragma once

#include <string>
#include <vector>

#include "wire/job.pb.h"

namespace gw::cmds {

/// Runs it with these words behind its name, an empty input, this process's environment and what the step is called in
/// SLURM_* and GANGWAY_*; blocks until it has ended. Returns its exit code, 128 + signal, or 127 if it cannot be run.
int run_beside(const std::string& program, const std::vector<std::string>& words, const wire::Step& step);

/// Runs a file with these words, the first being its own name, an empty input and this process's environment with
/// `settings` before it; blocks and returns likewise.
int run_to_end(const std::string& file, std::vector<std::string> words, std::vector<std::string> settings);

}  // namespace gw::cmds
