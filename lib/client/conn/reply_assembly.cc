// Assembly of answers. See reply_assembly.h.
#include "client/conn/reply_assembly.h"

#include <fmt/format.h>

#include <utility>

namespace gw::client {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

tl::unexpected<base::Error> incomplete(std::string why) {
  return base::fail(base::ErrorCode::kProtocol, "the controller's answer is not complete: " + std::move(why),
                    "nothing of it is shown; try again, and tell an administrator if it stays so");
}

}  // namespace

base::Result<std::optional<wire::ApiReply>> ReplyAssembly::take(const std::string& message) {
  wire::ApiReply reply;
  if (!reply.ParseFromString(message))
    return base::fail(base::ErrorCode::kProtocol, "the controller's answer is unreadable");
  if (reply.id() != id_ && reply.id() != 0) return std::nullopt;  // it answers an earlier request that was given up
  if (reply.fragment_count() != 0) return take_fragment(reply);
  if (fragments_ != 0) return incomplete(fmt::format("{} of {} fragments came", fragments_, fragment_count_));
  return take_message(reply);
}

base::Result<std::optional<wire::ApiReply>> ReplyAssembly::take_fragment(const wire::ApiReply& fragment) {
  if (fragments_ == 0) fragment_count_ = fragment.fragment_count();
  if (fragment.fragment_number() != fragments_ + 1 || fragment.fragment_count() != fragment_count_)
    return incomplete(fmt::format("fragment {} of {} came after {} of {}", fragment.fragment_number(),
                                  fragment.fragment_count(), fragments_, fragment_count_));
  ++fragments_;
  if (joined_.size() + fragment.fragment().size() > kMostBytes) return incomplete("one message is longer than 1 GiB");
  joined_ += fragment.fragment();
  if (fragments_ < fragment_count_) return std::nullopt;
  wire::ApiReply message;
  if (!message.ParseFromString(joined_) || message.fragment_count() != 0)
    return base::fail(base::ErrorCode::kProtocol, "the controller's answer is unreadable");
  fragments_ = 0;
  joined_ = {};
  return take_message(message);
}

base::Result<std::optional<wire::ApiReply>> ReplyAssembly::take_message(const wire::ApiReply& message) {
  if (message.has_error()) return message;  // in the middle of a list, too: what came before it is no answer
  const bool is_in_pieces = message.piece() != 0 || message.more() || pieces_ != 0;
  if (!is_in_pieces) return message;
  if (message.piece() != pieces_ + 1)
    return incomplete(fmt::format("piece {} came after piece {}", message.piece(), pieces_));
  ++pieces_;
  whole_.MergeFrom(message);
  if (message.more()) return std::nullopt;
  whole_.clear_more();
  whole_.clear_piece();
  return std::exchange(whole_, {});
}

}  // namespace gw::client
