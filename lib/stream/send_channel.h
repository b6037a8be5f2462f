// The sending end of one channel: what was written and not yet taken by the other side.
// Invariants: at most `replay_bytes` are held; nothing is sent beyond the credit; a byte is forgotten only when the
// other side's program has taken it, so that any connection can be replaced by another one without loss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "stream/byte_queue.h"
#include "stream/message.h"

namespace gw::stream {

class SendChannel {
 public:
  explicit SendChannel(size_t replay_bytes) : replay_bytes_(replay_bytes) {}

  void open() { writing_ = Writing::kOpen; }
  bool is_open() const { return writing_ != Writing::kUnopened; }
  /// Takes as much as there is room for, and says how much that was. All, unseen, once the other side wants no more.
  size_t write(std::string_view bytes);
  size_t room() const;
  /// Nothing will be written any more.
  void end() { writing_ = Writing::kEnded; }
  bool is_ended() const { return writing_ == Writing::kEnded; }
  bool is_unwanted() const { return wish_ != Wish::kWanted; }
  /// The other side has taken everything, the end included.
  bool is_drained() const { return is_ended() && (end_ == EndStage::kTaken || is_unwanted()); }
  /// True once after write() took less than it was given and half of the room is free again; and once when the other
  /// side wants no more.
  bool take_writable();

  /// Errors: kProtocol, a credit that cannot be.
  base::Status on_credit(const Credit& credit);
  /// The same on a new connection, where the other side has `received` bytes.
  base::Status on_resume(const Credit& credit, uint64_t received);
  /// The connection is gone: nothing may be sent until on_resume or on_credit.
  void on_disconnect();

  bool has_output() const { return sendable_bytes() > 0 || can_send_end(); }
  /// The next message, of data or of the end; only if has_output().
  void pop(ChannelId id, std::string& message);
  size_t memory_bytes() const { return held_.capacity(); }

 private:
  enum class Writing : uint8_t { kUnopened, kOpen, kEnded };
  /// How far the end has come: sent on an earlier connection, on this one, taken by the other side's program.
  enum class EndStage : uint8_t { kUnsent, kSentBefore, kSent, kTaken };
  /// Whether the other side wants more, and whether the writer was told that it does not.
  enum class Wish : uint8_t { kWanted, kUnwanted, kUnwantedTold };

  size_t replay_bytes_;
  ByteQueue held_;           // from what was taken to what was written
  uint64_t sent_ = 0;        // on this connection
  uint64_t ever_sent_ = 0;   // on any
  uint64_t credit_end_ = 0;  // bytes before may be sent
  Writing writing_ = Writing::kUnopened;
  EndStage end_ = EndStage::kUnsent;
  Wish wish_ = Wish::kWanted;
  bool is_starved_ = false;  // write() took less than it was given
  bool has_credit_ = false;  // the other side has said that it receives this channel

  size_t sendable_bytes() const;
  bool can_send_end() const;
};

}  // namespace gw::stream
