// Do the tables agree with each other? For tests, which ask after every transaction; costs a look at everything.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// What the ledger holds is the sum of what jobs have on their nodes, each under the id for it, and nothing else; steps
/// belong to runs; no event is left. Error kInternal: the first thing that is not so.
base::Status audit(const Core& core);

}  // namespace gw::ctld
