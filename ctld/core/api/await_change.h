// Clients that watch the cluster wait here for the next change (ctld/core/tables/change_watch.h).
#pragma once

#include "ctld/core/core.h"

namespace gw::ctld {

/// Answers when there is something that who asks has not seen.
void await_change(Core& core, ConnId conn, const wire::ApiRequest& request);
/// The transaction is over: when somebody is to be told, a timer stands.
void look_for_changes(Core& core);
void changes_due(Core& core);

}  // namespace gw::ctld
