// Inputs that are a sequence of things that happen: each a kind, a choice, and the bytes of a message.
#pragma once

#include "tests/fuzz/fuzz.h"

namespace gw::fuzz {

/// One of them: two bytes, the length of the payload as u16, the payload.
struct Record {
  uint8_t kind = 0;
  uint8_t choice = 0;
  std::string_view payload;
};
inline Record take_record(Input& in) {
  Record r;
  r.kind = in.u8();
  r.choice = in.u8();
  r.payload = in.take(in.u16());
  return r;
}
inline std::string make_record(uint8_t kind, uint8_t choice, std::string_view payload = {}) {
  std::string bytes = {static_cast<char>(kind), static_cast<char>(choice), static_cast<char>(payload.size() & 0xff),
                       static_cast<char>(payload.size() >> 8)};
  return bytes.append(payload);
}
template <typename Message>
bool parse_message(Message& message, std::string_view bytes) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace gw::fuzz
