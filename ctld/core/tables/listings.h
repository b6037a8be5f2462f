// Long lists on their way to clients, made piece by piece: the next piece is made when the former has been written to
// the client, so that a list neither holds the controller up nor takes memory for a client that does not read.
// What a list guarantees: rows come in order; each is as of the moment when its piece was made; a row that was there
// all the time from the first piece to the last is in the list, once. Lists of the same that many ask for are made once
// for several of them (asked_together.h). Invariants: pieces are numbered from 1; a list ends with a piece that says
// so, or with an error; a connection has at most one list under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "ctld/core/tables/asked_together.h"
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
  /// What it took to make, in rows.
  size_t cost() const {
    constexpr size_t kLooksOfRow = 64;
    return 1 + rows_ + looks_ / kLooksOfRow;
  }

 private:
  // A turn of about a millisecond: others' requests wait for it.
  static constexpr size_t kBytes = 128 << 10, kRows = 200, kLooks = 10'000;
  size_t bytes_ = 0, rows_ = 0, looks_ = 0;
};

class Listings {
 public:
  /// Adds rows to the piece, from where the last call stopped; true: the list is whole.
  using Fill = std::function<bool(base::Time now, ListPiece& piece)>;

  /// Begins a list, with its first piece unless many ask for the same now: `question` says what is asked for, whoever
  /// asks; empty: the list is only his who asks. Error kConflict: the connection has one under way.
  base::Status begin(base::Time now, ConnId conn, uint64_t request_id, Fill fill, Outbox& out,
                     const std::string& question = "");
  /// The piece before was written, or the list is ready: makes the next one. Nothing happens if there is no such list.
  void go_on(base::Time now, ConnId conn, uint64_t request_id, Outbox& out);
  /// When lists that wait will be ready; never: none waits.
  base::Time next_ready() const { return together_.next_due(); }
  /// Says so of those that are ready.
  void wake(base::Time now, Outbox& out);
  /// The list ends with this error. False: there is no such list.
  bool fail(ConnId conn, uint64_t request_id, const base::Error& error, Outbox& out);
  void forget(ConnId conn);
  bool has(ConnId conn) const { return open_.contains(conn); }

 private:
  struct Open {
    uint64_t request_id = 0;
    uint32_t pieces = 0;  // made so far
    Fill fill = {};
    std::string question = {};
    AskedTogether::Batch batch = 0;  // 0: it is made for this one alone
  };
  std::map<ConnId, Open> open_;
  AskedTogether together_;
  KeptPieces<Fill> kept_;

  /// True: that was the last one.
  bool make_piece(base::Time now, ConnId conn, Open& list, Outbox& out);
  KeptPieces<Fill>::Piece shared_piece(base::Time now, const Open& list, uint32_t number);
};

}  // namespace gw::ctld
