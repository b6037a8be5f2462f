// The components of a job as they were written: one, or several of a heterogeneous job, separated by `:` on the command
// line and by `#SBATCH hetjob` in the script.
// Invariants: there is at least one component; directives, then environment, then command line, later ones win. What
// says how many resources, and of what kind, is a component's own; everything else (name, times, files, ...) is said
// for the whole job, in whatever component it stands, and all components have it alike.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "client/options/directives.h"
#include "client/options/in_effect.h"
#include "cmds/gbatch/batch_table.h"
#include "cmds/request/components.h"

namespace gw::cmds {

/// Everything that was said of the components: from the script's directives, the environment and the command line.
struct Sources {
  std::vector<client::Directive> directives;
  std::string label;  ///< Of the script, for messages.
  client::GetEnv environment;
  std::vector<std::vector<std::string>> command_line;
  base::Time now;
  client::OptionsInEffect* seen = nullptr;  ///< What was said of any component is noted here.
};
/// Reads them; as many components as the longer of script and command line has. Errors: a bad option, with its place;
/// options that exclude each other; too many components.
base::Result<std::vector<BatchOptions>> read_components(const Sources& sources);

}  // namespace gw::cmds
