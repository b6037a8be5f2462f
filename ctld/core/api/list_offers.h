// `gangway offers`: what a QOS could have now. The scheduler answers (cluster/node_offers.h); here is decided of which
// QOS and partitions who asks may know.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Fills in what was left out, and asks the scheduler. Errors: a QOS or a partition that is not there, or that who asks
/// may not use.
void list_offers(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
