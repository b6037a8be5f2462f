// From submission to the scheduler: what keeps a pending job from being scheduled, and until when.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Puts a pending job before the scheduler, or says why not yet. The caller saves it.
void update_eligibility(Core& core, model::Job& job);

/// Tells the scheduler, where it does not know it, that the job's user may run inside the reservation that it names.
void admit_to_reservation(Core& core, const model::JobSpec& spec);

}  // namespace gw::ctld
