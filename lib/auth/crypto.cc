// libsodium behind the primitives of crypto.h.
#include "auth/crypto.h"

#include <sodium.h>

#include "base/check.h"

namespace gw::auth {
namespace {

static_assert(sizeof(Bytes32) == crypto_kx_PUBLICKEYBYTES && sizeof(Bytes32) == crypto_kx_SECRETKEYBYTES);
static_assert(kSessionKeyBytes == crypto_kx_SESSIONKEYBYTES);

const unsigned char* data(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

void bind(SessionKey& key, std::string_view context) {
  const std::string_view raw(reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size());
  key.bytes = hash_parts({"gangway session", context}, raw);
}

thread_local size_t multiplications = 0;

using Exchange = int (*)(unsigned char*, unsigned char*, const unsigned char*, const unsigned char*,
                         const unsigned char*);

base::Result<KeyPair::Keys> exchange(Exchange f, const Bytes32& own, const Bytes32& secret, std::string_view peer,
                                     std::string_view context) {
  KeyPair::Keys keys;
  ++multiplications;
  if (peer.size() != crypto_kx_PUBLICKEYBYTES ||
      f(keys.receive.bytes.data(), keys.send.bytes.data(), own.data(), secret.data(), data(peer)) != 0) {
    return base::fail(base::ErrorCode::kProtocol, "the other side sent an unusable public key");
  }
  bind(keys.receive, context);
  bind(keys.send, context);
  return keys;
}

}  // namespace

void init_crypto() { GW_CHECK(sodium_init() >= 0); }

Bytes32 random_bytes32() {
  init_crypto();
  Bytes32 bytes;
  randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

Bytes32 hash_parts(std::initializer_list<std::string_view> parts, std::string_view key) {
  init_crypto();
  crypto_generichash_state state;
  crypto_generichash_init(&state, key.empty() ? nullptr : data(key), key.size(), sizeof(Bytes32));
  for (std::string_view part : parts) {
    std::array<unsigned char, 8> length{};
    for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<unsigned char>(part.size() >> (8 * i) & 0xff);
    crypto_generichash_update(&state, length.data(), length.size());
    crypto_generichash_update(&state, data(part), part.size());
  }
  Bytes32 digest;
  crypto_generichash_final(&state, digest.data(), digest.size());
  return digest;
}

bool equal_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

KeyPair::KeyPair() {
  init_crypto();
  ++multiplications;
  crypto_kx_keypair(public_.data(), secret_.data());
}

KeyPair::~KeyPair() { sodium_memzero(secret_.data(), secret_.size()); }

size_t KeyPair::work_of_this_thread() { return multiplications; }

base::Result<KeyPair::Keys> KeyPair::client_keys(std::string_view server_public, std::string_view context) const {
  return exchange(crypto_kx_client_session_keys, public_, secret_, server_public, context);
}

base::Result<KeyPair::Keys> KeyPair::server_keys(std::string_view client_public, std::string_view context) const {
  return exchange(crypto_kx_server_session_keys, public_, secret_, client_public, context);
}

}  // namespace gw::auth
