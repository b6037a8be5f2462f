// BLAKE2b-256 of what comes in pieces.
#pragma once

#include <array>
#include <string_view>

#include "auth/crypto.h"

namespace gw::auth {

class Hasher {
 public:
  Hasher();
  void add(std::string_view bytes);
  /// Once, at the end.
  Bytes32 finish();

 private:
  static constexpr size_t kStateBytes = 384;  // checked where libsodium is seen
  alignas(64) std::array<unsigned char, kStateBytes> state_{};
};

}  // namespace gw::auth
