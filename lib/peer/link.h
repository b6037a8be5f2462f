// One authenticated, encrypted connection between two nodes, carrying messages both ways.
// Invariants: messages arrive whole, in order, unchanged, or the link is closed with a reason; one over the bound is
// refused before memory is taken for it; nothing is called back from inside send() or close(); on_closed comes exactly
// once to a link that is still held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "auth/secure_stream.h"
#include "io/stream.h"
#include "wire/frame.h"

namespace gw::peer {

class Link : public std::enable_shared_from_this<Link> {
 public:
  using MessageFn = std::function<void(std::string message)>;
  using ClosedFn = std::function<void(const base::Error& reason)>;

  /// `decoder` may hold bytes that came along with the handshake.
  static std::shared_ptr<Link> make(std::shared_ptr<io::Stream> stream, auth::SecureStream secure,
                                    wire::FrameDecoder decoder, uint32_t peer, size_t max_message);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// The number of the node at the other end.
  uint32_t peer() const { return peer_; }
  /// Starts reading, with what came along with the handshake: may call `fn` at once.
  void start(MessageFn fn);
  void on_closed(ClosedFn fn) { closed_fn_ = std::move(fn); }
  /// All that was sent has been handed to the system.
  void on_drained(io::Callback fn) { stream_->on_drained(std::move(fn)); }

  /// Queues a message. Ignored once the link is closed; over the bound of the stream the link closes.
  void send(std::string_view message);
  size_t pending_out_bytes() const { return stream_->pending_out_bytes(); }
  /// Stops or starts reading, for back-pressure: messages that came already are still delivered.
  void set_reading(bool is_reading) { stream_->set_reading(is_reading); }
  void close(const std::string& reason) { stream_->close(reason); }
  /// Sends what waits, then ends the connection.
  void close_after_flush(const std::string& reason) { stream_->close_after_flush(reason); }
  bool is_closed() const { return stream_->is_closed(); }

 private:
  std::shared_ptr<io::Stream> stream_;
  auth::SecureStream secure_;
  wire::FrameDecoder decoder_;
  uint32_t peer_;
  size_t max_message_;
  std::string message_;  // what has come of one that is longer than a chunk
  MessageFn message_fn_;
  ClosedFn closed_fn_;

  Link(std::shared_ptr<io::Stream> stream, auth::SecureStream secure, wire::FrameDecoder decoder, uint32_t peer,
       size_t max_message);
  void on_bytes(std::string_view bytes);
  base::Status on_chunk(std::string_view sealed);
};

}  // namespace gw::peer
