// The steps of a job beside its own run.
// Invariants: a step begins only within a run of its job that is ready and not ending; one that was refused
// once is refused for good.
#pragma once

#include "noded/core/core.h"

namespace gw::noded {

void on_start_step(Core& core, const wire::StartStep& message);

}  // namespace gw::noded
