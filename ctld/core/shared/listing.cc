// See listing.h.
#include "ctld/core/shared/listing.h"

#include <algorithm>
#include <utility>

#include "ctld/core/shared/replies.h"

namespace gw::ctld {

void begin_list(Core& core, ConnId conn, uint64_t request_id, Listings::Fill fill) {
  const base::Status begun = core.clients.listings.begin(core.now, conn, request_id, std::move(fill), core.out);
  if (!begun) core.out.refuse(conn, request_id, begun.error());
}

void on_piece_taken(Core& core, ConnId conn, uint64_t request_id) {
  if (core.stored.fault.empty()) return core.clients.listings.go_on(core.now, conn, request_id, core.out);
  core.clients.listings.fail(conn, request_id, store_error(core), core.out);
}

}  // namespace gw::ctld
