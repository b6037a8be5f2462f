// What an input does to messages: it replaces one of a handshake, or changes a part of it; it grows a field of a
// request.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <string>

#include "base/result.h"
#include "tests/fuzz/fuzz.h"
#include "wire/bounds.h"

namespace gw::fuzz {

class Meddler {
 public:
  /// `targets`: how many the input may choose from, the last of them none at all.
  Meddler(Input in, int targets)
      : target_(in.u8() % targets), replaces_(in.u8() % 2 == 0), at_(in.u16()), bytes_(in.rest()) {}

  /// The message number `message` as it arrives.
  std::string pass(int message, const std::string& original) {
    if (message != target_) return original;
    std::string changed = original;
    if (replaces_)
      changed = bytes_;
    else
      changed.replace(at_ % (changed.size() + 1), bytes_.size(), bytes_);
    is_changed_ = changed != original;
    return changed;
  }
  bool is_changed() const { return is_changed_; }

 private:
  int target_;
  bool replaces_;
  size_t at_;
  std::string bytes_;
  bool is_changed_ = false;
};

/// Wire types of protobuf.
constexpr uint32_t kVarint = 0, kFixed64 = 1, kLengths = 2;

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

/// A field of so many bytes, as protobuf writes it.
inline void put_field(std::string& out, uint32_t number, std::string_view bytes) {
  put_varint(out, number << 3 | kLengths);
  put_varint(out, bytes.size());
  out.append(bytes);
}

/// One field with `size` entries or bytes.
inline std::string grown_field(const wire::FieldBound& field, size_t size) {
  std::string out;
  if (!field.is_list) {
    put_field(out, field.number, std::string(size, 'a'));
    return out;
  }
  const bool is_number = field.type != wire::FieldType::kText && field.type != wire::FieldType::kMessage;
  std::string numbers;
  for (size_t n = 0; n < size; ++n) {
    if (is_number)
      put_varint(numbers, n % 1000);
    else
      put_field(out, field.number, field.type == wire::FieldType::kText ? "n" + std::to_string(n) : "");
  }
  if (is_number) put_field(out, field.number, numbers);
  return out;
}

/// The message with one of its lists and texts, or of those of a message in it, grown to so many entries or bytes: the
/// one that `choices`, random numbers, fall on, one for each level. What the field held before goes.
inline std::string grown(const wire::MessageBounds& bounds, const std::string& message, Input& choices, size_t size) {
  if (bounds.fields.empty()) return message;
  const wire::FieldBound& field = bounds.fields[choices.u8() % bounds.fields.size()];
  const bool goes_in = field.inside != nullptr && (!field.is_list || choices.u8() % 2 == 0);
  const bool has_size = field.is_list || field.type == wire::FieldType::kText;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  std::string out, inside;
  while (const uint32_t tag = in.ReadTag()) {
    const int begin = in.CurrentPosition();
    uint64_t number = 0;
    uint32_t length = 0;
    std::string bytes;
    const bool is_read = (tag & 7U) == kVarint ? in.ReadVarint64(&number)
                         : (tag & 7U) == kFixed64
                             ? in.ReadLittleEndian64(&number)
                             : in.ReadVarint32(&length) && in.ReadString(&bytes, static_cast<int>(length));
    if (!is_read) return message;
    const std::string_view whole = std::string_view(message).substr(static_cast<size_t>(begin));
    const bool is_it = tag >> 3U == field.number && (goes_in || has_size);
    if (is_it) inside = bytes;
    if (is_it) continue;
    put_varint(out, tag);
    out += whole.substr(0, static_cast<size_t>(in.CurrentPosition() - begin));
  }
  if (goes_in) {
    put_field(out, field.number, grown(*field.inside, inside, choices, size));
    return out;
  }
  return has_size ? out + grown_field(field, size) : out;
}

/// True if it came to something; an error is checked to be fit to be shown.
template <typename T>
bool is_sound(const base::Result<T>& result) {
  if (!result) check_error(result.error());
  return result.has_value();
}

}  // namespace gw::fuzz
