// Who sees what the tasks of a step print.
#include "noded/step/audience.h"

namespace gw::noded::step {

size_t Audience::room(stream::ChannelId channel) const {
  return owner_ == nullptr ? stream::kMaxChunk : owner_->room(channel);
}

void Audience::write(stream::ChannelId channel, std::string_view bytes) {
  if (channel == screen_channel_ && channel != kNoChannel) {
    screen_ += bytes;
    if (screen_.size() > 2 * kScreenful) screen_.erase(0, screen_.size() - kScreenful);
  }
  if (owner_ != nullptr) static_cast<void>(owner_->write(channel, bytes));
}

// A write that does not fit is what a session answers with on_writable; without room nothing of it is taken.
void Audience::ask_for_room(stream::ChannelId channel) {
  if (owner_ != nullptr && owner_->room(channel) == 0) static_cast<void>(owner_->write(channel, " "));
}

void Audience::end(stream::ChannelId channel) {
  if (owner_ != nullptr) owner_->end(channel);
}

base::Status Audience::open(stream::ChannelId channel) {
  if (owner_ == nullptr) return {};
  GW_TRY_STATUS(owner_->open_send(channel));
  if (channel == screen_channel_ && !screen_.empty()) {
    const std::string_view last =
        std::string_view(screen_).substr(screen_.size() - std::min(screen_.size(), kScreenful));
    static_cast<void>(owner_->write(channel, last));
  }
  return {};
}

// What does not fit is lost only to a client that has taken nothing for thousands of messages.
void Audience::say(const stream::Control& control) {
  if (owner_ != nullptr && !owner_->is_closed()) static_cast<void>(owner_->send_control(control));
}

}  // namespace gw::noded::step
