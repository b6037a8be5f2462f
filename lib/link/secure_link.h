// An authenticated, encrypted connection that carries whole messages, on the event loop.
// Invariant: a link exists only after the handshake; its peer's uid comes from the credential. on_closed comes exactly
// once for each link that is still held, and nothing after it. Nothing is called back from inside send() or close().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "auth/handshake.h"
#include "base/result.h"
#include "io/stream.h"
#include "wire/frame.h"

namespace gw::link {

/// Who is at the other end.
struct Peer {
  uint32_t uid = UINT32_MAX;              ///< Of a dialed server: the uid that alone could answer.
  uint32_t gid = UINT32_MAX;              ///< Unknown (UINT32_MAX) for a dialed server.
  auth::Role role = auth::Role::kClient;  ///< What the dialing side says it is.
  uint16_t version = 0;                   ///< Protocol version chosen.
  std::string address;                    ///< "10.0.0.7:4711", "unix:/path"
  std::string host;                       ///< The same without the port.
};

/// Memory that the links of one user may hold together: messages not complete yet, and answers not fetched yet.
struct MemoryBudget {
  size_t limit_bytes = 0;
  size_t used_bytes = 0;
};

class SecureLink : public std::enable_shared_from_this<SecureLink> {
 public:
  using MessageFn = std::function<void(std::string_view)>;
  using ClosedFn = std::function<void(const std::string& reason)>;

  /// Built by LinkServer and dial_link.
  SecureLink(io::Loop& loop, std::shared_ptr<io::Stream> stream, auth::Session session, Peer peer,
             wire::FrameDecoder decoder);
  SecureLink(const SecureLink&) = delete;
  SecureLink& operator=(const SecureLink&) = delete;
  ~SecureLink();

  /// Queues a message. Errors: longer than kMaxMessage (the link stays usable); link closed.
  base::Status send(std::string_view message);
  /// Set both in the callback that hands the link over; messages that came with the handshake follow at once after it.
  void on_message(MessageFn fn) { message_fn_ = std::make_shared<MessageFn>(std::move(fn)); }
  void on_closed(ClosedFn fn) { closed_fn_ = std::move(fn); }
  /// Called each time that all which waited to be sent has been handed to the system.
  void on_drained(io::Callback fn) { drained_fn_ = std::move(fn); }
  /// Sends what waits, then the reason, and ends the connection. The other side's on_closed gets the reason.
  void close(std::string reason);
  /// Ends the connection at once, telling nobody.
  void drop(std::string reason);
  bool is_closed() const { return is_closed_; }
  /// Bytes have come that are not read yet.
  bool has_unread() const { return stream_->has_unread(); }
  /// On the server's side: the connection came after this, by io::Loop::monotonic().
  base::Duration came_after() const { return came_after_; }
  void set_came_after(base::Duration at) { came_after_ = at; }

  const Peer& peer() const { return peer_; }
  /// Host of this end, as the other end sees it without address translation.
  std::string local_host() const { return stream_->local_host(); }
  /// Bytes that wait to be sent: back-pressure for those who produce.
  size_t pending_out_bytes() const { return stream_->pending_out_bytes(); }
  /// Stops or starts reading: back-pressure on the peer. A few messages already read may still come.
  void set_reading(bool is_reading) { stream_->set_reading(is_reading); }
  /// Closes the link when nothing was received or sent for so long; zero or kUnlimited for never.
  void set_idle_timeout(base::Duration limit);
  /// Counts this link's buffers against `budget`; the link that goes over it is closed.
  void set_budget(std::shared_ptr<MemoryBudget> budget) { budget_ = std::move(budget); }
  /// Something to hold as long as the connection is open.
  void keep(std::shared_ptr<void> token) { token_ = std::move(token); }
  /// Begins to deliver; called by who built it, after handing it over.
  void start();

 private:
  io::Loop& loop_;
  std::shared_ptr<io::Stream> stream_;
  auth::Session session_;
  Peer peer_;
  wire::FrameDecoder decoder_;
  std::shared_ptr<MessageFn> message_fn_;
  ClosedFn closed_fn_;
  io::Callback drained_fn_;
  std::string peer_reason_;  // what the other side said on closing
  bool is_closed_ = false;   // no more messages either way
  base::Duration came_after_ = {};
  base::Duration idle_limit_ = {};
  base::Duration last_activity_ = {};
  io::Timer idle_timer_;
  std::shared_ptr<void> token_;
  std::shared_ptr<MemoryBudget> budget_;
  size_t charged_bytes_ = 0;  // of the budget

  void on_data(std::string_view bytes);
  void deliver();
  bool deliver_one(std::string_view sealed);
  bool take(const std::string& plain, bool is_final);
  void on_stream_closed(const std::string& reason);
  void check_idle();
  bool charge(size_t bytes);
  bool charge_buffers() { return charge(decoder_.buffered_bytes() + stream_->pending_out_bytes()); }
};

}  // namespace gw::link
