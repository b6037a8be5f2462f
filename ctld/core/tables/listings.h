// Long lists on their way to clients, made piece by piece: the next piece is made when the former has been written to
// the client, so that a list neither holds the controller up nor takes memory for a client that does not read.
// What a list guarantees: rows come in order; each is as of the moment when its piece was made; a row that was there
// all the time from the first piece to the last is in the list, once. Invariants: pieces are numbered from 1; a list
// ends with a piece that says so, or with an error; a connection has at most one list under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "ctld/core/tables/outbox.h"

namespace gw::ctld {

/// A part of a list that is filled until it is long enough.
class ListPiece {
 public:
  wire::ApiReply reply;
  /// A row of so many bytes was added.
  void added(size_t bytes) {
    bytes_ += bytes;
    ++rows_;
  }
  /// Things were looked at, whether or not they became rows.
  void looked_at(size_t things = 1) { looks_ += things; }
  /// The caller stops at the next row, and continues with it in the next piece.
  bool is_full() const { return bytes_ >= kBytes || rows_ >= kRows || looks_ >= kLooks; }

 private:
  // A turn of about a millisecond: others' requests wait for it.
  static constexpr size_t kBytes = 128 << 10, kRows = 200, kLooks = 10'000;
  size_t bytes_ = 0, rows_ = 0, looks_ = 0;
};

class Listings {
 public:
  /// Adds rows to the piece, from where the last call stopped; true: the list is whole.
  using Fill = std::function<bool(base::Time now, ListPiece& piece)>;

  /// Begins a list with its first piece. Error kConflict: the connection has one under way.
  base::Status begin(base::Time now, ConnId conn, uint64_t request_id, Fill fill, Outbox& out);
  /// The piece before was written: makes the next one. Nothing happens if there is no such list.
  void go_on(base::Time now, ConnId conn, uint64_t request_id, Outbox& out);
  /// The list ends with this error. False: there is no such list.
  bool fail(ConnId conn, uint64_t request_id, const base::Error& error, Outbox& out);
  void forget(ConnId conn) { open_.erase(conn); }
  bool has(ConnId conn) const { return open_.contains(conn); }

 private:
  struct Open {
    uint64_t request_id = 0;
    uint32_t pieces = 0;  // made so far
    Fill fill;
  };
  std::map<ConnId, Open> open_;

  /// True: that was the last one.
  static bool make_piece(base::Time now, ConnId conn, Open& list, Outbox& out);
};

}  // namespace gw::ctld
