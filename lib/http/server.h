// An HTTP server on the event loop, over libmicrohttpd, which reads and writes HTTP and TLS (docs/adr/0061).
// Invariants: the number of connections, the bytes of a head and of a body, and the time that a request may take to
// come are bounded; where connections are many, the one goes that has asked nothing for longest. A handler is called
// once for each whole request, on the loop, and may answer then or later, once; what it throws is told as a fault of
// the server. Nothing is called after destruction.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "http/message.h"
#include "io/fd.h"
#include "io/loop.h"

namespace gw::http {

/// Answers the request that it was given with; may be called from inside the handler. The second call counts for
/// nothing, nor does one after the other side or the server has gone.
using Answer = std::function<void(Response)>;
using Handler = std::function<void(const Request& request, Answer answer)>;

struct ServerOptions {
  std::string address;            ///< See io::parse_address.
  io::Fd socket = {};             ///< In place of the address: one that listens already (io::Listener::make_socket).
  std::string certificate, key;   ///< Texts (PEM) for TLS; empty: plain HTTP.
  size_t max_body = 1 << 20;      ///< Bytes of a request's body; more: 413.
  size_t max_connections = 4000;  ///< At once.
  base::Duration patience = base::seconds(10);  ///< For a request to come whole, and for each part of the answer to go.
  std::function<void(const std::string& text)> on_trouble = {};  ///< For the log: what the library complains of.
};

class Server {
 public:
  /// Errors: the address (see io::Listener::open); certificate and key that are of no use.
  static base::Result<std::unique_ptr<Server>> open(io::Loop& loop, ServerOptions options, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// With the port that the system chose.
  const std::string& bound_address() const;
  size_t connection_count() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gw::http
