// What an earlier daemon left: its runs are taken over where they stand, and those of an earlier boot are cleaned up.
// Invariant: the controller is dialed only once nothing of an earlier boot is left, since what is not listed then is
// dead.
#pragma once

#include <vector>

#include "noded/core/core.h"

namespace gw::noded {

/// Once, first of all; then connects.
void on_recovered(Core& core, const std::vector<RecoveredRun>& found);

}  // namespace gw::noded
