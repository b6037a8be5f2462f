// Requests of clients: dispatch behind the authorization table, answers that are given again to a client that asks
// again, and the changes to jobs that users ask for.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// A request of a client: is it allowed, within its user's rate, answered already? Then to whom it concerns.
void on_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
