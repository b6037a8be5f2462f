// The one way to move a job from state to state: by an event, which its present state must allow.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// False: the event does not fit the job's state; nothing was changed, and the log says so.
bool advance(Core& core, model::Job& job, model::JobEvent event);

}  // namespace gw::ctld
