// Puts an answer of the controller together from its messages: fragments of a message that is too long for a frame, and
// the numbered pieces of a long list. Pure.
// Invariant: an answer is whole or it is an error; nothing that was left out on the way makes a shorter list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "wire/api.pb.h"

namespace gw::client {

class ReplyAssembly {
 public:
  /// For the answer to request `id`.
  explicit ReplyAssembly(uint64_t id) : id_(id) {}
  /// Takes the next message as it came. The reply once it is whole; nothing while more is to come, and for messages
  /// about earlier requests. Error kProtocol: unreadable, a piece or fragment is missing or comes twice, or it is
  /// longer than anything that the controller makes.
  base::Result<std::optional<wire::ApiReply>> take(const std::string& message);

 private:
  uint64_t id_;
  wire::ApiReply whole_;
  uint32_t pieces_ = 0;     // taken so far
  uint32_t fragments_ = 0;  // of the message under way
  uint32_t fragment_count_ = 0;
  std::string joined_;

  /// What a message says of itself, read without reading the rows.
  struct Head {
    uint64_t id = 0, more = 0, piece = 0, fragment_count = 0;
    bool is_error = false;
  };
  static base::Result<Head> read_head(const std::string& message);

  base::Result<std::optional<wire::ApiReply>> take_fragment(const std::string& bytes);
  base::Result<std::optional<wire::ApiReply>> take_message(const std::string& bytes, const Head& head);
};

}  // namespace gw::client
