// See clients.h.
#include "ctld/core/api/clients.h"

#include <algorithm>
#include <utility>

#include "ctld/core/jobs/allocation_end.h"
#include "ctld/core/steps/requests.h"

namespace gw::ctld {

void on_shell_reply(Core& core, ConnId conn, wire::ApiReply message) { core.out.send(Reply{conn, std::move(message)}); }

void on_client_gone(Core& core, ConnId conn) {
  client_left(core, conn);
  core.clients.listings.forget(conn);
  core.clients.changes.forget(conn);
  forget_step_waiters(core, conn);
  std::erase_if(core.clients.use_asked, [&](const auto& entry) { return entry.second.conn == conn; });
  std::erase_if(core.clients.unheard, [&](const auto& entry) { return entry.first.second == conn; });
  std::erase_if(core.clients.waiters, [&](const auto& entry) { return entry.second.conn == conn; });
}

}  // namespace gw::ctld
