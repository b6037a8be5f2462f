// A buffered connection on the loop, and dialing one.
// Invariant: nothing is called back from inside send(), close() or dial(); on_closed comes exactly once for each stream
// that is still held, whoever closed it; what waits to be sent never exceeds the bound.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "io/address.h"
#include "io/loop.h"

namespace gw::io {

constexpr size_t kDefaultMaxOut = size_t{64} << 20;

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using DataFn = std::function<void(std::string_view)>;
  using ClosedFn = std::function<void(const std::string& reason)>;

  /// Takes over a connected, non-blocking socket. `max_out_bytes` bounds what waits to be sent.
  static std::shared_ptr<Stream> adopt(Loop& loop, Fd fd, size_t max_out_bytes = kDefaultMaxOut);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Sets who gets the bytes that arrive, and starts reading. May be replaced at any time.
  void on_data(DataFn fn);
  void on_closed(ClosedFn fn) { closed_fn_ = std::move(fn); }
  /// Called each time that all which waited has been handed to the system.
  void on_drained(Callback fn) { drained_fn_ = std::move(fn); }
  /// Queues bytes. Over the bound nothing is queued and the stream closes, with a reason that says so. Ignored once
  /// closing.
  void send(std::string_view bytes);
  /// Bytes that wait to be sent.
  size_t pending_out_bytes() const { return out_.size() - out_start_; }
  /// Sends what waits, then ends the connection; lives on by itself until then, at most 5 s. Bytes that still arrive
  /// are dropped.
  void close_after_flush(std::string reason);
  /// Ends the connection at once.
  void close(std::string reason);
  bool is_closed() const { return !fd_; }
  /// Bytes have come that are not read yet.
  bool has_unread() const;
  /// The other end of the connection was closed, as by a process that ended: not so if its network only fell silent.
  bool was_ended_by_peer() const { return was_ended_by_peer_; }
  /// Stops or starts reading, for back-pressure.
  void set_reading(bool is_reading);

  /// "127.0.0.1:4711"; see SockAddr::text.
  const std::string& peer_text() const { return peer_text_; }
  const std::string& peer_host() const { return peer_host_; }
  std::string local_host() const { return io::local_address(fd_.get()).host(); }
  /// Something to hold as long as the connection is open.
  void keep(std::shared_ptr<void> token) { tokens_.push_back(std::move(token)); }

 private:
  Stream(Loop& loop, Fd fd, size_t max_out_bytes);
  void on_readable();
  void lose(int error);
  void flush();
  void schedule_flush();
  void start_reading();

  Loop& loop_;
  Fd fd_;
  size_t max_out_bytes_;
  std::string peer_text_;
  std::string peer_host_;
  std::string out_;
  size_t out_start_ = 0;
  std::shared_ptr<DataFn> data_fn_;  // shared with the call in progress, which may replace it
  ClosedFn closed_fn_;
  Callback drained_fn_;
  Watch read_watch_;
  Watch write_watch_;
  Timer linger_;
  std::optional<std::string> closing_;  // why, since close_after_flush() was called
  bool is_flush_scheduled_ = false;
  bool is_reading_ = true;
  bool was_ended_by_peer_ = false;
  std::vector<std::shared_ptr<void>> tokens_;
};

/// A connection attempt; dropping it gives up.
class Dialer;
using DialHandle = std::shared_ptr<Dialer>;
using DialFn = std::function<void(base::Result<std::shared_ptr<Stream>>)>;

struct DialOptions {
  std::string address;    ///< See parse_address.
  std::string bind_host;  ///< Local numeric address to connect from; empty for any.
  base::Duration timeout = base::seconds(10);
  size_t max_out_bytes = kDefaultMaxOut;
};
/// Connects; names are looked up on a thread of their own, all addresses of a host are tried in turn. `fn` is called
/// once, from the loop. Errors: kInvalid (address), kNotFound (host), kUnavailable (refused, unreachable), kTimeout.
[[nodiscard]] DialHandle dial(Loop& loop, DialOptions options, DialFn fn);

}  // namespace gw::io
