// The ways in which a pass tries to start the job that it serves, in their order.
#pragma once

#include "sched/cycle/session.h"

namespace gw::sched {

/// Starts the served job in the first way that works. `is_known`: that no node has gained what it lacks since it was
/// last looked at. `is_bound`: a limit is in its way.
bool starts(Session& session, Served& served, bool is_known, bool is_bound);

}  // namespace gw::sched
