// Who hears of what: the events of a transaction are handed out, in the order in which they were posted, until none is
// left. Invariant: those who hear are above those who post (docs/architecture.md), so no call comes back to its caller.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Called at the end of each transaction.
void settle(Core& core);

}  // namespace gw::ctld
