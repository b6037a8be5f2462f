// The environment of a step's tasks on one node: the job's variables with the step's laid over them.
// Invariants: as of job_env.h; what differs from task to task (PROCID, LOCALID, GTIDS, TASK_PID) is not in it. HOME,
// USER, LOGNAME, SHELL and PATH are for clients that send none: the shepherd lets the client's own stand.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "bind/places.h"
#include "noded/core/facts.h"
#include "wire/node.pb.h"

namespace gw::noded {

/// NAME=value lines.
std::vector<std::string> step_environment(const NodeFacts& node, const wire::StartStep& start,
                                          const bind::Binding& binding, const UserInfo& user, base::Time now);

}  // namespace gw::noded
