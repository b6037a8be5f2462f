// Lists in pieces. See listings.h.
#include "ctld/core/tables/listings.h"

#include "wire/row_bytes.h"

namespace gw::ctld {

base::Status Listings::begin(base::Time now, ConnId conn, uint64_t request_id, Fill fill, Outbox& out,
                             const std::string& question) {
  if (open_.contains(conn))
    return base::fail(base::ErrorCode::kConflict, "a list is under way on this connection already",
                      "take it to its end, or use another connection");
  Open list{.request_id = request_id, .fill = std::move(fill), .question = question};
  list.batch = together_.ask(now, question, conn);
  if (list.batch != 0 || !make_piece(now, conn, list, out)) open_.emplace(conn, std::move(list));
  return {};
}

void Listings::go_on(base::Time now, ConnId conn, uint64_t request_id, Outbox& out) {
  const auto it = open_.find(conn);
  if (it == open_.end() || it->second.request_id != request_id) return;
  if (make_piece(now, conn, it->second, out)) forget(conn);
}

void Listings::wake(base::Time now, Outbox& out) {
  for (const auto& [conn, batch] : together_.take_due(now)) {
    const auto it = open_.find(conn);
    if (it == open_.end() || it->second.batch != batch) continue;  // it left
    out.send(ListReady{conn, it->second.request_id});
  }
}

bool Listings::fail(ConnId conn, uint64_t request_id, const base::Error& error, Outbox& out) {
  const auto it = open_.find(conn);
  if (it == open_.end() || it->second.request_id != request_id) return false;
  forget(conn);
  out.refuse_at_once(conn, request_id, error);
  return true;
}

void Listings::forget(ConnId conn) {
  open_.erase(conn);
  if (open_.empty()) kept_.clear();
}

bool Listings::make_piece(base::Time now, ConnId conn, Open& list, Outbox& out) {
  const uint32_t number = ++list.pieces;
  Reply reply{.conn = conn};
  bool is_last = false;
  if (list.batch != 0) {
    KeptPieces<Fill>::Piece piece = shared_piece(now, list, number);
    is_last = piece.is_last;
    list.fill = std::move(piece.rest);
    reply.shared = std::move(piece.bytes);
  } else {
    ListPiece piece;
    is_last = list.fill(now, piece);
    together_.charge(now, list.question, piece.cost());
    reply.reply = std::move(piece.reply);
  }
  reply.reply.set_id(list.request_id);
  reply.reply.set_piece(number);
  reply.reply.set_more(!is_last);
  out.send(std::move(reply));
  return is_last;
}

/// As somebody of the batch got it, or made now. All who are in the batch asked before its first piece was made.
KeptPieces<Listings::Fill>::Piece Listings::shared_piece(base::Time now, const Open& list, uint32_t number) {
  if (const KeptPieces<Fill>::Piece* kept = kept_.find(list.batch, number)) return *kept;
  KeptPieces<Fill>::Piece made{.rest = list.fill};
  ListPiece piece;
  made.is_last = made.rest(now, piece);
  together_.charge(now, list.question, piece.cost());
  made.bytes = std::make_shared<const std::string>(wire::row_bytes(piece.reply));
  kept_.keep(list.batch, number, made);
  return made;
}

}  // namespace gw::ctld
