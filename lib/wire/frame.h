// Frames over a byte stream: u32 little-endian length, then that many bytes. Pure: no I/O.
// Invariant: a frame whose length is over the bound is refused on sight of its length, before memory is taken for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gw::wire {

/// Bound of a frame's payload until the peer is authenticated, in bytes.
constexpr size_t kMaxHandshakeFrame = 64 * 1024;
/// Bound of a frame's payload afterwards, in bytes.
constexpr size_t kMaxFrame = 16 * 1024 * 1024;
/// Bytes in front of each payload.
constexpr size_t kFrameHeader = 4;

/// Appends one frame to `out`. The payload must be at most kMaxFrame bytes.
void append_frame(std::string& out, std::string_view payload);
/// Length field of a payload of `size` bytes.
std::string frame_header(size_t size);

/// Cuts a byte stream into frames.
class FrameDecoder {
 public:
  explicit FrameDecoder(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Takes bytes as they came; any cut is fine. Bytes after a refused frame are dropped.
  void feed(std::string_view bytes);
  /// The next whole payload, or nothing while it is incomplete. Errors: a length over the bound; the stream is then of
  /// no more use and every later call returns the same error.
  base::Result<std::optional<std::string>> next();
  /// The same without a copy; the payload is good until the decoder is fed or goes.
  base::Result<std::optional<std::string_view>> next_view();
  /// Gives its memory back if it holds no bytes.
  void give_back();
  /// Sets the bound for frames not yet returned.
  void set_max_bytes(size_t max_bytes) { max_bytes_ = max_bytes; }
  /// Bytes held that were not returned yet.
  size_t buffered_bytes() const { return buffer_.size() - start_; }

 private:
  size_t max_bytes_;
  std::string buffer_;
  size_t start_ = 0;  // first byte of buffer_ not yet returned
  std::optional<base::Error> error_;

  void compact();
};

}  // namespace gw::wire
