// Accepts connections, runs the server's side of the handshake on each, and hands over authenticated links.
// Invariant: what has not proved itself costs little and not for long: handshakes are bounded in number, bytes and
// time; when the number is reached, the one that has been silent longest goes, so that idle connections lock nobody
// out.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "auth/handshake.h"
#include "auth/nonce_memory.h"
#include "base/result.h"
#include "io/listener.h"
#include "link/auth_pool.h"
#include "link/protocol.h"
#include "link/secure_link.h"

namespace gw::link {

struct ServerOptions {
  std::string address;  ///< Where to listen; see io::parse_address.
  std::string name;     ///< Receiver name: cluster name + "/" + daemon name.
  auth::VersionRange versions = kProtocolVersions;
  base::Duration handshake_timeout = base::seconds(10);
  size_t max_handshakes = 256;                      ///< Connections that have not proved themselves yet.
  size_t max_links = 16'000;                        ///< Authenticated links, of all users,
  size_t max_links_of_users = 8'000;                ///< of all but root and `exempt_uid`: the rest is for nodes,
  size_t max_links_per_uid = 2'000;                 ///< and of one of these.
  uint32_t exempt_uid = UINT32_MAX;                 ///< The uid that the cluster's own daemons run as.
  base::Duration idle_timeout = base::minutes(10);  ///< For links of role client; zero for none. See set_idle_timeout.
  size_t max_bytes_per_uid = size_t{512} << 20;     ///< Buffers of all links of one user, but for the exempt ones.
  size_t max_out_bytes = io::kDefaultMaxOut;        ///< For each link.
};

class LinkServer {
 public:
  using LinkFn = std::function<void(const std::shared_ptr<SecureLink>&)>;
  /// Told of each connection that was refused or dropped before it was authenticated, and of pauses of the listener
  /// (empty address); for the log, which bounds their rate.
  using RefusedFn = std::function<void(const std::string& address, const base::Error&)>;

  /// Starts to listen. `loop` and `pool` outlive the server. `on_link` sets the handlers of the link; who does not keep
  /// the link closes it. Errors: as io::Listener::open.
  static base::Result<std::unique_ptr<LinkServer>> start(io::Loop& loop, AuthPool& pool, ServerOptions options,
                                                         LinkFn on_link, RefusedFn on_refused = {});
  /// Ends the handshakes under way; links that were handed over live on.
  ~LinkServer();
  LinkServer(const LinkServer&) = delete;
  LinkServer& operator=(const LinkServer&) = delete;

  uint16_t bound_port() const { return listener_->bound_port(); }
  std::string bound_address() const { return listener_->bound_address(); }
  size_t handshake_count() const { return pending_.size(); }
  size_t link_count() const;
  /// Both by io::Loop::monotonic().
  struct Arrivals {
    base::Duration heard_until;  ///< Whoever came by then has a link, was refused, or has gone.
    base::Duration turned_away;  ///< When somebody who may have been a node was last let go for want of room or time.
  };
  Arrivals arrivals() const;

 private:
  class Pending;
  struct LinkCounts;

  LinkServer(io::Loop& loop, AuthPool& pool, ServerOptions options, LinkFn on_link, RefusedFn on_refused);
  void on_accept(std::shared_ptr<io::Stream> stream);
  void on_paused(const base::Error& error);
  void on_authenticated(const std::shared_ptr<Pending>& pending, auth::Session session);
  base::Status admit(const Peer& peer) const;
  bool is_exempt(uint32_t uid) const { return uid == 0 || uid == options_.exempt_uid; }
  void refuse(const std::shared_ptr<Pending>& pending, const base::Error& error);
  void forget(const std::shared_ptr<Pending>& pending);
  void drop_oldest(const std::string& why);

  io::Loop& loop_;
  AuthPool& pool_;
  ServerOptions options_;
  LinkFn link_fn_;
  RefusedFn refused_fn_;
  auth::NonceMemory nonces_;
  std::shared_ptr<LinkCounts> counts_;           // of open links; outlives the server in their tokens
  std::shared_ptr<void> refused_token_;          // one copy in each refused connection that still reads its reason
  std::list<std::shared_ptr<Pending>> pending_;  // oldest first
  std::unique_ptr<io::Listener> listener_;
  base::Duration turned_away_ = {};
};

}  // namespace gw::link
