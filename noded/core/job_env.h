// The environment of a batch script: the submission environment with the job's variables laid over it.
// Invariants: every job variable that Slurm has is set under both prefixes, SLURM_ and GANGWAY_; job variables of an
// enclosing job that this job does not set are taken out; no name stands twice.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "noded/core/facts.h"
#include "wire/node.pb.h"

namespace gw::noded {

/// NAME=value lines for the batch script. `prepare.environment` holds the submission environment, NUL-separated;
/// entries without a name are dropped. HOME, USER, LOGNAME, SHELL and PATH are filled in where missing. `now` stands
/// for the start time where the order does not say it (a gang that waits for Go); without a time limit the end is given
/// as a year later, as Slurm does.
std::vector<std::string> job_environment(const NodeFacts& node, const wire::Prepare& prepare, const UserInfo& user,
                                         base::Time now);

/// In the submission's environment: the script has the variables of its user's login, which may take so many seconds.
constexpr char kLoginVariable[] = "SLURM_GET_USER_ENV";

/// NAME=value lines for the node's prolog and epilog: nothing of the submission environment, and of the job's variables
/// those that say whose job it is and what it has here.
std::vector<std::string> program_environment(const NodeFacts& node, const wire::Prepare& prepare, const UserInfo& user,
                                             base::Time now);

/// The variable that tells the vendor's run time which GPUs to use; empty without GPUs.
std::string gpu_variable(const NodeFacts& node, const std::vector<uint32_t>& gpus);
/// Its value for some of the GPUs that the job has on this node.
std::string visible_indices(const NodeFacts& node, const wire::NodeShare& job, std::vector<uint32_t> gpus);

}  // namespace gw::noded
