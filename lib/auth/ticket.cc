// Tickets by libsodium's Ed25519. A ticket's bytes: magic, rights u8, six u32, expiry u64, client key, nonce,
// signature; little-endian.
#include "auth/ticket.h"

#include <sodium.h>

#include "auth/codec.h"
#include "base/check.h"

namespace gw::auth {
namespace {

using base::ErrorCode;

constexpr std::string_view kMagic = "GWT1";
constexpr std::string_view kDomain = "gangway ticket 1:";  // so that a signature of something else is never a ticket
constexpr std::string_view kKeyTitle = "gangway-ticket-key-1 ";
constexpr size_t kSignatureBytes = crypto_sign_BYTES;
static_assert(kTicketBytes == 4 + 1 + 6 * 4 + 8 + 32 + 16 + kSignatureBytes);
static_assert(sizeof(Bytes32) == crypto_sign_PUBLICKEYBYTES && sizeof(Bytes32) == crypto_sign_SEEDBYTES);
static_assert(sizeof(Bytes32) == crypto_kx_PUBLICKEYBYTES);

const unsigned char* unsigned_bytes(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
template <size_t n>
std::string_view bytes_of(const std::array<unsigned char, n>& a) {
  return {reinterpret_cast<const char*>(a.data()), n};
}
template <size_t n>
void copy(std::array<unsigned char, n>& to, std::string_view from) {
  GW_CHECK(from.size() == n);
  std::copy(from.begin(), from.end(), to.begin());
}

/// The secret key in libsodium's form, wiped when it goes.
struct SodiumSecret {
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> bytes{};
  Bytes32 public_key{};

  explicit SodiumSecret(const Bytes32& seed) {
    init_crypto();
    crypto_sign_seed_keypair(public_key.data(), bytes.data(), seed.data());
  }
  SodiumSecret(const SodiumSecret&) = delete;
  SodiumSecret& operator=(const SodiumSecret&) = delete;
  ~SodiumSecret() { sodium_memzero(bytes.data(), bytes.size()); }
};

Ticket read_fields(std::string_view signed_part) {
  Reader in(signed_part);
  in.raw(kMagic.size());
  Ticket t;
  t.rights = static_cast<Rights>(in.u8());
  for (uint32_t* field : {&t.uid, &t.gid, &t.job, &t.step, &t.attempt, &t.generation}) *field = in.u32();
  t.expiry.us = static_cast<int64_t>(in.u64());
  copy(t.client_key, in.raw(sizeof t.client_key));
  copy(t.nonce, in.raw(sizeof t.nonce));
  GW_CHECK(in.is_complete());
  return t;
}

tl::unexpected<base::Error> denied(std::string what, std::string hint = {}) {
  return base::fail(ErrorCode::kDenied, std::move(what), std::move(hint));
}

}  // namespace

SigningKey::SigningKey(const Bytes32& seed) : seed_(seed), public_(SodiumSecret(seed).public_key) {}
SigningKey::SigningKey() : SigningKey(random_bytes32()) {}
SigningKey::~SigningKey() { sodium_memzero(seed_.data(), seed_.size()); }

std::string SigningKey::secret_text() const {
  std::array<char, 2 * sizeof(Bytes32) + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), seed_.data(), seed_.size());
  return std::string(kKeyTitle) + hex.data() + "\n";
}

base::Result<SigningKey> SigningKey::parse(std::string_view text) {
  Bytes32 seed{};
  size_t length = 0;
  const bool is_sized = text.size() == kKeyTitle.size() + 2 * seed.size() + 1 && text.back() == '\n';
  const auto hex = is_sized ? text.substr(kKeyTitle.size(), 2 * seed.size()) : std::string_view();
  if (!is_sized || !text.starts_with(kKeyTitle) ||
      sodium_hex2bin(seed.data(), seed.size(), hex.data(), hex.size(), nullptr, &length, nullptr) != 0 ||
      length != seed.size()) {
    return base::invalid("this is not a key for tickets", "restore the file, or remove it to have a new key made");
  }
  SigningKey key(seed);
  sodium_memzero(seed.data(), seed.size());
  return key;
}

std::string SigningKey::sign(std::string_view message) const {
  const SodiumSecret secret(seed_);
  std::string signature(kSignatureBytes, '\0');
  crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()), nullptr, unsigned_bytes(message),
                       message.size(), secret.bytes.data());
  return signature;
}

TicketNonce random_nonce() {
  init_crypto();
  TicketNonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::string sign_ticket(const SigningKey& controller, const Ticket& t) {
  Writer out;
  out.raw(kMagic).u8(static_cast<uint8_t>(t.rights));
  for (const uint32_t field : {t.uid, t.gid, t.job, t.step, t.attempt, t.generation}) out.u32(field);
  out.u64(static_cast<uint64_t>(t.expiry.us)).raw(bytes_of(t.client_key)).raw(bytes_of(t.nonce));
  std::string bytes = out.take();
  return bytes + controller.sign(std::string(kDomain) + bytes);
}

base::Result<Ticket> verify_ticket(const Bytes32& controller_key, base::Time now, std::string_view bytes) {
  init_crypto();
  if (bytes.size() != kTicketBytes || !bytes.starts_with(kMagic)) return denied("this is not a ticket");
  const auto signed_part = bytes.substr(0, kTicketBytes - kSignatureBytes);
  const auto signature = bytes.substr(signed_part.size());
  const std::string message = std::string(kDomain).append(signed_part);
  if (crypto_sign_verify_detached(unsigned_bytes(signature), unsigned_bytes(message), message.size(),
                                  controller_key.data()) != 0) {
    return denied("the ticket was not signed by the controller of this cluster",
                  "it was changed, or the controller has a new key since the step started");
  }
  const Ticket ticket = read_fields(signed_part);
  if (ticket.rights != Rights::kWatch && ticket.rights != Rights::kFull) {
    return denied("the ticket grants rights that are not known here", "update the older of the two programs");
  }
  if (ticket.expiry <= now) {
    return denied("the ticket has expired", "clocks of the nodes must agree; otherwise ask for a new one");
  }
  return ticket;
}

base::Status check_audience(const Ticket& ticket, const StepIdentity& step) {
  if (ticket.uid != step.uid) return denied("the ticket belongs to another user");
  if (ticket.job != step.job || ticket.step != step.step) return denied("the ticket is for another step");
  if (ticket.attempt != step.attempt) return denied("the ticket is for another run of this job");
  if (ticket.generation < step.generation) return denied("the ticket is older than this part of the job");
  return {};
}

base::Status TicketMemory::use(const Ticket& ticket, base::Time now) {
  latest_ = std::max(latest_, now);
  used_.erase(used_.begin(), used_.upper_bound(Key{latest_, {}}));
  if (ticket.expiry <= latest_) return denied("the ticket has expired", "ask for a new one");
  const Key key{ticket.expiry, ticket.nonce};
  if (used_.contains(key)) return denied("the ticket was used before", "ask for a new one");
  if (used_.size() >= max_entries_) {
    return base::fail(ErrorCode::kUnavailable, "too many connections were made to this step within a few minutes",
                      "wait some minutes");
  }
  used_.insert(key);
  return {};
}

}  // namespace gw::auth
