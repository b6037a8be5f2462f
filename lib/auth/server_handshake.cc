// The server's side of the handshake, and refusals.
#include <fmt/format.h>

#include <algorithm>

#include "auth/codec.h"
#include "auth/handshake.h"
#include "auth/handshake_format.h"
#include "base/check.h"
#include "base/text.h"

namespace gw::auth {
namespace {

using base::ErrorCode;
using base::Result;

// Kept longer than the credential lives: munged's clock and comparison are in whole seconds.
constexpr base::Duration kExpiryMargin = base::seconds(5);

struct Payload {
  std::string_view prefix_hash, client_key, nonce, receiver;
};

Result<Payload> read_payload(std::string_view bytes) {
  Reader in(bytes);
  const bool is_ours = in.raw(kPayloadMagic.size()) == kPayloadMagic;
  Payload p;
  p.prefix_hash = in.raw(sizeof(Bytes32));
  p.client_key = in.raw(sizeof(Bytes32));
  p.nonce = in.raw(sizeof(Bytes32));
  p.receiver = in.text();
  if (!is_ours || !in.is_complete()) {
    return base::fail(ErrorCode::kProtocol, "the credential was not made for a Gangway handshake");
  }
  return p;
}

}  // namespace

Result<uint16_t> choose_version(VersionRange own, VersionRange theirs) {
  const uint16_t best = std::min(own.max, theirs.max);
  if (theirs.min <= theirs.max && best >= own.min && best >= theirs.min) return best;
  return base::fail(
      ErrorCode::kProtocol,
      fmt::format("no common protocol version: the client speaks {}, the server {}", theirs.text(), own.text()),
      "update the older of the two");
}

std::string_view role_name(Role role) { return role == Role::kNode ? "node" : "client"; }

std::string VersionRange::text() const { return min == max ? std::to_string(min) : fmt::format("{} to {}", min, max); }

std::string refusal(const base::Error& error) {
  constexpr size_t kMaxText = 2000;
  return Writer()
      .u8(kRefuseTag)
      .u8(static_cast<uint8_t>(error.code))
      .text(std::string_view(error.what).substr(0, kMaxText))
      .text(std::string_view(error.hint).substr(0, kMaxText))
      .take();
}

ServerHandshake::ServerHandshake(std::string receiver, VersionRange versions, NonceMemory& nonces)
    : receiver_(std::move(receiver)), versions_(versions), nonces_(nonces) {
  GW_CHECK(versions.min <= versions.max);
}

Result<PendingHello> ServerHandshake::on_hello(std::string_view hello) {
  Reader in(hello);
  if (in.raw(kHelloMagic.size()) != kHelloMagic) {
    return base::fail(ErrorCode::kProtocol, "the first message is not that of a Gangway program");
  }
  VersionRange theirs;
  theirs.min = in.u16();
  theirs.max = in.u16();
  if (in.is_ok()) {
    GW_TRY(version, choose_version(versions_, theirs));
    version_ = version;
  }
  const uint8_t role = in.u8();
  const auto credential = in.rest();
  const bool is_role = role == static_cast<uint8_t>(Role::kClient) || role == static_cast<uint8_t>(Role::kNode);
  if (!in.is_ok() || !is_role || credential.empty()) {
    return base::fail(ErrorCode::kProtocol, "the first message is cut or malformed");
  }
  role_ = static_cast<Role>(role);
  PendingHello pending;
  pending.receiver_ = receiver_;
  pending.hello_ = hello;
  pending.prefix_size_ = hello.size() - credential.size();
  pending.version_ = version_;
  return pending;
}

Result<Acceptance> PendingHello::answer(const Result<Credential>& credential) const {
  if (!credential) return base::pass(credential);
  GW_TRY(payload, read_payload(credential->payload));
  const std::string_view prefix = std::string_view(hello_).substr(0, prefix_size_);
  if (!equal_secret(payload.prefix_hash, view(hash_parts({prefix})))) {
    return base::fail(ErrorCode::kDenied, "the first message was changed on its way");
  }
  if (payload.receiver != receiver_) {
    return base::fail(
        ErrorCode::kDenied,
        fmt::format("the message is meant for \"{}\", this is \"{}\"", base::printable(payload.receiver), receiver_),
        "check the cluster name and the address in the configuration of the sender");
  }
  GW_TRY(made, accept(payload.client_key, payload.nonce));
  made.uid = credential->uid;
  made.gid = credential->gid;
  made.decoded = credential->decode_time;
  made.expiry = std::max(credential->encode_time, credential->decode_time) + credential->lifetime + kExpiryMargin;
  return std::move(made);
}

Result<Acceptance> PendingHello::accept(std::string_view client_key, std::string_view nonce) const {
  const KeyPair own;
  const auto transcript = transcript_hash(hello_, version_, view(own.public_key()));
  GW_TRY(keys, own.server_keys(client_key, view(key_context(nonce, transcript))));
  Acceptance made{.message = {}, .stream = SecureStream(keys.send, keys.receive)};
  std::copy(nonce.begin(), nonce.end(), made.nonce.begin());
  made.message = Writer()
                     .u8(kAcceptTag)
                     .u16(version_)
                     .raw(view(own.public_key()))
                     .raw(view(server_proof(nonce, transcript)))
                     .raw(header_view(made.stream))
                     .take();
  return made;
}

Result<std::string> ServerHandshake::on_answer(Result<Acceptance> answer) {
  if (!answer) return base::pass(answer);
  if (!nonces_.insert(view(answer->nonce), answer->decoded, answer->expiry)) {
    return base::fail(ErrorCode::kDenied, "this connection request was received before",
                      "if you did nothing unusual, somebody replays your traffic");
  }
  uid_ = answer->uid;
  gid_ = answer->gid;
  stream_.emplace(std::move(answer->stream));
  return std::move(answer->message);
}

Result<Session> ServerHandshake::on_finish(std::string_view finish) {
  GW_CHECK(stream_);
  return open_session(std::move(*stream_), version_, finish);
}

Result<Session> open_session(SecureStream stream, uint16_t version, std::string_view finish) {
  GW_TRY_STATUS(stream.set_peer_header(finish.substr(0, kStreamHeaderBytes)));
  GW_TRY(opened, stream.open(finish.substr(std::min(finish.size(), kStreamHeaderBytes))));
  if (!opened.plain.empty() || opened.final)
    return base::fail(ErrorCode::kProtocol, "the last message of the handshake is malformed");
  return Session{std::move(stream), version};
}

}  // namespace gw::auth
