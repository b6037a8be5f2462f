// `gangway progress`: a running job says how far it has come. What follows from it is in model/progress.h; what the
// scheduler is told of it, in jobs/facts.h.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Takes what a job says of how far it is. Of what one job says within a second the first is kept, and the rest, which
/// the next report makes up for, is not.
void report_progress(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
