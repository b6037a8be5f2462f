// Length-prefixed frames: encoding, and decoding from a stream that arrives in pieces.
#include "wire/frame.h"

#include <fmt/format.h>

#include "base/check.h"

namespace gw::wire {
namespace {

uint32_t load_u32(const char* p) {
  const auto* b = reinterpret_cast<const unsigned char*>(p);
  return uint32_t{b[0]} | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
}

}  // namespace

std::string frame_header(size_t size) {
  GW_CHECK(size <= kMaxFrame);
  std::string header(kFrameHeader, '\0');
  for (size_t i = 0; i < kFrameHeader; ++i) header[i] = static_cast<char>(size >> (8 * i) & 0xff);
  return header;
}

void append_frame(std::string& out, std::string_view payload) {
  out += frame_header(payload.size());
  out += payload;
}

void FrameDecoder::feed(std::string_view bytes) {
  if (error_) return;
  compact();
  buffer_ += bytes;
}

base::Result<std::optional<std::string>> FrameDecoder::next() {
  GW_TRY(payload, next_view());
  return payload ? std::optional<std::string>(*payload) : std::nullopt;
}

base::Result<std::optional<std::string_view>> FrameDecoder::next_view() {
  if (error_) return tl::unexpected(*error_);
  if (buffered_bytes() < kFrameHeader) return std::nullopt;
  const size_t length = load_u32(buffer_.data() + start_);
  if (length > max_bytes_) {
    error_ = base::Error{base::ErrorCode::kProtocol,
                         fmt::format("a message of {} bytes was announced; at most {} are allowed", length, max_bytes_),
                         "the other side is no Gangway program, or asks for too much at once"};
    buffer_ = {};
    start_ = 0;
    return tl::unexpected(*error_);
  }
  if (buffered_bytes() - kFrameHeader < length) return std::nullopt;
  const std::string_view payload = std::string_view(buffer_).substr(start_ + kFrameHeader, length);
  start_ += kFrameHeader + length;
  return payload;
}

void FrameDecoder::give_back() {
  if (buffered_bytes() > 0) return;
  buffer_ = {};
  start_ = 0;
}

// Drops what was returned, once it is worth the move; a buffer that held a large frame is given back.
void FrameDecoder::compact() {
  if (start_ == buffer_.size()) {
    if (buffer_.capacity() > kMaxHandshakeFrame) buffer_ = {};
    buffer_.clear();
    start_ = 0;
  } else if (start_ > buffer_.size() / 2) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
}

}  // namespace gw::wire
