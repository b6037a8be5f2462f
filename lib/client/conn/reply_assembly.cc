// Assembly of answers. See reply_assembly.h.
#include "client/conn/reply_assembly.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

namespace gw::client {
namespace {

constexpr size_t kMostBytes = size_t{1} << 30;

tl::unexpected<base::Error> incomplete(std::string why) {
  return base::fail(base::ErrorCode::kProtocol, "the controller's answer is not complete: " + std::move(why),
                    "nothing of it is shown; try again, and tell an administrator if it stays so");
}

tl::unexpected<base::Error> unreadable() {
  return base::fail(base::ErrorCode::kProtocol, "the controller's answer is unreadable");
}

}  // namespace

base::Result<ReplyAssembly::Head> ReplyAssembly::read_head(const std::string& message) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  Head head;
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    head.is_error |= field == wire::ApiReply::kErrorFieldNumber;
    uint64_t* number = field == wire::ApiReply::kIdFieldNumber              ? &head.id
                       : field == wire::ApiReply::kMoreFieldNumber          ? &head.more
                       : field == wire::ApiReply::kPieceFieldNumber         ? &head.piece
                       : field == wire::ApiReply::kFragmentCountFieldNumber ? &head.fragment_count
                                                                            : nullptr;
    const bool is_number = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_VARINT;
    if (number != nullptr && is_number ? !in.ReadVarint64(number) : !WireFormatLite::SkipField(&in, tag))
      return unreadable();
  }
  if (!in.ConsumedEntireMessage()) return unreadable();
  return head;
}

base::Result<std::optional<wire::ApiReply>> ReplyAssembly::take(const std::string& message) {
  GW_TRY(head, read_head(message));
  if (head.id != id_ && head.id != 0) return std::nullopt;  // it answers an earlier request that was given up
  if (head.fragment_count != 0) return take_fragment(message);
  if (fragments_ != 0) return incomplete(fmt::format("{} of {} fragments came", fragments_, fragment_count_));
  return take_message(message, head);
}

base::Result<std::optional<wire::ApiReply>> ReplyAssembly::take_fragment(const std::string& bytes) {
  wire::ApiReply fragment;
  if (!fragment.ParseFromString(bytes)) return unreadable();
  if (fragments_ == 0) fragment_count_ = fragment.fragment_count();
  if (fragment.fragment_number() != fragments_ + 1 || fragment.fragment_count() != fragment_count_)
    return incomplete(fmt::format("fragment {} of {} came after {} of {}", fragment.fragment_number(),
                                  fragment.fragment_count(), fragments_, fragment_count_));
  ++fragments_;
  if (joined_.size() + fragment.fragment().size() > kMostBytes) return incomplete("one message is longer than 1 GiB");
  joined_ += fragment.fragment();
  if (fragments_ < fragment_count_) return std::nullopt;
  fragments_ = 0;
  const std::string message = std::exchange(joined_, {});
  GW_TRY(head, read_head(message));
  if (head.fragment_count != 0) return unreadable();
  return take_message(message, head);
}

base::Result<std::optional<wire::ApiReply>> ReplyAssembly::take_message(const std::string& bytes, const Head& head) {
  const bool is_in_pieces = head.piece != 0 || head.more != 0 || pieces_ != 0;
  if (head.is_error || !is_in_pieces) {  // an error in the middle of a list, too: what came before it is no answer
    wire::ApiReply reply;
    if (!reply.ParseFromString(bytes)) return unreadable();
    return reply;
  }
  if (head.piece != pieces_ + uint64_t{1})
    return incomplete(fmt::format("piece {} came after piece {}", head.piece, pieces_));
  ++pieces_;
  // Its rows follow those that are there, without a copy of them in between.
  if (!whole_.MergeFromString(bytes)) return unreadable();
  if (head.more != 0) return std::nullopt;
  whole_.clear_more();
  whole_.clear_piece();
  return std::exchange(whole_, {});
}

}  // namespace gw::client
