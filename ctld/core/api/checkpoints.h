// `gangway checkpointed`: a job says that its work is saved. What is lost otherwise is counted in
// jobs/preemption_counts.h.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// The work of a run is saved: what it loses by a preemption counts from now on.
void checkpointed(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
