// Administrators list what is held aside, and delete it.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Lists rows that are held aside, or deletes one; for administrators.
void held_request(Core& core, ConnId conn, const Caller& caller, const wire::ApiRequest& request);

}  // namespace gw::ctld
