// The client's side of the handshake.
#include "auth/codec.h"
#include "auth/handshake.h"
#include "auth/handshake_format.h"
#include "base/check.h"
#include "base/text.h"

namespace gw::auth {
namespace {

using base::Error;
using base::ErrorCode;

std::string hello_prefix(VersionRange versions, Role role) {
  return Writer().raw(kHelloMagic).u16(versions.min).u16(versions.max).u8(static_cast<uint8_t>(role)).take();
}

}  // namespace

Error bad_answer(std::string what) {
  return {ErrorCode::kProtocol, std::move(what), "is this the address of a Gangway daemon of the same version?"};
}

Error read_refusal(Reader& in) {
  const uint8_t code = in.u8();
  const auto what = in.text();
  const auto hint = in.text();
  if (!in.is_complete() || what.empty()) return bad_answer("the server refused in a way that cannot be read");
  const bool known = code <= static_cast<uint8_t>(ErrorCode::kInternal);
  return {known ? static_cast<ErrorCode>(code) : ErrorCode::kProtocol, base::printable(what, 1000),
          base::printable(hint, 1000)};
}

ClientHandshake::ClientHandshake(std::string receiver, Role role, VersionRange versions)
    : receiver_(std::move(receiver)), role_(role), versions_(versions), nonce_(random_bytes32()) {
  GW_CHECK(versions.min <= versions.max);
}

std::string ClientHandshake::credential_payload() const {
  const auto prefix = hash_parts({hello_prefix(versions_, role_)});
  return Writer()
      .raw(kPayloadMagic)
      .raw(view(prefix))
      .raw(view(keys_.public_key()))
      .raw(view(nonce_))
      .text(receiver_)
      .take();
}

std::string ClientHandshake::hello(std::string_view credential) {
  hello_ = hello_prefix(versions_, role_).append(credential);
  return hello_;
}

base::Result<ClientHandshake::Done> ClientHandshake::on_answer(std::string_view answer) {
  Reader in(answer);
  const uint8_t tag = in.u8();
  if (tag == kRefuseTag) return tl::unexpected(read_refusal(in));
  const uint16_t version = in.u16();
  const auto server_key = in.raw(sizeof(Bytes32));
  const auto proof = in.raw(sizeof(Bytes32));
  const auto header = in.raw(kStreamHeaderBytes);
  if (tag != kAcceptTag || !in.is_complete())
    return tl::unexpected(bad_answer("the answer is not that of a Gangway daemon"));
  if (version < versions_.min || version > versions_.max) {
    return tl::unexpected(
        bad_answer("the server chose protocol version " + std::to_string(version) + ", which was not offered"));
  }
  const auto transcript = transcript_hash(hello_, version, server_key);
  if (!equal_secret(proof, view(server_proof(view(nonce_), transcript)))) {
    return base::fail(ErrorCode::kDenied,
                      "the answer was not made by " + receiver_ + ": its sender could not read the credential",
                      "another program listens on this address, or somebody changes the traffic");
  }
  GW_TRY(keys, keys_.client_keys(server_key, view(key_context(view(nonce_), transcript))));
  Done done{{}, {SecureStream(keys.send, keys.receive), version}};
  GW_TRY_STATUS(done.session.stream.set_peer_header(header));
  done.finish = Writer().raw(header_view(done.session.stream)).take();
  done.finish += done.session.stream.seal({});
  return done;
}

}  // namespace gw::auth
