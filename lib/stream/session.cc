// What the program asks of a session, and what goes out.
#include "stream/session.h"

#include <algorithm>
#include <cstring>

#include "auth/crypto.h"
#include "base/check.h"

namespace gw::stream {

using base::ErrorCode;
using base::Status;

uint32_t bytes_per_channel(size_t channels, size_t budget_bytes) {
  constexpr size_t kLeast = 4 << 10, kMost = 256 << 10;
  return static_cast<uint32_t>(std::clamp(budget_bytes / std::max<size_t>(1, channels), kLeast, kMost));
}

uint64_t random_session_id() {
  const auto random = auth::random_bytes32();
  uint64_t id = 0;
  std::memcpy(&id, random.data(), sizeof id);
  return id == 0 ? 1 : id;
}

Session::Session(SessionOptions options) : options_(options) {
  GW_CHECK(options_.own_id != 0 && options_.window_bytes > 0 && options_.replay_bytes > 0);
}

void Session::notify() {
  if (output_fn_) output_fn_();
}

Status Session::open_send(ChannelId channel) {
  const auto found = senders_.find(channel);
  if (found != senders_.end() && found->second.channel.is_open()) {
    return base::invalid("channel " + std::to_string(channel) + " is open already");
  }
  if (found == senders_.end() && senders_.size() >= kMaxChannels) return base::invalid("too many channels");
  senders_.try_emplace(channel, Sender{SendChannel(options_.replay_bytes), false}).first->second.channel.open();
  return {};
}

Status Session::open_receive(ChannelId channel) {
  if (receivers_.size() >= kMaxChannels) return base::invalid("too many channels");
  const auto [entry, is_new] = receivers_.try_emplace(channel, Receiver{ReceiveChannel(options_.window_bytes), false});
  if (!is_new) return base::invalid("channel " + std::to_string(channel) + " is open already");
  queue_credit(channel, entry->second);
  return {};
}

size_t Session::write(ChannelId channel, std::string_view bytes) {
  const auto found = senders_.find(channel);
  GW_CHECK(found != senders_.end());
  if (is_closed()) return bytes.size();
  const size_t n = found->second.channel.write(bytes);
  queue_send(channel, found->second);
  return n;
}

size_t Session::room(ChannelId channel) const {
  const auto found = senders_.find(channel);
  return found == senders_.end() ? 0 : found->second.channel.room();
}

void Session::end(ChannelId channel) {
  const auto found = senders_.find(channel);
  GW_CHECK(found != senders_.end() && found->second.channel.is_open());
  SendChannel& sender = found->second.channel;
  if (sender.is_ended()) return;
  sender.end();
  if (!sender.is_drained()) ++undrained_;
  queue_send(channel, found->second);
}

bool Session::is_unwanted(ChannelId channel) const {
  const auto found = senders_.find(channel);
  return found != senders_.end() && found->second.channel.is_unwanted();
}

void Session::pull(ChannelId channel) {
  const auto found = receivers_.find(channel);
  if (found != receivers_.end() && !is_closed()) offer(channel, found->second);
}

void Session::refuse(ChannelId channel) {
  const auto found = receivers_.find(channel);
  if (found == receivers_.end() || is_closed()) return;
  found->second.channel.refuse();
  queue_credit(channel, found->second);
}

Status Session::send_control(const Control& control) {
  GW_CHECK(sender_of(control) == options_.side);
  if (is_closed()) return base::fail(ErrorCode::kConflict, "the session is closed");
  std::string body = encode_control(control);
  if (control_bytes_ + body.size() > options_.max_control_bytes) {
    return base::fail(ErrorCode::kUnavailable, "too many messages wait for the other side");
  }
  control_bytes_ += body.size();
  controls_.push_back(std::move(body));
  notify();
  return {};
}

void Session::close(base::Error reason) {
  if (is_closed()) return;
  is_close_due_ = is_connected();
  if (is_close_due_) notify();
  finish(std::move(reason));
}

void Session::finish(base::Error reason) {
  if (is_closed()) return;
  close_reason_ = std::move(reason);
  if (handler_) handler_->on_closed(*close_reason_);
}

void Session::connect() {
  GW_CHECK(handler_);
  disconnect();
  if (is_closed()) return;
  phase_ = Phase::kResuming;
  is_resume_due_ = true;
  notify();
}

void Session::disconnect() {
  phase_ = Phase::kDetached;
  is_resume_due_ = is_close_due_ = is_control_ack_due_ = false;
  send_queue_.clear();
  credit_queue_.clear();
  for (auto& [id, sender] : senders_) {
    sender.is_queued = false;
    sender.channel.on_disconnect();
  }
  for (auto& [id, receiver] : receivers_) receiver.is_queued = false;
}

void Session::queue_send(ChannelId id, Sender& sender) {
  if (phase_ != Phase::kReady || sender.is_queued || !sender.channel.has_output()) return;
  sender.is_queued = true;
  send_queue_.push_back(id);
  notify();
}

void Session::queue_credit(ChannelId id, Receiver& receiver) {
  if (phase_ != Phase::kReady || receiver.is_queued || !receiver.channel.is_credit_due(peer_replay_bytes_)) return;
  receiver.is_queued = true;
  credit_queue_.push_back(id);
  notify();
}

bool Session::pop(std::string& message) {
  if (phase_ == Phase::kDetached) return false;
  if (is_close_due_) {
    is_close_due_ = false;
    message = encode(Close{close_reason_->text()});
    return true;
  }
  if (is_closed()) return false;
  if (is_resume_due_) {
    is_resume_due_ = false;
    message = make_resume();
    return true;
  }
  if (phase_ != Phase::kReady) return false;
  return pop_control(message) || pop_credit(message) || pop_bytes(message);
}

std::string Session::make_resume() {
  Resume m{options_.own_id, peer_id_, options_.replay_bytes, expected_control_, {}};
  m.channels.reserve(receivers_.size());
  for (auto& [id, receiver] : receivers_) {
    const Credit credit = receiver.channel.credit(id);
    receiver.channel.on_told(credit);
    m.channels.push_back({credit, receiver.channel.received()});
  }
  return encode(m);
}

bool Session::pop_control(std::string& message) {
  if (is_control_ack_due_) {
    is_control_ack_due_ = false;
    message = encode(ControlAck{expected_control_});
    return true;
  }
  if (next_control_ == first_control_ + controls_.size()) return false;
  message = encode(ControlMessage{next_control_, controls_[static_cast<size_t>(next_control_ - first_control_)]});
  controls_sent_ = std::max(controls_sent_, ++next_control_);
  return true;
}

bool Session::pop_credit(std::string& message) {
  if (credit_queue_.empty()) return false;
  const ChannelId id = credit_queue_.front();
  credit_queue_.pop_front();
  Receiver& receiver = receivers_.at(id);
  receiver.is_queued = false;
  const Credit credit = receiver.channel.credit(id);
  receiver.channel.on_told(credit);
  message = encode(credit);
  return true;
}

bool Session::pop_bytes(std::string& message) {
  while (!send_queue_.empty()) {
    const ChannelId id = send_queue_.front();
    send_queue_.pop_front();
    Sender& sender = senders_.at(id);
    sender.is_queued = false;
    if (!sender.channel.has_output()) continue;
    sender.channel.pop(id, message);
    queue_send(id, sender);
    return true;
  }
  return false;
}

size_t Session::memory_bytes() const {
  size_t bytes = control_bytes_;
  for (const auto& [id, sender] : senders_) bytes += sender.channel.memory_bytes();
  for (const auto& [id, receiver] : receivers_) bytes += receiver.channel.memory_bytes();
  return bytes;
}

}  // namespace gw::stream
