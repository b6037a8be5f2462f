// Recovery: the core as the store left it. Nodes are out of reach until they register; their jobs stay theirs. Whatever
// the rows say the controller starts: those that cannot be read are held aside (shared/held.h).
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

base::Status restore(Core& core, const store::Snapshot& snapshot);

}  // namespace gw::ctld
