// Jobs that are suspended and resumed. The job's script and its steps each have a shepherd, which freezes what is its
// own; the controller hears of the job as a whole.
// Invariant: Suspended is said once all of them stand, or with the first problem, and then none stands.
#pragma once

#include "noded/core/core.h"

namespace gw::noded {

void on_suspend(Core& core, const wire::Suspend& message);
void on_resume(Core& core, const wire::Resume& message);
/// A shepherd has frozen what is its own, or could not.
void on_suspended(Core& core, Run& run, const wire::StepSuspended& message);

/// Something of the job has changed: maybe all that is left of it stands now, and the controller is to hear of it.
void check_suspended(Core& core, Run& job);
/// Tells the shepherd, which may have missed it, whether the run is to be suspended.
void repeat_suspension(Core& core, const Run& run);

}  // namespace gw::noded
