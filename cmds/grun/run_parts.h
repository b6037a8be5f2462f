// The parts of one step: `grun -n1 master : -n7 worker`. Each part has its program and its number of tasks; ranks go on
// from part to part, and to MPI all of them are one world.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cmds/grun/run_launch.h"

namespace gw::cmds {

struct StepPart {
  uint32_t tasks = 1;
  std::vector<std::string> command;
};

/// The parts, if a colon stands by itself among the words behind the options of the first, which has `tasks` tasks;
/// else none. Of a further part only -n/--ntasks may be said. Errors: another option, no program, a bad number.
base::Result<std::vector<StepPart>> parse_parts(const std::vector<std::string>& words, uint32_t tasks);
/// The command of each rank.
Commands commands_of(const std::vector<StepPart>& parts);

}  // namespace gw::cmds
