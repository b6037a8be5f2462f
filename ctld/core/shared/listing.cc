// See listing.h.
#include "ctld/core/shared/listing.h"

#include <algorithm>
#include <utility>

#include "ctld/core/shared/replies.h"

namespace gw::ctld {

namespace {
void set_timer(Core& core) {
  if (const base::Time ready = core.clients.listings.next_ready(); ready != base::Time::never())
    core.timers.set({std::max(ready, core.now), TimerKind::kLists, 0, 0});
}
}  // namespace

void begin_list(Core& core, ConnId conn, uint64_t request_id, Listings::Fill fill, const std::string& question) {
  const base::Status begun =
      core.clients.listings.begin(core.now, conn, request_id, std::move(fill), core.out, question);
  if (!begun) return core.out.refuse(conn, request_id, begun.error());
  if (core.clients.listings.has(conn)) set_timer(core);
}

void lists_due(Core& core) {
  core.clients.listings.wake(core.now, core.out);
  set_timer(core);
}

void on_piece_taken(Core& core, ConnId conn, uint64_t request_id) {
  if (core.stored.fault.empty()) return core.clients.listings.go_on(core.now, conn, request_id, core.out);
  core.clients.listings.fail(conn, request_id, store_error(core), core.out);
}

}  // namespace gw::ctld
