// A session on the event loop, over whatever connection it has at the moment.
// Invariants: what waits for the socket is bounded: the session is asked for more only when little waits. Nothing is
// called back from inside attach() or from the session's own calls; an endpoint may be dropped inside any callback.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/stream.h"
#include "stream/pipe.h"
#include "stream/session.h"

namespace gw::stream {

/// Bound of what waits for a socket, in bytes; what a session puts there is less than half of it.
constexpr size_t kMaxOut = 512 << 10;

class Endpoint : public std::enable_shared_from_this<Endpoint> {
 public:
  using LostFn = std::function<void(const std::string& reason)>;

  Endpoint(io::Loop& loop, SessionOptions options) : loop_(loop), session_(options) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  Session& session() { return session_; }
  /// The session's handler, held as long as this.
  void set_handler(std::shared_ptr<Handler> handler);
  /// A connection whose handshake is done; one that is there already is dropped.
  void attach(std::shared_ptr<io::Stream> stream, Pipe pipe);
  bool is_attached() const { return stream_ != nullptr; }
  /// How the last connection went: see io::Stream.
  bool was_ended_by_peer() const { return was_ended_by_peer_; }
  /// Told when the connection is gone: broken, or ended because the session is closed.
  void on_lost(LostFn fn) { lost_fn_ = std::move(fn); }
  /// Closes the session and puts that into the socket's queue at once: the endpoint may go then, the words do not.
  void dismiss(base::Error reason);
  /// Ends the connection, not the session.
  void drop_connection(const std::string& reason);

 private:
  io::Loop& loop_;
  std::shared_ptr<Handler> handler_;
  Session session_;
  std::shared_ptr<io::Stream> stream_;
  std::optional<Pipe> pipe_;
  LostFn lost_fn_;
  bool is_pump_scheduled_ = false;
  bool was_ended_by_peer_ = false;
  std::string out_;

  void on_data(std::string_view bytes);
  void schedule_pump();
  void pump();
  void on_stream_closed(const io::Stream* stream, const std::string& reason);
};

}  // namespace gw::stream
