// See receivers.h.
#include "stream/receivers.h"

namespace gw::stream {

base::Result<Receivers::Receiver*> Receivers::open(ChannelId id) {
  if (receivers_.size() >= kMaxChannels) return base::invalid("too many channels");
  const auto [entry, is_new] = receivers_.try_emplace(id, Receiver{ReceiveChannel(window_bytes_), false});
  if (!is_new) return base::invalid("channel " + std::to_string(id) + " is open already");
  return &entry->second;
}

Receivers::Receiver* Receivers::find(ChannelId id) {
  const auto found = receivers_.find(id);
  return found == receivers_.end() ? nullptr : &found->second;
}

std::vector<Resume::Channel> Receivers::positions() {
  std::vector<Resume::Channel> all;
  all.reserve(receivers_.size());
  for (auto& [id, receiver] : receivers_) {
    const Credit credit = receiver.channel.credit(id);
    receiver.channel.on_credit_sent(credit);
    all.push_back({credit, receiver.channel.received()});
  }
  return all;
}

void Receivers::on_disconnect() {
  credit_queue_.clear();
  for (auto& [id, receiver] : receivers_) receiver.is_queued = false;
}

bool Receivers::queue_credit(ChannelId id, Receiver& receiver) {
  if (receiver.is_queued || !receiver.channel.is_credit_due(peer_replay_bytes_)) return false;
  receiver.is_queued = true;
  credit_queue_.push_back(id);
  return true;
}

bool Receivers::pop_credit(std::string& message) {
  if (credit_queue_.empty()) return false;
  const ChannelId id = credit_queue_.front();
  credit_queue_.pop_front();
  Receiver& receiver = receivers_.at(id);
  receiver.is_queued = false;
  const Credit credit = receiver.channel.credit(id);
  receiver.channel.on_credit_sent(credit);
  message = encode(credit);
  return true;
}

size_t Receivers::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& [id, receiver] : receivers_) bytes += receiver.channel.memory_bytes();
  return bytes;
}

}  // namespace gw::stream
