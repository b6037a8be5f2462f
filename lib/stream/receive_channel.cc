// Order, window and credit of one receiving channel.
#include "stream/receive_channel.h"

#include <algorithm>

#include "base/check.h"

namespace gw::stream {
namespace {

tl::unexpected<base::Error> bad(ChannelId id, std::string_view why) {
  return base::fail(base::ErrorCode::kProtocol, "channel " + std::to_string(id) + ": " + std::string(why));
}

}  // namespace

base::Status ReceiveChannel::check_data(ChannelId id, uint64_t offset, size_t size) const {
  if (end_) return bad(id, "bytes came after its end");
  if (offset != received()) return bad(id, "bytes are missing or came twice");
  if (size > window_ - std::min<size_t>(window_, held_.size())) return bad(id, "more bytes came than were asked for");
  return {};
}

base::Status ReceiveChannel::on_end(ChannelId id, uint64_t offset) {
  if (offset != received()) return bad(id, "its end came at a place where it is not");
  end_ = offset;
  return {};
}

void ReceiveChannel::on_data(size_t taken, std::string_view left) {
  GW_CHECK(taken == 0 || held_.empty());
  if (taken > 0) held_.drop_to(held_.end() + taken);
  held_.append(left);
  if (is_unwanted_) held_.drop_to(held_.end());
}

bool ReceiveChannel::take_end() {
  if (!end_ || is_held() || is_end_taken_) return false;
  is_end_taken_ = true;
  return true;
}

void ReceiveChannel::refuse() {
  is_unwanted_ = true;
  held_.drop_to(held_.end());
}

Credit ReceiveChannel::credit(ChannelId id) const { return {id, held_.begin(), window_, is_end_taken_, is_unwanted_}; }

// A quarter of what the other side can have on its way: seldom enough to cost nothing, often enough never to let it
// stop.
bool ReceiveChannel::is_credit_due(size_t peer_replay_bytes) const {
  if (!last_credit_) return true;
  if (last_credit_->is_end_taken != is_end_taken_ || last_credit_->is_unwanted != is_unwanted_) return true;
  return held_.begin() - last_credit_->taken >= std::max<size_t>(1, std::min<size_t>(window_, peer_replay_bytes) / 4);
}

}  // namespace gw::stream
