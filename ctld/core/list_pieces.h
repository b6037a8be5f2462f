// A long list on its way to a client: serialised piece by piece, so that it takes the memory of its bytes alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ctld/core/effects.h"

namespace gw::ctld {

/// Merged by the client, the pieces and the last one are the reply.
class ListPieces {
 public:
  ListPieces(ConnId conn, uint64_t request_id, Effects& effects)
      : conn_(conn), request_id_(request_id), effects_(effects) {}
  /// What is filled at present; after the list it is the last piece, which the caller sends.
  wire::ApiReply& piece() { return piece_; }
  /// An item of so many bytes was added; the piece goes out if it has become long enough.
  void added(size_t bytes) {
    constexpr size_t kPieceBytes = 512 << 10;
    bytes_ += bytes;
    if (bytes_ < kPieceBytes) return;
    piece_.set_id(request_id_);
    piece_.set_more(true);
    effects_.out.push_back(Reply{conn_, {}, false, piece_.SerializeAsString()});
    piece_.Clear();
    bytes_ = 0;
  }

 private:
  ConnId conn_;
  uint64_t request_id_;
  Effects& effects_;
  wire::ApiReply piece_;
  size_t bytes_ = 0;
};

}  // namespace gw::ctld
