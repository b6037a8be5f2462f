// See controls.h.
#include "stream/controls.h"

#include <algorithm>
#include <utility>

#include "stream/message.h"

namespace gw::stream {
namespace {

base::Status bad_ack(const char* what) { return base::fail(base::ErrorCode::kProtocol, what); }

}  // namespace

void Controls::push(std::string body) {
  bytes_ += body.size();
  held_.push_back(std::move(body));
}

base::Status Controls::on_ack(uint64_t next) {
  if (next > next_) return bad_ack("acknowledges control messages that were not sent again yet");
  return drop_before(next);
}

base::Status Controls::on_resume(uint64_t next) {
  GW_TRY_STATUS(drop_before(next));
  next_ = next;
  return {};
}

base::Status Controls::drop_before(uint64_t next) {
  if (next < first_ || next > sent_) return bad_ack("acknowledges control messages that it cannot have");
  while (first_ < next) {
    bytes_ -= held_.front().size();
    held_.pop_front();
    ++first_;
  }
  return {};
}

void Controls::on_received() {
  ++expected_;
  is_ack_due_ = true;
}

bool Controls::pop(std::string& message) {
  if (is_ack_due_) {
    is_ack_due_ = false;
    message = encode(ControlAck{expected_});
    return true;
  }
  if (next_ == first_ + held_.size()) return false;
  message = encode(ControlMessage{next_, held_[static_cast<size_t>(next_ - first_)]});
  sent_ = std::max(sent_, ++next_);
  return true;
}

}  // namespace gw::stream
