// Topologies in the rows of nodes, read by several threads before the core takes the rows over: that is most of what
// ten thousand nodes cost a controller that starts. Invariant: what the core makes of the rows does not depend on it; a
// topology that cannot be read is left to the core, which says so.
#pragma once

#include <vector>

#include "store/rows.h"
#include "wire/topologies.h"

namespace gw::ctld {

/// Adds the topologies of `nodes` to those that are known by their bytes. What it gives keeps them alive until the core
/// has them. `threads`: at most so many, the caller's included.
std::vector<wire::Topologies::Ptr> read_topologies(const std::vector<store::NamedBytes>& nodes, wire::Topologies& known,
                                                   size_t threads);

}  // namespace gw::ctld
