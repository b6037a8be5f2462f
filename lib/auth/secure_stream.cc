// Message sealing by libsodium's secretstream (XChaCha20-Poly1305).
#include "auth/secure_stream.h"

#include <sodium.h>

#include <utility>

#include "auth/crypto.h"
#include "base/check.h"

namespace gw::auth {
namespace {

using Sodium = crypto_secretstream_xchacha20poly1305_state;
static_assert(kSessionKeyBytes == crypto_secretstream_xchacha20poly1305_KEYBYTES);
static_assert(kStreamHeaderBytes == crypto_secretstream_xchacha20poly1305_HEADERBYTES);
static_assert(kSealOverhead == crypto_secretstream_xchacha20poly1305_ABYTES);
static_assert(sizeof(Sodium) <= 64 && alignof(Sodium) <= 16);

template <typename State>
Sodium* sodium(State& state) {
  return reinterpret_cast<Sodium*>(state.bytes.data());
}

tl::unexpected<base::Error> broken() {
  return base::fail(base::ErrorCode::kProtocol, "a message was changed, cut, repeated or reordered on its way",
                    "a fault or an attack on the network between the two hosts");
}

}  // namespace

SessionKey::~SessionKey() { sodium_memzero(bytes.data(), bytes.size()); }

SecureStream::SecureStream(const SessionKey& send_key, const SessionKey& receive_key) : receive_key_(receive_key) {
  init_crypto();
  crypto_secretstream_xchacha20poly1305_init_push(sodium(send_), header_.data(), send_key.bytes.data());
}

SecureStream::SecureStream(SecureStream&& other) noexcept
    : receive_key_(other.receive_key_),
      header_(other.header_),
      send_(other.send_),
      receive_(other.receive_),
      is_receiving_(std::exchange(other.is_receiving_, false)) {
  sodium_memzero(&other.send_, sizeof other.send_);
  sodium_memzero(&other.receive_, sizeof other.receive_);
}

SecureStream& SecureStream::operator=(SecureStream&& other) noexcept {
  if (this == &other) return *this;
  receive_key_ = other.receive_key_;
  header_ = other.header_;
  send_ = other.send_;
  receive_ = other.receive_;
  is_receiving_ = std::exchange(other.is_receiving_, false);
  sodium_memzero(&other.send_, sizeof other.send_);
  sodium_memzero(&other.receive_, sizeof other.receive_);
  return *this;
}

SecureStream::~SecureStream() {
  sodium_memzero(&send_, sizeof send_);
  sodium_memzero(&receive_, sizeof receive_);
}

base::Status SecureStream::set_peer_header(std::string_view header) {
  if (header.size() != kStreamHeaderBytes) return broken();
  const auto* bytes = reinterpret_cast<const unsigned char*>(header.data());
  if (crypto_secretstream_xchacha20poly1305_init_pull(sodium(receive_), bytes, receive_key_.bytes.data()) != 0) {
    return broken();
  }
  is_receiving_ = true;
  return {};
}

std::string SecureStream::seal(std::string_view plain, bool final) {
  std::string sealed;
  seal_to(sealed, plain, final);
  return sealed;
}

void SecureStream::seal_to(std::string& out, std::string_view plain, bool final) {
  const size_t start = out.size();
  out.resize(start + plain.size() + kSealOverhead);
  const unsigned char tag = final ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0;
  crypto_secretstream_xchacha20poly1305_push(sodium(send_), reinterpret_cast<unsigned char*>(out.data() + start),
                                             nullptr, reinterpret_cast<const unsigned char*>(plain.data()),
                                             plain.size(), nullptr, 0, tag);
}

base::Result<Opened> SecureStream::open(std::string_view sealed) {
  Opened opened;
  GW_TRY(is_final, open_into(opened.plain, sealed));
  opened.final = is_final;
  return opened;
}

base::Result<bool> SecureStream::open_into(std::string& plain, std::string_view sealed) {
  if (!is_receiving_ || sealed.size() < kSealOverhead) {
    is_receiving_ = false;
    return broken();
  }
  plain.resize(sealed.size() - kSealOverhead);
  unsigned char tag = 0;
  const int failed = crypto_secretstream_xchacha20poly1305_pull(
      sodium(receive_), reinterpret_cast<unsigned char*>(plain.data()), nullptr, &tag,
      reinterpret_cast<const unsigned char*>(sealed.data()), sealed.size(), nullptr, 0);
  const bool is_final = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
  if (failed != 0 || is_final) is_receiving_ = false;
  if (failed != 0) return broken();
  return is_final;
}

}  // namespace gw::auth
