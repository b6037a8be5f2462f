// Tickets: what the controller signs so that a client may talk to the shepherd of a step, which then asks nobody.
// Invariants: a ticket is good for one user, one attempt of one step, one client key, until its expiry; a shepherd lets
// each in once, and only after the client has proved that it holds the key (ticket_handshake.h). Its length is fixed
// and is checked before anything else; no byte of it can change unnoticed.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "auth/crypto.h"
#include "base/result.h"
#include "base/time.h"

namespace gw::auth {

/// An Ed25519 key that tickets are signed with; the secret is wiped when it goes.
class SigningKey {
 public:
  /// A new one.
  SigningKey();
  /// From what secret_text() gave. Errors: kInvalid, malformed; the text is never repeated in the error.
  static base::Result<SigningKey> parse(std::string_view secret_text);
  SigningKey(const SigningKey&) = default;
  SigningKey& operator=(const SigningKey&) = default;
  ~SigningKey();

  /// What shepherds check tickets with.
  const Bytes32& public_key() const { return public_; }
  /// For a file that nobody else may read: "gangway-ticket-key-1 <64 hexadecimal digits>\n".
  std::string secret_text() const;
  /// A signature of 64 bytes.
  std::string sign(std::string_view message) const;

 private:
  explicit SigningKey(const Bytes32& seed);

  Bytes32 seed_{};
  Bytes32 public_{};
};

/// What the bearer may do.
enum class Rights : uint8_t {
  kWatch = 1,  ///< See output and states.
  kFull = 2,   ///< Also input, signals, the size of the window.
};

using TicketNonce = std::array<unsigned char, 16>;

/// Bytes of a sealed ticket.
constexpr size_t kTicketBytes = 149;
/// How long a ticket should live: clocks of one cluster agree within that, or MUNGE would not work either.
constexpr base::Duration kTicketLife = base::minutes(5);

struct Ticket {
  Rights rights = Rights::kWatch;
  uint32_t uid = UINT32_MAX;
  uint32_t gid = UINT32_MAX;
  uint32_t job = 0;
  uint32_t step = 0;
  uint32_t attempt = 0;
  uint32_t generation = 0;  ///< Of the allocation when the ticket was made.
  base::Time expiry;
  Bytes32 client_key{};  ///< X25519; also the name of the client's session.
  TicketNonce nonce{};   ///< Unlike that of every other ticket.

  bool operator==(const Ticket&) const = default;
};

TicketNonce random_nonce();
/// The ticket with its signature.
std::string sign_ticket(const SigningKey& controller, const Ticket& ticket);
/// Errors, all kDenied: not a ticket, not signed by that controller, expired at `now`.
base::Result<Ticket> verify_ticket(const Bytes32& controller_key, base::Time now, std::string_view bytes);

/// The step that a shepherd runs: tickets for others are refused.
struct StepIdentity {
  uint32_t uid = UINT32_MAX;  ///< Whose step it is. Administrators get tickets in this name, from the controller.
  uint32_t job = 0;
  uint32_t step = 0;
  uint32_t attempt = 0;
  uint32_t generation = 0;  ///< When the step started; the allocation may have grown since.
};
/// Errors, all kDenied: other user, other step, an earlier or later attempt, a generation before the step's.
base::Status check_audience(const Ticket& ticket, const StepIdentity& step);

/// Which tickets a shepherd has let in.
/// Invariant: no ticket is let in twice, also when the clock goes backwards: expired ones are forgotten, and what
/// expired before the latest time ever given is refused. Bounded: when full of unexpired tickets, further ones are
/// refused; only signed tickets come here, so nobody can fill it but who may ask the controller for them.
class TicketMemory {
 public:
  explicit TicketMemory(size_t max_entries = 4096) : max_entries_(max_entries) {}
  /// Errors: kDenied, used before or expired; kUnavailable, too many tickets within their life.
  base::Status use(const Ticket& ticket, base::Time now);
  size_t size() const { return used_.size(); }

 private:
  using Key = std::pair<base::Time, TicketNonce>;  // by expiry, so that forgetting is cheap
  size_t max_entries_;
  base::Time latest_{};
  std::set<Key> used_;
};

}  // namespace gw::auth
