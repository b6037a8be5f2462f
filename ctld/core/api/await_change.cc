// See await_change.h.
#include "ctld/core/api/await_change.h"

#include <algorithm>

namespace gw::ctld {

void await_change(Core& core, ConnId conn, const wire::ApiRequest& request) {
  if (!core.clients.changes.ask(core.now, conn, request.id(), request.await_change().version(), core.out))
    core.out.refuse(conn, request.id(), {base::ErrorCode::kConflict, "this connection waits for a change already", ""});
}

void look_for_changes(Core& core) {
  if (const Time due = core.clients.changes.next_due(); due != Time::never())
    core.timers.set({std::max(due, core.now), TimerKind::kChanges, 0, 0});
}

void changes_due(Core& core) { core.clients.changes.look(core.now, core.out); }

}  // namespace gw::ctld
