// Takes what protobuf encodes off the front of some bytes. Private to this folder. Invariant: looks at nothing beyond
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gw::wire {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }
  size_t left() const { return rest_.size(); }

  std::optional<uint64_t> varint() {
    constexpr size_t kLongest = 10;
    uint64_t value = 0;
    for (size_t i = 0; i < rest_.size() && i < kLongest; ++i) {
      const auto byte = static_cast<unsigned char>(rest_[i]);
      value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        rest_.remove_prefix(i + 1);
        return value;
      }
    }
    return std::nullopt;
  }
  std::optional<std::string_view> take(uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::optional<std::string_view> bytes() {
    const auto size = varint();
    return size ? take(*size) : std::nullopt;
  }
  /// Passes over a value.
  bool skip(uint32_t type) {
    if (type == kVarint) return varint().has_value();
    if (type == kFixed64) return take(8).has_value();
    if (type == kFixed32) return take(4).has_value();
    return type == kBytes && bytes().has_value();
  }

 private:
  std::string_view rest_;
};

}  // namespace gw::wire
