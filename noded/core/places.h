// Tells steps that run where their tasks may run from now on, since other steps of the job came or went.
#pragma once

#include "noded/core/core.h"

namespace gw::noded {

/// Those that are due.
void tell_places(Core& core);
/// A step of the job has come or gone.
void places_changed(Core& core, RunKey job);

}  // namespace gw::noded
