// Leases: a run that has one ends by itself when the controller was not heard for as long.
// Invariant: a shepherd counts the lease by itself as well, and is told from when, each time that this is later, but
// not more often than twice in a heartbeat.
#pragma once

#include "base/boot_time.h"
#include "noded/core/core.h"

namespace gw::noded {

/// The controller was heard: renews leases, where it answers a beat of ours.
void hear_contact(Core& core, const wire::ControllerToNode& message);
/// Ends the run if its lease is over.
void check_lease(Core& core, Run& run);
/// When there is one to be ended, by the clock of leases.
base::BootTime next_lease_end(const Core& core);
/// Says in the exit that it was the lease, where a shepherd of an earlier version does not know for what it was told to
/// kill.
void name_lease(const Run& run, wire::StepExit& exit);

}  // namespace gw::noded
