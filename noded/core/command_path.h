// Where a job finds the commands that it was submitted with: sbatch's jobs find srun, with --export=NONE and in a login
// shell, too.
// Invariants: folders that are on PATH already stay where the user put them; jobs submitted by Gangway's own names
// never see Slurm's.
#pragma once

#include "noded/core/env_map.h"

namespace gw::noded {

/// Sets PATH and GANGWAY_COMMAND_PATH, by which a login shell sets PATH again after /etc/profile has set it anew: by
/// the file etc/profile.d/gangway_jobs.sh, or, where that is not installed, by functions that bash takes from the
/// environment and that go for the commands' names.
void put_commands(Env& env, const NodeFacts& node, bool has_slurm_names);

}  // namespace gw::noded
