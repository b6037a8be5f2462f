// The few primitives that the handshake needs, by libsodium: random bytes, BLAKE2b, X25519 key exchange.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "auth/secure_stream.h"
#include "base/result.h"

namespace gw::auth {

/// Prepares libsodium; cheap after the first call, thread-safe. Aborts if the system has no randomness.
void init_crypto();

using Bytes32 = std::array<unsigned char, 32>;

Bytes32 random_bytes32();
/// BLAKE2b-256 of the parts, each with its length in front, so that no two lists of parts hash alike. `key` may be
/// empty.
Bytes32 hash_parts(std::initializer_list<std::string_view> parts, std::string_view key = {});
/// Comparison in constant time.
bool equal_secret(std::string_view a, std::string_view b);
inline std::string_view view(const Bytes32& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// An X25519 key pair for one connection; the secret half is wiped when it goes.
class KeyPair {
 public:
  KeyPair();
  KeyPair(const KeyPair&) = delete;
  KeyPair& operator=(const KeyPair&) = delete;
  ~KeyPair();

  struct Keys {
    SessionKey send;
    SessionKey receive;
  };
  const Bytes32& public_key() const { return public_; }
  /// Session keys with the peer, bound to `context` (transcript and nonce). Errors: an unusable public key.
  base::Result<Keys> client_keys(std::string_view server_public, std::string_view context) const;
  base::Result<Keys> server_keys(std::string_view client_public, std::string_view context) const;
  /// Multiplications of the curve by the calling thread, for key pairs of this kind and keys of sessions. Each takes as
  /// long as all else that a daemon does for one who comes, so its loop leaves them to other threads.
  static size_t work_of_this_thread();

 private:
  Bytes32 public_{};
  Bytes32 secret_{};
};

}  // namespace gw::auth
