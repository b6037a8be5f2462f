// Writing, credit and replay of one channel.
#include "stream/send_channel.h"

#include <algorithm>

#include "base/check.h"

namespace gw::stream {
namespace {

tl::unexpected<base::Error> bad_credit(const Credit& credit, std::string_view why) {
  return base::fail(base::ErrorCode::kProtocol,
                    "channel " + std::to_string(credit.channel) + ": the other side " + std::string(why));
}

}  // namespace

size_t SendChannel::room() const { return replay_bytes_ - std::min(replay_bytes_, held_.size()); }

size_t SendChannel::write(std::string_view bytes) {
  GW_CHECK(writing_ == Writing::kOpen);
  if (is_unwanted()) return bytes.size();
  const auto fits = bytes.substr(0, room());
  held_.append(fits);
  is_starved_ = fits.size() < bytes.size();
  return fits.size();
}

bool SendChannel::take_writable() {
  if (wish_ == Wish::kUnwanted) {
    wish_ = Wish::kUnwantedTold;
    is_starved_ = true;
  }
  if (!is_starved_ || (!is_unwanted() && room() < (replay_bytes_ + 1) / 2)) return false;
  is_starved_ = false;
  return true;
}

base::Status SendChannel::on_credit(const Credit& credit) {
  if (credit.taken > sent_) return bad_credit(credit, "acknowledges what was not sent");
  if (is_unwanted()) return {};
  if (credit.taken < held_.begin()) return bad_credit(credit, "takes an acknowledgement back");
  if (credit.is_end_taken && (end_ == EndStage::kUnsent || credit.taken != held_.end())) {
    return bad_credit(credit, "acknowledges an end that was not sent");
  }
  has_credit_ = true;
  held_.drop_to(credit.taken);
  credit_end_ = credit.taken + credit.window;
  if (credit.is_end_taken) end_ = EndStage::kTaken;
  if (credit.is_unwanted) {
    wish_ = Wish::kUnwanted;
    held_.drop_to(held_.end());
  }
  return {};
}

base::Status SendChannel::on_resume(const Credit& credit, uint64_t received) {
  if (received < credit.taken || received > ever_sent_) return bad_credit(credit, "resumes where nothing was sent");
  sent_ = received;
  return on_credit(credit);
}

void SendChannel::on_disconnect() {
  has_credit_ = false;
  if (end_ == EndStage::kSent) end_ = EndStage::kSentBefore;
  sent_ = held_.begin();
}

size_t SendChannel::sendable_bytes() const {
  if (!has_credit_ || is_unwanted()) return 0;
  const uint64_t end = std::min(held_.end(), credit_end_);
  return end > sent_ ? static_cast<size_t>(end - sent_) : 0;
}

bool SendChannel::can_send_end() const {
  return has_credit_ && is_ended() && end_ < EndStage::kSent && !is_unwanted() && sent_ == held_.end();
}

void SendChannel::pop(ChannelId id, std::string& message) {
  const size_t n = std::min(sendable_bytes(), kMaxChunk);
  if (n > 0) {
    message = encode_data_header(id, sent_);
    message.reserve(message.size() + n);
    held_.copy(sent_, n, message);
    sent_ += n;
    ever_sent_ = std::max(ever_sent_, sent_);
    return;
  }
  GW_CHECK(can_send_end());
  message = encode(End{id, held_.end()});
  end_ = EndStage::kSent;
}

}  // namespace gw::stream
