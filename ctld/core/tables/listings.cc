// Lists in pieces. See listings.h.
#include "ctld/core/tables/listings.h"

namespace gw::ctld {

base::Status Listings::begin(base::Time now, ConnId conn, uint64_t request_id, Fill fill, Outbox& out) {
  if (open_.contains(conn))
    return base::fail(base::ErrorCode::kConflict, "a list is under way on this connection already",
                      "take it to its end, or use another connection");
  Open list{request_id, 0, std::move(fill)};
  if (!make_piece(now, conn, list, out)) open_.emplace(conn, std::move(list));
  return {};
}

void Listings::go_on(base::Time now, ConnId conn, uint64_t request_id, Outbox& out) {
  const auto it = open_.find(conn);
  if (it == open_.end() || it->second.request_id != request_id) return;
  if (make_piece(now, conn, it->second, out)) open_.erase(it);
}

bool Listings::fail(ConnId conn, uint64_t request_id, const base::Error& error, Outbox& out) {
  const auto it = open_.find(conn);
  if (it == open_.end() || it->second.request_id != request_id) return false;
  open_.erase(it);
  out.refuse_at_once(conn, request_id, error);
  return true;
}

bool Listings::make_piece(base::Time now, ConnId conn, Open& list, Outbox& out) {
  ListPiece piece;
  const bool is_last = list.fill(now, piece);
  piece.reply.set_id(list.request_id);
  piece.reply.set_piece(++list.pieces);
  piece.reply.set_more(!is_last);
  out.send(Reply{conn, std::move(piece.reply)});
  return is_last;
}

}  // namespace gw::ctld
