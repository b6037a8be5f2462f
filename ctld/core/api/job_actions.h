// Jobs that are held, released, requeued, suspended, resumed.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Hold, release, requeue, suspend, resume.
void job_action(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
