// Both sides of the handshake with a ticket. The chain is a hash that takes in one Diffie-Hellman product after the
// other: es (client's ephemeral, shepherd's long key), ss, then se and ee. Each name says whose keys: first the
// client's.
#include "auth/ticket_handshake.h"

#include "auth/codec.h"
#include "auth/handshake_format.h"
#include "base/check.h"

namespace gw::auth {
namespace {

using base::ErrorCode;
using base::Result;

constexpr std::string_view kStreamMagic = "GANGWAY\x02";
constexpr size_t kPrefixBytes = 8 + 2 + 2;
constexpr size_t kKeyBytes = sizeof(Bytes32);
constexpr size_t kSealedTicketBytes = kStreamHeaderBytes + kTicketBytes + kSealOverhead;
constexpr size_t kUnprovedBytes = kPrefixBytes + kKeyBytes + kSealedTicketBytes;
constexpr size_t kHelloBytes = kUnprovedBytes + kKeyBytes;

std::string_view raw(const SessionKey& key) {
  return {reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()};
}
Bytes32 start_chain(std::string_view prefix, std::string_view shepherd_key, std::string_view ephemeral) {
  return hash_parts({"gangway stream chain", prefix, shepherd_key, ephemeral});
}
/// The chain after one more product; `up` and `down` are its keys from the client and to it.
Bytes32 mix(const Bytes32& chain, const SessionKey& up, const SessionKey& down) {
  return hash_parts({"gangway stream mix", raw(up), raw(down)}, view(chain));
}
Bytes32 client_proof(const Bytes32& chain, std::string_view unproved) {
  return hash_parts({"gangway stream client", unproved}, view(chain));
}
Bytes32 bind_answer(const Bytes32& chain, std::string_view hello, uint16_t version, std::string_view ephemeral) {
  return hash_parts({"gangway stream answer", view(transcript_hash(hello, version, ephemeral))}, view(chain));
}
Bytes32 shepherd_proof(const Bytes32& chain, std::string_view header) {
  return hash_parts({"gangway stream shepherd", header}, view(chain));
}

/// The parts of a hello whose length is right.
struct Hello {
  explicit Hello(std::string_view hello)
      : prefix(hello.substr(0, kPrefixBytes)),
        ephemeral(hello.substr(kPrefixBytes, kKeyBytes)),
        sealed(hello.substr(kPrefixBytes + kKeyBytes, kSealedTicketBytes)),
        unproved(hello.substr(0, kUnprovedBytes)),
        proof(hello.substr(kUnprovedBytes)) {}
  std::string_view prefix, ephemeral, sealed, unproved, proof;
};

Result<VersionRange> read_versions(std::string_view hello) {
  Reader in(hello);
  if (in.raw(kStreamMagic.size()) != kStreamMagic) {
    return base::fail(ErrorCode::kProtocol, "the first message is not that of a Gangway command");
  }
  VersionRange theirs;
  theirs.min = in.u16();
  theirs.max = in.u16();
  if (!in.is_ok()) return base::fail(ErrorCode::kProtocol, "the first message is cut");
  return theirs;
}

Result<std::string> open_ticket(const KeyPair::Keys& keys, std::string_view sealed) {
  SecureStream stream(keys.send, keys.receive);
  GW_TRY_STATUS(stream.set_peer_header(sealed.substr(0, kStreamHeaderBytes)));
  GW_TRY(opened, stream.open(sealed.substr(kStreamHeaderBytes)));
  return std::move(opened.plain);
}

tl::unexpected<base::Error> not_for_us() {
  return base::fail(ErrorCode::kDenied, "the first message was changed, or is meant for another step",
                    "ask for a new ticket");
}

}  // namespace

Result<std::string> TicketClientHandshake::hello(std::string_view ticket) {
  if (ticket.size() != kTicketBytes) return base::invalid("what the controller sent is not a ticket");
  hello_ = Writer().raw(kStreamMagic).u16(versions_.min).u16(versions_.max).take();
  const auto own_ephemeral = view(ephemeral_.public_key());
  chain_ = start_chain(hello_, view(shepherd_key_), own_ephemeral);
  GW_TRY(es, ephemeral_.client_keys(view(shepherd_key_), view(chain_)));
  GW_TRY(ss, own_.client_keys(view(shepherd_key_), view(chain_)));
  SecureStream sealing(es.send, es.receive);
  hello_.append(own_ephemeral).append(header_view(sealing));
  sealing.seal_to(hello_, ticket);
  chain_ = mix(mix(chain_, es.send, es.receive), ss.send, ss.receive);
  hello_ += view(client_proof(chain_, hello_));
  return hello_;
}

Result<ClientHandshake::Done> TicketClientHandshake::on_answer(std::string_view answer) {
  Reader in(answer);
  const uint8_t tag = in.u8();
  if (tag == kRefuseTag) return tl::unexpected(read_refusal(in));
  const uint16_t version = in.u16();
  const auto ephemeral = in.raw(kKeyBytes);
  const auto header = in.raw(kStreamHeaderBytes);
  const auto proof = in.raw(kKeyBytes);
  if (tag != kAcceptTag || !in.is_complete()) {
    return tl::unexpected(bad_answer("the answer is not that of a step of this cluster"));
  }
  if (version < versions_.min || version > versions_.max) {
    return tl::unexpected(
        bad_answer("the step chose protocol version " + std::to_string(version) + ", which was not offered"));
  }
  const Bytes32 bound = bind_answer(chain_, hello_, version, ephemeral);
  GW_TRY(se, own_.client_keys(ephemeral, view(bound)));
  const Bytes32 chain = mix(bound, se.send, se.receive);
  if (!equal_secret(proof, view(shepherd_proof(chain, header)))) {
    return base::fail(ErrorCode::kDenied, "the answer was not made by the step that the controller named",
                      "another program listens on this address, or somebody changes the traffic");
  }
  GW_TRY(ee, ephemeral_.client_keys(ephemeral, view(chain)));
  ClientHandshake::Done done{{}, {SecureStream(ee.send, ee.receive), version}};
  GW_TRY_STATUS(done.session.stream.set_peer_header(header));
  done.finish = header_view(done.session.stream);
  done.session.stream.seal_to(done.finish, {});
  return done;
}

Result<std::string> TicketServerHandshake::on_hello(std::string_view hello, base::Time now) {
  GW_TRY(theirs, read_versions(hello));
  GW_TRY(version, choose_version(gate_.versions, theirs));
  version_ = version;
  if (hello.size() != kHelloBytes) {
    return base::fail(ErrorCode::kProtocol, "the first message has not the length that it must have");
  }
  const Hello parts(hello);
  const Bytes32 begin = start_chain(parts.prefix, view(gate_.own.public_key()), parts.ephemeral);
  GW_TRY(es, gate_.own.server_keys(parts.ephemeral, view(begin)));
  const auto bytes = open_ticket(es, parts.sealed);
  if (!bytes) return not_for_us();
  GW_TRY(ticket, verify_ticket(gate_.controller_key, now, *bytes));
  GW_TRY_STATUS(check_audience(ticket, gate_.step));
  GW_TRY(ss, gate_.own.server_keys(view(ticket.client_key), view(begin)));
  const Bytes32 chain = mix(mix(begin, es.receive, es.send), ss.receive, ss.send);
  if (!equal_secret(parts.proof, view(client_proof(chain, parts.unproved)))) {
    return base::fail(ErrorCode::kDenied, "the ticket is for another key than that of its bearer");
  }
  GW_TRY_STATUS(gate_.memory.use(ticket, now));
  ticket_ = ticket;
  return accept(hello, parts.ephemeral, chain);
}

Result<std::string> TicketServerHandshake::accept(std::string_view hello, std::string_view client_ephemeral,
                                                  const Bytes32& chain) {
  const KeyPair ephemeral;
  const auto own_ephemeral = view(ephemeral.public_key());
  const Bytes32 bound = bind_answer(chain, hello, version_, own_ephemeral);
  GW_TRY(se, ephemeral.server_keys(view(ticket_.client_key), view(bound)));
  const Bytes32 last = mix(bound, se.receive, se.send);
  GW_TRY(ee, ephemeral.server_keys(client_ephemeral, view(last)));
  stream_.emplace(ee.send, ee.receive);
  const auto header = header_view(*stream_);
  return Writer()
      .u8(kAcceptTag)
      .u16(version_)
      .raw(own_ephemeral)
      .raw(header)
      .raw(view(shepherd_proof(last, header)))
      .take();
}

Result<Session> TicketServerHandshake::on_finish(std::string_view finish) {
  GW_CHECK(stream_);
  return open_session(std::move(*stream_), version_, finish);
}

}  // namespace gw::auth
