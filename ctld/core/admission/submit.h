// Submission: identity, partition, QOS and limits are checked, what no partition could ever run is refused, and the job
// enters the queue in the same transaction as its id.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Accepts a job, or says what it would come to (test_only). Nothing of a refused job is kept.
void submit(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
