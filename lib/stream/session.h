// One end of a session: channels of bytes and control messages that survive the connections that carry them. Sans-I/O:
// whoever holds it passes on the messages that pop() gives and hands over those that arrive.
//
// A session begins with the first connection of a client's key and continues over any number of them. On each, both
// sides first say where they stand (Resume), then send on from there. Within a connection messages must arrive in order
// and whole; a connection may end at any message.
//
// Invariants: each byte and each control message that the other side sent is handed over exactly once and in order, or
// the session ends with a reason. Memory is bounded whatever the other side does: per channel by the window and the
// replay bytes, and by the number of channels and control messages. No timer, no thread: nothing happens but by a call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "stream/control.h"
#include "stream/controls.h"
#include "stream/message.h"
#include "stream/receivers.h"
#include "stream/senders.h"

namespace gw::stream {

/// What a session tells the program. Called from inside receive(), pull() and close(); may call the session, but must
/// not destroy it.
class Handler {
 public:
  virtual ~Handler() = default;
  /// Bytes of a channel, in order. Returns how many were taken. If not all, the rest comes again after pull(): so a
  /// program that cannot write stops the sender.
  virtual size_t on_bytes(ChannelId channel, std::string_view bytes) = 0;
  /// After the last byte was taken.
  virtual void on_end(ChannelId channel) = 0;
  /// There is room again after write() took less than it was given; or the other side wants no more of the channel, and
  /// write() takes all and drops it.
  virtual void on_writable(ChannelId channel) = 0;
  virtual void on_control(const Control& control) = 0;
  /// is_settled() has become true by what the other side said.
  virtual void on_settled() {}
  /// Once: by the other side, by an error of it, or by close().
  virtual void on_closed(const base::Error& reason) = 0;
};

struct SessionOptions {
  Role role = Role::kClient;
  uint64_t own_id = 0;                  ///< Random, not 0.
  uint32_t window_bytes = 256 << 10;    ///< What each receiving channel may have waiting for the program.
  uint32_t replay_bytes = 256 << 10;    ///< What each sending channel may hold of what is not taken.
  bool may_control = true;              ///< Shepherd: the ticket lets the client send control messages.
  size_t max_control_bytes = 64 << 10;  ///< Of own control messages that are not acknowledged.
};
/// Window or replay bytes for each of so many channels within a budget; at least 4 KiB, at most 256 KiB.
uint32_t bytes_per_channel(size_t channels, size_t budget_bytes);
/// For SessionOptions::own_id.
uint64_t random_session_id();

class Session {
 public:
  explicit Session(SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Once, before the first connection; the handler outlives the session's last call.
  void set_handler(Handler& handler) { handler_ = &handler; }
  /// Channels that this end sends or receives; the other end opens them the other way, before or later. Errors: too
  /// many; open already.
  base::Status open_send(ChannelId channel);
  base::Status open_receive(ChannelId channel);

  /// Takes as many bytes as there is room for; if fewer than given, on_writable follows. Only on an open channel that
  /// has not ended.
  size_t write(ChannelId channel, std::string_view bytes);
  /// Bytes that write() would take.
  size_t room(ChannelId channel) const;
  /// Nothing follows on this channel.
  void end(ChannelId channel);
  /// The other side wants no more of what this end sends there.
  bool is_unwanted(ChannelId channel) const;
  /// Offers what the handler has not taken yet again.
  void pull(ChannelId channel);
  /// Wants no more of a channel: what comes is dropped, and the other side is told.
  void refuse(ChannelId channel);
  /// Errors: kUnavailable, too much waits for the other side; kConflict, the session is closed.
  base::Status send_control(const Control& control);
  /// Ends the session; the other side is told if there is a connection. What it has not taken is lost: see
  /// is_settled().
  void close(base::Error reason);
  bool is_closed() const { return close_reason_.has_value(); }
  /// Only if closed.
  const base::Error& close_reason() const { return *close_reason_; }
  /// All control messages and all of each ended channel have been taken by the other side.
  bool is_settled() const { return controls_.is_settled() && senders_.are_drained(); }

  /// A new connection; it takes the place of an earlier one.
  void connect();
  void disconnect();
  bool is_connected() const { return phase_ != Phase::kDetached; }
  /// The next message for the connection; false if there is none now. After close() the last one says so.
  bool pop(std::string& message);
  /// A message has arrived. One that breaks the protocol closes the session.
  void receive(std::string_view message);
  /// Called whenever pop() may have something new; may be called often, also from inside handlers.
  void on_output(std::function<void()> fn) { output_fn_ = std::move(fn); }

  /// Memory held for bytes and control messages.
  size_t memory_bytes() const;

 private:
  enum class Phase { kDetached, kResuming, kReady };
  using Sender = Senders::Sender;
  using Receiver = Receivers::Receiver;

  SessionOptions options_;
  Handler* handler_ = nullptr;
  std::function<void()> output_fn_;
  Phase phase_ = Phase::kDetached;
  bool is_resume_due_ = false;
  bool is_close_due_ = false;
  std::optional<base::Error> close_reason_;
  uint64_t peer_id_ = 0;
  Senders senders_;
  Receivers receivers_;
  Controls controls_;

  void notify();
  void queue_send(ChannelId id, Sender& sender);
  void queue_credit(ChannelId id, Receiver& receiver);
  void finish(base::Error reason);
  void offer(ChannelId id, Receiver& receiver);
  void hand_over_end(ChannelId id, Receiver& receiver);
  void after_credit(ChannelId id, Sender& sender);
  void tell_if_settled(bool was_settled);

  base::Status handle(const Resume& m);
  base::Status handle(const Data& m);
  base::Status handle(const End& m);
  base::Status handle(const Credit& m);
  base::Status handle(const ControlMessage& m);
  base::Status handle(const ControlAck& m);
  base::Status handle(const Close& m);
};

}  // namespace gw::stream
