// The receiving end of one channel: what has come and the program has not taken yet.
// Invariants: at most the window is held; each byte is handed over once, in order; the end comes after the last byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "stream/byte_queue.h"
#include "stream/message.h"

namespace gw::stream {

class ReceiveChannel {
 public:
  explicit ReceiveChannel(uint32_t window) : window_(window) {}

  /// Errors: kProtocol, not the next byte, beyond the window, after the end.
  base::Status check_data(ChannelId id, uint64_t offset, size_t size) const;
  base::Status on_end(ChannelId id, uint64_t offset);
  /// Bytes that the program took, and those that it left, of a message that was checked.
  void on_data(size_t taken, std::string_view left);
  /// Waits for the program to ask for more.
  bool is_held() const { return !held_.empty(); }
  std::string_view front() const { return held_.front(); }
  /// The program took so much of what is held.
  void take(size_t n) { held_.drop_to(held_.begin() + n); }
  /// True once, when the end is next.
  bool take_end();
  /// Drops what is held and what will come.
  void refuse();
  bool is_unwanted() const { return is_unwanted_; }

  /// What the other side is to be told; whether it is worth a message, given how far it may send ahead of credit.
  Credit credit(ChannelId id) const;
  bool is_credit_due(size_t peer_replay_bytes) const;
  uint64_t received() const { return held_.end(); }
  /// `credit` was put into a message.
  void on_credit_sent(const Credit& credit) { last_credit_ = credit; }
  size_t memory_bytes() const { return held_.capacity(); }

  bool is_offering = false;  ///< The program is being called: it is not called again from inside.

 private:
  uint32_t window_;
  ByteQueue held_;  // from what was taken to what was received
  std::optional<uint64_t> end_;
  bool is_end_taken_ = false;
  bool is_unwanted_ = false;
  std::optional<Credit> last_credit_;
};

}  // namespace gw::stream
