// From submission to the scheduler: what keeps a job that waits from being considered, and until when.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Puts a pending job before the scheduler, or says why not yet. The caller saves it.
void consider(Core& core, model::Job& job);

}  // namespace gw::ctld
