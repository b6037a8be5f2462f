// The messages of a session, as they are sealed one by one. Private to this folder and its tests.
// Invariant: lengths and counts are checked before memory is taken for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace gw::stream {

using ChannelId = uint32_t;

/// Most bytes of a channel in one message.
constexpr size_t kMaxChunk = 64 * 1024;
/// Most channels of a session in each direction.
constexpr size_t kMaxChannels = 1024;
/// Longest message of a session, in bytes.
constexpr size_t kMaxSessionMessage = kMaxChunk + 64;
constexpr size_t kMaxCloseReason = 1000;

/// What the receiver of a channel has taken, and what it will take.
struct Credit {
  ChannelId channel = 0;
  uint64_t taken = 0;         ///< Bytes that its program has: those before may be forgotten by the sender.
  uint32_t window = 0;        ///< Bytes after `taken` that it has room for.
  bool is_end_taken = false;  ///< It knows that nothing follows.
  bool is_unwanted = false;   ///< It wants no more: what is not sent yet may be forgotten.
  bool operator==(const Credit&) const = default;
};

/// The first message of each side on each connection: where it stands.
struct Resume {
  uint64_t own_id = 0;        ///< Of this end of the session; another one next time means that it lost its memory.
  uint64_t peer_id = 0;       ///< Of the other end; 0 if never heard of.
  uint32_t replay_bytes = 0;  ///< Most bytes of a channel that this side sends ahead of their being taken.
  uint64_t next_control = 0;  ///< Number of the control message that it expects.
  struct Channel {
    Credit credit;
    uint64_t received = 0;  ///< Bytes received, taken or not: where the sender continues.
    bool operator==(const Channel&) const = default;
  };
  std::vector<Channel> channels;  ///< Those that it receives.
  bool operator==(const Resume&) const = default;
};
struct Data {
  ChannelId channel = 0;
  uint64_t offset = 0;     ///< Of the first byte, from the beginning of the channel.
  std::string_view bytes;  ///< Into the message.
};
struct End {
  ChannelId channel = 0;
  uint64_t offset = 0;  ///< Bytes that there were.
};
struct ControlMessage {
  uint64_t number = 0;
  std::string_view body;  ///< Into the message; see decode_control.
};
struct ControlAck {
  uint64_t next = 0;
};
struct Close {
  std::string reason;
};
using Message = std::variant<Resume, Data, End, Credit, ControlMessage, ControlAck, Close>;

/// Bytes in front of a chunk in its message.
constexpr size_t kDataHeader = 1 + 4 + 8;

std::string encode(const Resume& m);
std::string encode(const End& m);
std::string encode(const Credit& m);
std::string encode(const ControlMessage& m);
std::string encode(const ControlAck& m);
std::string encode(const Close& m);
/// The part in front of the bytes, which the caller appends.
std::string encode_data_header(ChannelId channel, uint64_t offset);
/// Errors: kProtocol, whatever is wrong. The views of the result point into `bytes`.
base::Result<Message> decode(std::string_view bytes);

}  // namespace gw::stream
