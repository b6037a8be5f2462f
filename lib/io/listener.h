// Accepting connections on TCP or a unix path.
// Invariant: a lack of descriptors, or too many connections, makes the listener pause for a moment, never spin or die.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/address.h"
#include "io/loop.h"
#include "io/stream.h"

namespace gw::io {

struct ListenOptions {
  std::string address;  ///< See parse_address; port 0 lets the system choose, "host:FIRST-LAST" takes a free one.
  size_t max_connections = 0;  ///< Connections open at once; 0 for no bound. Further ones wait in the backlog.
  size_t max_out_bytes = kDefaultMaxOut;  ///< For each accepted stream.
  int backlog = 4096;
  unsigned unix_mode = 0666;  ///< Of a unix socket; who connects is authenticated by the handshake.
};

/// Must not be destroyed from inside its own callbacks.
class Listener {
 public:
  using AcceptFn = std::function<void(std::shared_ptr<Stream>)>;
  /// Told when accepting pauses: descriptors ran out (an Error with the system's words), or max_connections is reached.
  /// May free connections.
  using PausedFn = std::function<void(const base::Error&)>;

  /// Errors: bad address, unknown host, address in use (named), no permission; kUnavailable: no port of a range is
  /// free. A unix socket left by a dead process is replaced; one that answers is not.
  static base::Result<std::unique_ptr<Listener>> open(Loop& loop, const ListenOptions& options, AcceptFn on_accept,
                                                      PausedFn on_paused = {});
  /// The same in two steps: for a process that is to hold the socket before the one that serves it is there.
  static base::Result<Fd> make_socket(const ListenOptions& options);
  static std::unique_ptr<Listener> adopt(Loop& loop, Fd socket, const ListenOptions& options, AcceptFn on_accept,
                                         PausedFn on_paused = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  uint16_t bound_port() const { return address_.port(); }
  /// With the port that the system chose.
  std::string bound_address() const { return address_.text(); }
  /// By when everybody who had come was accepted; by Loop::monotonic().
  base::Duration accepted_until();
  /// The same as far as it is known without a look.
  base::Duration was_empty_at() const { return was_empty_at_; }
  size_t open_connections() const { return static_cast<size_t>(token_.use_count()) - 1; }

 private:
  Listener(Loop& loop, const ListenOptions& options, Fd fd, AcceptFn on_accept, PausedFn on_paused);
  void on_readable();
  bool accept_one();
  void pause(const base::Error& why);

  Loop& loop_;
  ListenOptions options_;
  AcceptFn accept_fn_;
  PausedFn paused_fn_;
  SockAddr address_;
  Fd fd_;
  std::shared_ptr<void> token_;  // one copy in each open stream
  Watch watch_;
  Timer retry_;
  base::Duration was_empty_at_ = Loop::monotonic();
};

}  // namespace gw::io
