// Reading and writing the few fixed fields of handshakes, tickets and streams: little-endian numbers and counted
// strings. Invariant: the reader never reads beyond its input; after one failed read every later read fails.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gw::auth {

/// Appends fields to a string.
class Writer {
 public:
  Writer& u8(uint8_t v) { return raw({reinterpret_cast<const char*>(&v), 1}); }
  Writer& u16(uint16_t v) { return u8(static_cast<uint8_t>(v & 0xff)).u8(static_cast<uint8_t>(v >> 8)); }
  Writer& u32(uint32_t v) { return u16(static_cast<uint16_t>(v & 0xffff)).u16(static_cast<uint16_t>(v >> 16)); }
  Writer& u64(uint64_t v) { return u32(static_cast<uint32_t>(v)).u32(static_cast<uint32_t>(v >> 32)); }
  Writer& raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  /// Length as u16, then the text; cut at 65535 bytes.
  Writer& text(std::string_view s) {
    s = s.substr(0, UINT16_MAX);
    return u16(static_cast<uint16_t>(s.size())).raw(s);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Takes fields off a string.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  uint8_t u8() {
    const auto b = raw(1);
    return b.empty() ? uint8_t{0} : static_cast<uint8_t>(b[0]);
  }
  uint16_t u16() {
    const uint16_t low = u8();
    return static_cast<uint16_t>(low | u8() << 8);
  }
  uint32_t u32() {
    const uint32_t low = u16();
    return low | uint32_t{u16()} << 16;
  }
  uint64_t u64() {
    const uint64_t low = u32();
    return low | uint64_t{u32()} << 32;
  }
  /// The next n bytes; empty after a failure.
  std::string_view raw(size_t n) {
    if (failed_ || in_.size() < n) {
      failed_ = true;
      return {};
    }
    const auto bytes = in_.substr(0, n);
    in_.remove_prefix(n);
    return bytes;
  }
  std::string_view text() { return raw(u16()); }
  std::string_view rest() { return raw(in_.size()); }
  /// All was read and nothing is left over.
  bool is_complete() const { return !failed_ && in_.empty(); }
  bool is_ok() const { return !failed_; }

 private:
  std::string_view in_;
  bool failed_ = false;
};

}  // namespace gw::auth
