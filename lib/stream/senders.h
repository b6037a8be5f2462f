// The channels on which one end of a session sends, and whose turn it is.
// Invariants: at most kMaxChannels; a channel waits for its turn at most once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "stream/message.h"
#include "stream/send_channel.h"

namespace gw::stream {

class Senders {
 public:
  struct Sender {
    SendChannel channel;
    bool is_queued = false;
  };

  explicit Senders(size_t replay_bytes) : replay_bytes_(replay_bytes) {}

  /// Errors: too many; open already.
  base::Status open(ChannelId id);
  /// Null: neither opened nor asked for.
  Sender* find(ChannelId id);
  const Sender* find(ChannelId id) const;
  std::map<ChannelId, Sender>& all() { return senders_; }
  /// Nothing follows on this channel.
  void end(SendChannel& channel);
  /// All of each ended channel has been taken.
  bool are_drained() const { return undrained_ == 0; }

  /// Errors: kProtocol, a credit that cannot be, or too many channels: a receiver may ask for one before this end has
  /// opened it.
  base::Status on_credit(const Credit& credit);
  /// The same on a new connection.
  base::Status on_resume(const Resume::Channel& position);
  void on_disconnect();

  /// If it has something to send, it waits for its turn. True: since now.
  bool queue(ChannelId id, Sender& sender);
  /// The next message of the channel whose turn it is; which one that was. nullopt: nobody waits.
  std::optional<ChannelId> pop(std::string& message);
  size_t memory_bytes() const;

 private:
  size_t replay_bytes_;
  std::map<ChannelId, Sender> senders_;
  std::deque<ChannelId> queue_;  // those with something to send, in turn
  size_t undrained_ = 0;         // channels that have ended and are not drained

  template <typename Apply>
  base::Status apply_credit(ChannelId id, Apply apply);
};

}  // namespace gw::stream
