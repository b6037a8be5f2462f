// Hashing by libsodium.
#include "auth/hasher.h"

#include <sodium.h>

namespace gw::auth {
namespace {

crypto_generichash_state* state(unsigned char* bytes) { return reinterpret_cast<crypto_generichash_state*>(bytes); }

}  // namespace

Hasher::Hasher() {
  static_assert(sizeof(crypto_generichash_state) <= kStateBytes && alignof(crypto_generichash_state) <= 64);
  init_crypto();
  crypto_generichash_init(state(state_.data()), nullptr, 0, sizeof(Bytes32));
}

void Hasher::add(std::string_view bytes) {
  crypto_generichash_update(state(state_.data()), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

Bytes32 Hasher::finish() {
  Bytes32 digest;
  crypto_generichash_final(state(state_.data()), digest.data(), digest.size());
  return digest;
}

}  // namespace gw::auth
