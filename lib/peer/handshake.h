// How two nodes of a step prove to each other that they know the step's secret, and agree on keys for one connection.
// Pure: no I/O. The one who dials says hello, the other accepts, the first finishes; each message is one frame.
// Invariants: whoever does not know the secret gets no keys and can prove nothing, also with recorded messages, of
// which a hello alone gets an answer; keys differ for each connection, direction and purpose; a node takes part under
// its own number alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "auth/crypto.h"
#include "auth/secure_stream.h"
#include "base/result.h"

namespace gw::peer {

/// Longest message of the handshake, in bytes.
constexpr size_t kMaxHandshakeMessage = 256;
/// Length of the first one.
constexpr size_t kHelloBytes = 77;

/// Who one is among the nodes that share a secret.
struct Identity {
  auth::SessionKey secret;
  std::string purpose;  ///< What the secret is used for here, such as "pmix 7.0": another use has other keys.
  uint32_t self = 0;
  uint32_t nodes = 1;
};

/// Whether a hello comes from another node of the step, now or earlier. Errors: kProtocol, also for a node that is not
/// there or a hello meant for another; kDenied.
base::Status check_hello(const Identity& identity, std::string_view message);

/// The side that dials.
class DialerHandshake {
 public:
  /// `identity` outlives it.
  DialerHandshake(const Identity& identity, uint32_t to);

  const std::string& hello() const { return hello_; }
  struct Finished {
    std::string message;
    auth::SecureStream secure;
  };
  /// Errors: kDenied if the other side does not know the secret; kProtocol.
  base::Result<Finished> on_accept(std::string_view message) const;

 private:
  const Identity& identity_;
  std::string hello_;
};

/// The side that was dialled.
class AnswerHandshake {
 public:
  explicit AnswerHandshake(const Identity& identity) : identity_(identity) {}

  /// What to answer. Errors: as check_hello.
  base::Result<std::string> on_hello(std::string_view message);
  /// Errors: kDenied, kProtocol.
  base::Result<auth::SecureStream> on_finish(std::string_view message);
  bool has_answered() const { return secure_.has_value(); }
  /// Who says to be there; proved once on_finish has succeeded.
  uint32_t peer() const { return peer_; }

 private:
  const Identity& identity_;
  uint32_t peer_ = 0;
  std::string hello_, nonce_;
  std::optional<auth::SecureStream> secure_;
};

}  // namespace gw::peer
