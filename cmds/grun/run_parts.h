// The parts of a call: `grun -n1 master : -n7 worker`. Each has a program, and may have options of its own before it.
// Invariant: what is no matter of a part's size or place is said once, before the first program, and holds for all.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "client/options/option_table.h"
#include "cmds/grun/run_options.h"

namespace gw::cmds {

/// Where grun's options come from, beside its words.
struct CallSurroundings {
  client::GetEnv get;
  base::Time now;
  bool is_inside = false;  ///< Of an allocation.
};

struct CallPart {
  RunOptions options;
  std::vector<std::string> command;
  bool says_only_tasks = true;  ///< Nothing but -n, or nothing.
};

/// The parts; one, where no colon stands by itself among `words`, which come behind the options of the first. As in
/// Slurm a colon separates parts wherever it stands, also among a program's arguments. Errors: an option that is not a
/// part's, or has a wrong value; no program; too many parts.
base::Result<std::vector<CallPart>> read_parts(RunOptions first, const std::vector<std::string>& words,
                                               const CallSurroundings& from);

}  // namespace gw::cmds
