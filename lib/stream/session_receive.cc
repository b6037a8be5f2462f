// What comes in: checks each message against what this end knows, and hands it on.
#include <utility>

#include "base/check.h"
#include "stream/session.h"

namespace gw::stream {

using base::ErrorCode;
using base::Status;

namespace {

tl::unexpected<base::Error> broken(std::string what) { return base::fail(ErrorCode::kProtocol, std::move(what)); }

}  // namespace

void Session::receive(std::string_view bytes) {
  if (is_closed() || phase_ == Phase::kDetached) return;
  const auto message = decode(bytes);
  Status status = message ? std::visit(
                                [this](const auto& m) -> Status {
                                  using M = std::decay_t<decltype(m)>;
                                  if constexpr (!std::is_same_v<M, Resume> && !std::is_same_v<M, Close>) {
                                    if (phase_ != Phase::kReady) return broken("a message came before the resumption");
                                  }
                                  return handle(m);
                                },
                                *message)
                          : base::pass(message);
  if (!status) close(status.error());
}

Status Session::handle(const Resume& m) {
  if (phase_ == Phase::kReady) return broken("a resumption came twice");
  if (m.peer_id != 0 && m.peer_id != options_.own_id) return broken("the other side resumes another session");
  if (peer_id_ != 0 && peer_id_ != m.own_id) return broken("the other side has lost what it knew of the session");
  const bool was_settled = is_settled();
  peer_id_ = m.own_id;
  peer_replay_bytes_ = m.replay_bytes;
  GW_TRY_STATUS(drop_controls(m.next_control));
  next_control_ = m.next_control;
  for (const auto& entry : m.channels) {
    const auto apply = [&entry](SendChannel& channel) { return channel.on_resume(entry.credit, entry.received); };
    GW_TRY_STATUS(apply_credit(entry.credit, apply));
  }
  phase_ = Phase::kReady;
  if (next_control_ < first_control_ + controls_.size()) notify();
  for (auto& [id, receiver] : receivers_) queue_credit(id, receiver);
  for (auto& [id, sender] : senders_) after_credit(id, sender);
  tell_if_settled(was_settled);
  return {};
}

Status Session::handle(const Data& m) {
  const auto found = receivers_.find(m.channel);
  if (found == receivers_.end()) return broken("bytes came on a channel that was not asked for");
  Receiver& receiver = found->second;
  ReceiveChannel& channel = receiver.channel;
  GW_TRY_STATUS(channel.check_data(m.channel, m.offset, m.bytes.size()));
  size_t taken = 0;
  if (!channel.is_held() && !channel.is_unwanted()) {
    channel.is_offering = true;
    taken = handler_->on_bytes(m.channel, m.bytes);
    channel.is_offering = false;
    GW_CHECK(taken <= m.bytes.size());
  }
  channel.on_data(taken, m.bytes.substr(taken));
  queue_credit(m.channel, receiver);
  return {};
}

Status Session::handle(const End& m) {
  const auto found = receivers_.find(m.channel);
  if (found == receivers_.end()) return broken("an end came of a channel that was not asked for");
  GW_TRY_STATUS(found->second.channel.on_end(m.channel, m.offset));
  hand_over_end(m.channel, found->second);
  return {};
}

void Session::offer(ChannelId id, Receiver& receiver) {
  ReceiveChannel& channel = receiver.channel;
  if (channel.is_offering) return;
  channel.is_offering = true;
  while (channel.is_held() && !is_closed()) {
    const auto bytes = channel.front();
    const size_t taken = handler_->on_bytes(id, bytes);
    GW_CHECK(taken <= bytes.size());
    if (channel.is_held()) channel.take(taken);
    if (taken < bytes.size()) break;
  }
  channel.is_offering = false;
  hand_over_end(id, receiver);
}

void Session::hand_over_end(ChannelId id, Receiver& receiver) {
  if (!is_closed() && receiver.channel.take_end() && !receiver.channel.is_unwanted()) handler_->on_end(id);
  queue_credit(id, receiver);
}

// A receiver may ask for a channel before this end has opened it.
base::Result<Session::Sender*> Session::sender_for_credit(ChannelId id) {
  auto found = senders_.find(id);
  if (found == senders_.end()) {
    if (senders_.size() >= kMaxChannels) return broken("too many channels are asked for");
    found = senders_.try_emplace(id, Sender{SendChannel(options_.replay_bytes), false}).first;
  }
  return &found->second;
}

template <typename Apply>
Status Session::apply_credit(const Credit& credit, Apply apply) {
  GW_TRY(sender, sender_for_credit(credit.channel));
  const bool was_drained = sender->channel.is_drained();
  GW_TRY_STATUS(apply(sender->channel));
  if (!was_drained && sender->channel.is_drained()) --undrained_;
  return {};
}

Status Session::handle(const Credit& m) {
  const bool was_settled = is_settled();
  GW_TRY_STATUS(apply_credit(m, [&m](SendChannel& channel) { return channel.on_credit(m); }));
  after_credit(m.channel, senders_.at(m.channel));
  tell_if_settled(was_settled);
  return {};
}

void Session::after_credit(ChannelId id, Sender& sender) {
  if (sender.channel.is_open() && sender.channel.take_writable() && !is_closed()) handler_->on_writable(id);
  queue_send(id, sender);
}

void Session::tell_if_settled(bool was_settled) {
  if (!was_settled && is_settled() && !is_closed()) handler_->on_settled();
}

Status Session::handle(const ControlMessage& m) {
  if (m.number != expected_control_) return broken("a control message is missing or came twice");
  GW_TRY(control, decode_control(m.body));
  if (sender_of(control) == options_.side) return broken("a control message came from the wrong side");
  if (!options_.may_control) {
    return base::fail(ErrorCode::kDenied, "this ticket lets you watch, not send signals or a terminal's size");
  }
  ++expected_control_;
  is_control_ack_due_ = true;
  notify();
  handler_->on_control(control);
  return {};
}

Status Session::handle(const ControlAck& m) {
  if (m.next > next_control_) return broken("acknowledges control messages that were not sent again yet");
  const bool was_settled = is_settled();
  GW_TRY_STATUS(drop_controls(m.next));
  tell_if_settled(was_settled);
  return {};
}

Status Session::drop_controls(uint64_t next) {
  if (next < first_control_ || next > controls_sent_)
    return broken("acknowledges control messages that it cannot have");
  while (first_control_ < next) {
    control_bytes_ -= controls_.front().size();
    controls_.pop_front();
    ++first_control_;
  }
  return {};
}

Status Session::handle(const Close& m) {
  finish({ErrorCode::kUnavailable, m.reason.empty() ? "closed by the other side" : m.reason, ""});
  return {};
}

}  // namespace gw::stream
