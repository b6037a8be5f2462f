// What scripts of other batch systems look for in their environment: PBS_JOBID, PBS_NODEFILE and the rest, as Torque
// and PBS Pro name them; JOB_ID, PE_HOSTFILE and the rest of Grid Engine. Pure. Invariant: only jobs that were
// submitted with #PBS lines or by a qsub have them, those of one system.
#pragma once

#include <string>

#include "noded/core/env_map.h"

namespace gw::noded {

/// Name of the file in a step's folder that PBS_NODEFILE or PE_HOSTFILE names.
constexpr char kSlotsFile[] = "slots";

/// Was the job submitted with #PBS lines, or by qsub of PBS?
bool is_of_pbs(const Env& env);

/// Replaces those of an enclosing job. Nothing in the environment of another job.
void put_queue_variables(Env& env, const NodeFacts& node, const wire::Prepare& prepare);

/// The lines of PBS_NODEFILE: the name of each node, as often as it has tasks. Empty where that would be longer than a
/// megabyte, or the gang is not told well.
std::string pbs_node_lines(const wire::Gang& gang);
/// The lines of PE_HOSTFILE: "NODE SLOTS QUEUE@NODE UNDEFINED". Empty as above.
std::string sge_host_lines(const wire::Prepare& prepare);

}  // namespace gw::noded
