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

Session::Session(SessionOptions options)
    : options_(options), senders_(options.replay_bytes), receivers_(options.window_bytes) {
  GW_CHECK(options_.own_id != 0 && options_.window_bytes > 0 && options_.replay_bytes > 0);
}

void Session::notify() {
  if (output_fn_) output_fn_();
}

Status Session::open_send(ChannelId channel) { return senders_.open(channel); }

Status Session::open_receive(ChannelId channel) {
  GW_TRY(receiver, receivers_.open(channel));
  queue_credit(channel, *receiver);
  return {};
}

size_t Session::write(ChannelId channel, std::string_view bytes) {
  Sender* sender = senders_.find(channel);
  GW_CHECK(sender != nullptr);
  if (is_closed()) return bytes.size();
  const size_t n = sender->channel.write(bytes);
  queue_send(channel, *sender);
  return n;
}

size_t Session::room(ChannelId channel) const {
  const Sender* sender = senders_.find(channel);
  return sender == nullptr ? 0 : sender->channel.room();
}

void Session::end(ChannelId channel) {
  Sender* sender = senders_.find(channel);
  GW_CHECK(sender != nullptr && sender->channel.is_open());
  if (sender->channel.is_ended()) return;
  senders_.end(sender->channel);
  queue_send(channel, *sender);
}

bool Session::is_unwanted(ChannelId channel) const {
  const Sender* sender = senders_.find(channel);
  return sender != nullptr && sender->channel.is_unwanted();
}

void Session::pull(ChannelId channel) {
  Receiver* receiver = receivers_.find(channel);
  if (receiver != nullptr && !is_closed()) offer(channel, *receiver);
}

void Session::refuse(ChannelId channel) {
  Receiver* receiver = receivers_.find(channel);
  if (receiver == nullptr || is_closed()) return;
  receiver->channel.refuse();
  queue_credit(channel, *receiver);
}

Status Session::send_control(const Control& control) {
  GW_CHECK(sender_of(control) == options_.role);
  if (is_closed()) return base::fail(ErrorCode::kConflict, "the session is closed");
  std::string body = encode_control(control);
  if (controls_.memory_bytes() + body.size() > options_.max_control_bytes) {
    return base::fail(ErrorCode::kUnavailable, "too many messages wait for the other side");
  }
  controls_.push(std::move(body));
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
  is_resume_due_ = is_close_due_ = false;
  controls_.on_disconnect();
  senders_.on_disconnect();
  receivers_.on_disconnect();
}

void Session::queue_send(ChannelId id, Sender& sender) {
  if (phase_ == Phase::kReady && senders_.queue(id, sender)) notify();
}

void Session::queue_credit(ChannelId id, Receiver& receiver) {
  if (phase_ == Phase::kReady && receivers_.queue_credit(id, receiver)) notify();
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
    message =
        encode(Resume{options_.own_id, peer_id_, options_.replay_bytes, controls_.expected(), receivers_.positions()});
    return true;
  }
  if (phase_ != Phase::kReady) return false;
  if (controls_.pop(message) || receivers_.pop_credit(message)) return true;
  const std::optional<ChannelId> sent = senders_.pop(message);
  if (sent) queue_send(*sent, *senders_.find(*sent));
  return sent.has_value();
}

size_t Session::memory_bytes() const {
  return controls_.memory_bytes() + senders_.memory_bytes() + receivers_.memory_bytes();
}

}  // namespace gw::stream
