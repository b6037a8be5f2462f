// The command's side: dials the shepherd of a step, and dials again when the connection breaks.
// Invariants: each attempt has a new ticket; attempts come at growing intervals, with a random part, so that a thousand
// clients of a node that was away do not come back at once. The session ends when the other side ends it, when the
// other side refuses for good, or when there was no connection for too long; its handler's on_closed says why.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "auth/ticket_handshake.h"
#include "base/result.h"
#include "base/time.h"
#include "io/stream.h"
#include "stream/endpoint.h"

namespace gw::stream {

struct ClientOptions {
  std::string address;                                   ///< Of the shepherd; see io::parse_address.
  std::string bind_host;                                 ///< Local numeric address to connect from; empty for any.
  auth::Bytes32 shepherd_key{};                          ///< What the controller said.
  base::Duration attempt_limit = base::seconds(10);      ///< For connect and handshake together.
  base::Duration first_delay = base::milliseconds(100);  ///< Before the second attempt; doubled each time.
  base::Duration max_delay = base::seconds(5);
  base::Duration patience = base::minutes(10);  ///< Without a connection for so long, the session ends.
  uint32_t window_bytes = 256 << 10;            ///< See SessionOptions.
  uint32_t replay_bytes = 256 << 10;
};

/// One session with one shepherd.
class Client {
 public:
  using TicketFn = std::function<void(base::Result<std::string>)>;
  /// Asks the controller for a ticket in the name of the client's key, and passes it on once, now or later; may be kept
  /// and called after the client has gone. kUnavailable and kTimeout are tried again.
  using AskFn = std::function<void(TicketFn)>;
  /// Told of each connection and each loss of one or failed attempt, with the reason; what to say to the user.
  using StateFn = std::function<void(bool is_connected, const std::string& reason)>;

  /// `own` is the key that tickets name; it outlives the client and belongs to this session alone.
  Client(io::Loop& loop, const auth::KeyPair& own, ClientOptions options, AskFn ask);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// To open channels on before start(), and to write to at any time.
  Session& session();
  void on_state(StateFn fn);
  /// Begins; the handler is held as long as the client.
  void start(std::shared_ptr<Handler> handler);
  /// After the session was closed: until this is false, the other side may not know yet, and the loop must continue.
  bool is_connected() const;
  /// Ends the connection, which is then dialed again. For tests.
  void drop_connection();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace gw::stream
