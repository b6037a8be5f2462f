// The shepherd's side: clients with tickets come, stay, lose their connection and come back.
// Invariants: a session belongs to one client key; only who proves that key gets it, with a new ticket each time. The
// numbers of sessions and of connections that have not proved anything are bounded: where these are many, the oldest
// is dropped, so that nobody is kept out by others who say nothing.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "auth/ticket_handshake.h"
#include "base/result.h"
#include "base/time.h"
#include "io/listener.h"
#include "stream/endpoint.h"

namespace gw::stream {

/// Protocol versions that this build speaks.
constexpr auth::VersionRange kStreamVersions{1, 1};

struct ServerOptions {
  std::string address;  ///< As io::ListenOptions::address.
  auth::StepIdentity step;
  auth::Bytes32 controller_key{};
  uint32_t window_bytes = 256 << 10;  ///< Of each session; see SessionOptions and bytes_per_channel().
  uint32_t replay_bytes = 256 << 10;
  uint32_t watch_replay_bytes = 64 << 10;  ///< In the place of replay_bytes for those who may only watch.
  size_t max_sessions = 16;
  size_t max_unproved = 16;                            ///< Connections whose handshake is not done.
  base::Duration handshake_limit = base::seconds(10);  ///< For the whole handshake.
  base::Duration reconnect_limit = base::minutes(10);  ///< How long a session waits for its client to come back.
  /// The same where the client's side ended the connection, as it does when a client dies.
  base::Duration abandoned_limit = base::minutes(10);
};

/// Must not be destroyed from inside its own callbacks.
class Server {
 public:
  /// A new client has come: opens the session's channels and gives its handler, which is held as long as the session.
  /// The session lives until it is closed and its on_closed has been called. Errors: the client is told, and goes.
  using WelcomeFn = std::function<base::Result<std::shared_ptr<Handler>>(const auth::Ticket&, Session&)>;

  /// `own` is what clients know this shepherd by; it and `clock` outlive the server. Errors: as io::Listener::open.
  static base::Result<std::unique_ptr<Server>> open(io::Loop& loop, const base::Clock& clock, const auth::KeyPair& own,
                                                    ServerOptions options, WelcomeFn welcome);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string bound_address() const { return listener_->bound_address(); }
  size_t sessions() const { return sessions_.size(); }
  size_t unproved() const { return visitors_.size(); }
  /// Drops every connection; sessions wait for their clients. For tests and for a change of address.
  void drop_connections();

 private:
  struct Visitor;
  struct ClientSession;
  using Visitors = std::list<std::shared_ptr<Visitor>>;

  Server(io::Loop& loop, const base::Clock& clock, const auth::KeyPair& own, ServerOptions options, WelcomeFn welcome);
  void on_accept(std::shared_ptr<io::Stream> stream);
  void on_frames(Visitor& visitor);
  base::Status on_frame(Visitor& visitor, std::string_view frame);
  void refuse(Visitor& visitor, const base::Error& error);
  void remove(Visitor& visitor);
  void admit(Visitor& visitor, auth::Session secure);
  base::Result<ClientSession*> session_for(const auth::Ticket& ticket);
  base::Result<ClientSession*> open_session(const auth::Ticket& ticket);
  SessionOptions session_options(const auth::Ticket& ticket) const;
  void on_lost(const auth::Bytes32& key, bool was_abandoned);

  io::Loop& loop_;
  const base::Clock& clock_;
  ServerOptions options_;
  WelcomeFn welcome_;
  auth::TicketMemory memory_;
  auth::TicketGate gate_;
  Visitors visitors_;
  std::map<auth::Bytes32, ClientSession> sessions_;
  std::unique_ptr<io::Listener> listener_;
};

}  // namespace gw::stream
