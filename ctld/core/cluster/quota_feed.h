// The tree of quotas as the scheduler is told of it, and what it is told of the jobs that run.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Tells the scheduler, if what it knows is another: the tree, without what a spent budget takes from it.
void publish_quotas(Core& core);
/// The scheduler weighs what runs by what it was told of it: something of that is another now.
void tell_of_running(Core& core, const model::Job& job);

}  // namespace gw::ctld
