// How a command and the shepherd of a step become sure of each other without asking anybody, in one round trip.
// Sans-I/O. The client holds a ticket for its X25519 key; the controller also told it the shepherd's X25519 key.
//
//   client -> shepherd  hello:   magic, versions, ephemeral key, ticket{sealed for the shepherd}, proof of the ticket's
//   key shepherd -> client  accept:  version, ephemeral key, stream header, proof of the shepherd's key     or refusal
//   client -> shepherd  finish:  stream header, first sealed message (empty): proves that hello is no recording
//
// The pattern is Noise's IK: keys of the stream are bound to all four Diffie-Hellman products of the two long keys and
// the two ephemeral ones, and to every byte of hello and accept. Whoever gets a long key later reads no old stream.
// Invariants: a session exists only after the other side has proved itself; a ticket counts as used only once its key
// was proved, so that a copied ticket lets nobody in and locks nobody out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "auth/crypto.h"
#include "auth/handshake.h"
#include "auth/secure_stream.h"
#include "auth/ticket.h"
#include "base/result.h"

namespace gw::auth {

/// Longest message of this handshake, in bytes; refusals are the longest.
constexpr size_t kMaxTicketMessage = 8192;

/// The client's side, for one connection.
class TicketClientHandshake {
 public:
  /// `own` is the key that the ticket names; it outlives this. `shepherd_key` is what the controller said.
  TicketClientHandshake(const KeyPair& own, const Bytes32& shepherd_key, VersionRange versions)
      : own_(own), shepherd_key_(shepherd_key), versions_(versions) {}
  /// The first message. Errors: the shepherd's key is unusable; `ticket` has not a ticket's length.
  base::Result<std::string> hello(std::string_view ticket);
  /// Takes the answer. Errors: the refusal with its reason; an answer that the shepherd of that key did not make.
  base::Result<ClientHandshake::Done> on_answer(std::string_view answer);

 private:
  const KeyPair& own_;
  Bytes32 shepherd_key_;
  VersionRange versions_;
  KeyPair ephemeral_;
  Bytes32 chain_{};  // what both sides have agreed on so far
  std::string hello_;
};

/// What the shepherd's side of a handshake refers to; outlives the handshakes.
struct TicketGate {
  const KeyPair& own;
  Bytes32 controller_key;
  StepIdentity step;
  TicketMemory& memory;
  VersionRange versions;
};

/// The shepherd's side, for one connection. Every Error is to be sent as refusal(error), and ends the handshake.
class TicketServerHandshake {
 public:
  explicit TicketServerHandshake(const TicketGate& gate) : gate_(gate) {}
  /// Takes the first message and gives the accept message. Errors: malformed, no common version; ticket forged,
  /// expired, used, of another user or step; the client does not hold the ticket's key.
  base::Result<std::string> on_hello(std::string_view hello, base::Time now);
  /// Takes the client's last message. Errors: the client does not hold its keys.
  base::Result<Session> on_finish(std::string_view finish);
  /// Who came; valid after on_finish has succeeded.
  const Ticket& ticket() const { return ticket_; }

 private:
  const TicketGate& gate_;
  uint16_t version_ = 0;
  Ticket ticket_;
  std::optional<SecureStream> stream_;

  base::Result<std::string> accept(std::string_view hello, std::string_view client_ephemeral, const Bytes32& chain);
};

}  // namespace gw::auth
