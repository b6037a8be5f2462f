// What scripts with #PBS lines look for in their environment: PBS_JOBID, PBS_NODEFILE and the rest, as Torque and PBS
// Pro name them. Pure. Invariant: only jobs that were submitted with such lines have them.
#pragma once

#include <string>

#include "noded/core/env_map.h"

namespace gw::noded {

/// Name of the file in a step's folder that PBS_NODEFILE names.
constexpr char kPbsNodeFile[] = "pbs_nodes";

/// Was the job submitted with #PBS lines?
bool is_of_pbs(const Env& env);

/// Replaces those of an enclosing job. Nothing in the environment of another job.
void put_pbs(Env& env, const NodeFacts& node, const wire::Prepare& prepare);

/// The lines of PBS_NODEFILE: the name of each node, as often as it has tasks. Empty where that would be longer than a
/// megabyte, or the gang is not told well.
std::string pbs_node_lines(const wire::Gang& gang);

}  // namespace gw::noded
