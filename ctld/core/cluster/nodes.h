// What administrators change of nodes: drain, resume, take down, end what is foreign there.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Changes nodes as an administrator asks; all that are named, or none.
void update_node(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
