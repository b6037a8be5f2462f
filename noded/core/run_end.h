// How a run ends: it is told to stop, its containment is released, and when every process is gone the controller is
// told; then the next run of the job may begin.
// Invariants: a step ends with its job at the latest, and a job's own run is over only after its last step; a run
// leaves the table only through forget(), and its record goes with it. After each of these calls the run may be gone,
// and so may others of its job: they are to be looked up again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "noded/core/core.h"

namespace gw::noded {

/// Also for a run that is being stopped already, where this is sharper.
void stop(Core& core, Run& run, int64_t grace_us, bool kill_now);
/// Those of a job's own run.
void stop_steps(Core& core, RunKey job, int64_t grace_us, bool kill_now);
/// Tells the shepherd, which may have missed it.
void send_stop(Core& core, Run& run);

/// Has the containment end what is left. The group must be there as long as steps lie in it.
void release(Core& core, Run& run);
/// It cannot start, and may have left something: released.
void fail_and_release(Core& core, Run& run, const std::string& why);
/// Every process of its own is gone.
void finish(Core& core, Run& run);
/// Nobody asks for it any more. `failure`: why it could not start.
void forget(Core& core, RunKey key, std::optional<wire::PrepareFailed> failure);

}  // namespace gw::noded
