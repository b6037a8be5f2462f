// Proofs and keys from the step's secret by keyed BLAKE2b.
#include "peer/handshake.h"

#include <utility>

#include "auth/codec.h"

namespace gw::peer {
namespace {

using base::ErrorCode;

constexpr uint32_t kMagic = 0x52455047;
constexpr uint8_t kVersion = 2;
constexpr size_t kNonce = 32;

std::string_view view(const auth::SessionKey& key) {
  return {reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()};
}

auth::Bytes32 derive(const Identity& identity, std::string_view what, std::string_view hello, std::string_view nonce) {
  return auth::hash_parts({"gangway peer", what, identity.purpose, hello, nonce}, view(identity.secret));
}

auth::SessionKey key(const Identity& identity, std::string_view what, std::string_view hello, std::string_view nonce) {
  auth::SessionKey key;
  key.bytes = derive(identity, what, hello, nonce);
  return key;
}

std::string_view header_of(const auth::SecureStream& secure) {
  return {reinterpret_cast<const char*>(secure.header().data()), secure.header().size()};
}

tl::unexpected<base::Error> denied() {
  return base::fail(ErrorCode::kDenied, "the other side does not know the secret of this step");
}

tl::unexpected<base::Error> garbled() {
  return base::fail(ErrorCode::kProtocol, "a message of the handshake between nodes cannot be read");
}

/// Who says this hello.
base::Result<uint32_t> sender_of(const Identity& identity, std::string_view message) {
  auth::Reader reader(message);
  const uint32_t magic = reader.u32();
  const uint8_t version = reader.u8();
  const uint32_t from = reader.u32(), to = reader.u32();
  reader.raw(kNonce);
  const std::string_view proof = reader.raw(kNonce);
  if (!reader.is_complete() || magic != kMagic || version != kVersion) return garbled();
  const std::string_view said = message.substr(0, message.size() - proof.size());
  if (!auth::equal_secret(proof, auth::view(derive(identity, "hello", said, {})))) return denied();
  if (to != identity.self || from >= identity.nodes || from == to)
    return base::fail(ErrorCode::kProtocol, "node " + std::to_string(from) + " looks for node " + std::to_string(to) +
                                                ", but here is node " + std::to_string(identity.self) + " of " +
                                                std::to_string(identity.nodes));
  return from;
}

}  // namespace

base::Status check_hello(const Identity& identity, std::string_view message) {
  GW_TRY_STATUS(sender_of(identity, message));
  return {};
}

DialerHandshake::DialerHandshake(const Identity& identity, uint32_t to) : identity_(identity) {
  const auth::Bytes32 nonce = auth::random_bytes32();
  auth::Writer writer;
  hello_ = writer.u32(kMagic).u8(kVersion).u32(identity.self).u32(to).raw(auth::view(nonce)).take();
  hello_ += auth::view(derive(identity, "hello", hello_, {}));
}

base::Result<DialerHandshake::Finished> DialerHandshake::on_accept(std::string_view message) const {
  auth::Reader reader(message);
  const std::string_view nonce = reader.raw(kNonce), proof = reader.raw(kNonce);
  const std::string_view header = reader.raw(auth::kStreamHeaderBytes);
  if (!reader.is_complete()) return garbled();
  if (!auth::equal_secret(proof, auth::view(derive(identity_, "accept", hello_, nonce)))) return denied();
  auth::SecureStream secure(key(identity_, "of the dialer", hello_, nonce),
                            key(identity_, "to the dialer", hello_, nonce));
  GW_TRY_STATUS(secure.set_peer_header(header));
  auth::Writer writer;
  writer.raw(auth::view(derive(identity_, "finish", hello_, nonce))).raw(header_of(secure));
  return Finished{writer.take(), std::move(secure)};
}

base::Result<std::string> AnswerHandshake::on_hello(std::string_view message) {
  GW_TRY(from, sender_of(identity_, message));
  peer_ = from;
  hello_ = message;
  const auth::Bytes32 nonce = auth::random_bytes32();
  nonce_ = auth::view(nonce);
  secure_.emplace(key(identity_, "to the dialer", hello_, nonce_), key(identity_, "of the dialer", hello_, nonce_));
  auth::Writer writer;
  writer.raw(nonce_).raw(auth::view(derive(identity_, "accept", hello_, nonce_))).raw(header_of(*secure_));
  return writer.take();
}

base::Result<auth::SecureStream> AnswerHandshake::on_finish(std::string_view message) {
  auth::Reader reader(message);
  const std::string_view proof = reader.raw(kNonce), header = reader.raw(auth::kStreamHeaderBytes);
  if (!reader.is_complete() || !secure_) return garbled();
  if (!auth::equal_secret(proof, auth::view(derive(identity_, "finish", hello_, nonce_)))) return denied();
  GW_TRY_STATUS(secure_->set_peer_header(header));
  return std::move(*secure_);
}

}  // namespace gw::peer
