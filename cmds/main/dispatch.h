// The table of commands.
#pragma once

#include <string>
#include <vector>

namespace gw::cmds {

/// Finds the command by argv[0] (or by argv[1] for the program's own name) and runs it.
int run_by_name(const std::vector<std::string>& argv);

}  // namespace gw::cmds
