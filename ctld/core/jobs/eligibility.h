// From submission to the scheduler: what keeps a pending job from being scheduled, and until when.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Puts a pending job before the scheduler, or says why not yet. The caller saves it. A component goes there with the
/// others before the transaction ends.
void update_eligibility(Core& core, model::Job& job);

/// Looks at the heterogeneous jobs of which a component has changed: once for each, however many of its components did.
void settle_components(Core& core);

/// Tells the scheduler, where it does not know it, that the job's user may run inside the reservation that it names.
void admit_to_reservation(Core& core, const model::JobSpec& spec);

}  // namespace gw::ctld
