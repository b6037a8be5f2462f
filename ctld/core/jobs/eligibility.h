// From submission to the scheduler: what keeps a pending job from being scheduled, and until when.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Puts a pending job before the scheduler, or says why not yet. The caller saves it.
void update_eligibility(Core& core, model::Job& job);

}  // namespace gw::ctld
