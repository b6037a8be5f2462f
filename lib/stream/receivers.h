// The channels on which one end of a session receives, and whose credit is to be told.
// Invariants: at most kMaxChannels; a channel's credit waits at most once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "stream/message.h"
#include "stream/receive_channel.h"

namespace gw::stream {

class Receivers {
 public:
  struct Receiver {
    ReceiveChannel channel;
    bool is_queued = false;
  };

  explicit Receivers(uint32_t window_bytes) : window_bytes_(window_bytes) {}

  /// Errors: too many; open already.
  base::Result<Receiver*> open(ChannelId id);
  /// Null: not opened.
  Receiver* find(ChannelId id);
  std::map<ChannelId, Receiver>& all() { return receivers_; }
  /// What each says on a new connection; it counts as told.
  std::vector<Resume::Channel> positions();
  /// How far the other side sends ahead of credit.
  void set_peer_replay_bytes(uint32_t bytes) { peer_replay_bytes_ = bytes; }
  void on_disconnect();

  /// If its credit is worth a message, it waits for one. True: since now.
  bool queue_credit(ChannelId id, Receiver& receiver);
  /// The next message; false if no credit waits.
  bool pop_credit(std::string& message);
  size_t memory_bytes() const;

 private:
  uint32_t window_bytes_;
  uint32_t peer_replay_bytes_ = 0;
  std::map<ChannelId, Receiver> receivers_;
  std::deque<ChannelId> credit_queue_;
};

}  // namespace gw::stream
