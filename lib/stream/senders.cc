// See senders.h.
#include "stream/senders.h"

namespace gw::stream {

base::Status Senders::open(ChannelId id) {
  const auto found = senders_.find(id);
  if (found != senders_.end() && found->second.channel.is_open())
    return base::invalid("channel " + std::to_string(id) + " is open already");
  if (found == senders_.end() && senders_.size() >= kMaxChannels) return base::invalid("too many channels");
  senders_.try_emplace(id, Sender{SendChannel(replay_bytes_), false}).first->second.channel.open();
  return {};
}

Senders::Sender* Senders::find(ChannelId id) {
  const auto found = senders_.find(id);
  return found == senders_.end() ? nullptr : &found->second;
}

const Senders::Sender* Senders::find(ChannelId id) const {
  const auto found = senders_.find(id);
  return found == senders_.end() ? nullptr : &found->second;
}

void Senders::end(SendChannel& channel) {
  channel.end();
  if (!channel.is_drained()) ++undrained_;
}

template <typename Apply>
base::Status Senders::apply_credit(ChannelId id, Apply apply) {
  auto found = senders_.find(id);
  if (found == senders_.end()) {
    if (senders_.size() >= kMaxChannels)
      return base::fail(base::ErrorCode::kProtocol, "too many channels are asked for");
    found = senders_.try_emplace(id, Sender{SendChannel(replay_bytes_), false}).first;
  }
  SendChannel& channel = found->second.channel;
  const bool was_drained = channel.is_drained();
  GW_TRY_STATUS(apply(channel));
  if (!was_drained && channel.is_drained()) --undrained_;
  return {};
}

base::Status Senders::on_credit(const Credit& credit) {
  return apply_credit(credit.channel, [&credit](SendChannel& channel) { return channel.on_credit(credit); });
}

base::Status Senders::on_resume(const Resume::Channel& position) {
  const Credit& credit = position.credit;
  return apply_credit(credit.channel,
                      [&](SendChannel& channel) { return channel.on_resume(credit, position.received); });
}

void Senders::on_disconnect() {
  queue_.clear();
  for (auto& [id, sender] : senders_) {
    sender.is_queued = false;
    sender.channel.on_disconnect();
  }
}

bool Senders::queue(ChannelId id, Sender& sender) {
  if (sender.is_queued || !sender.channel.has_output()) return false;
  sender.is_queued = true;
  queue_.push_back(id);
  return true;
}

std::optional<ChannelId> Senders::pop(std::string& message) {
  while (!queue_.empty()) {
    const ChannelId id = queue_.front();
    queue_.pop_front();
    Sender& sender = senders_.at(id);
    sender.is_queued = false;
    if (!sender.channel.has_output()) continue;
    sender.channel.pop(id, message);
    return id;
  }
  return std::nullopt;
}

size_t Senders::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& [id, sender] : senders_) bytes += sender.channel.memory_bytes();
  return bytes;
}

}  // namespace gw::stream
