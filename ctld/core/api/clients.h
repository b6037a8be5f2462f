// Clients that have gone, and answers that the shell has for them.
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// A request that the shell carried out has this answer.
void on_shell_reply(Core& core, ConnId conn, wire::ApiReply reply);
/// A connection is closed: whoever waited on it waits no longer.
void on_client_gone(Core& core, ConnId conn);

}  // namespace gw::ctld
