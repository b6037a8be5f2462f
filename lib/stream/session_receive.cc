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
  receivers_.set_peer_replay_bytes(m.replay_bytes);
  GW_TRY_STATUS(controls_.on_resume(m.next_control));
  for (const auto& entry : m.channels) GW_TRY_STATUS(senders_.on_resume(entry));
  phase_ = Phase::kReady;
  if (controls_.has_output()) notify();
  for (auto& [id, receiver] : receivers_.all()) queue_credit(id, receiver);
  for (auto& [id, sender] : senders_.all()) after_credit(id, sender);
  tell_if_settled(was_settled);
  return {};
}

Status Session::handle(const Data& m) {
  Receiver* receiver = receivers_.find(m.channel);
  if (receiver == nullptr) return broken("bytes came on a channel that was not asked for");
  ReceiveChannel& channel = receiver->channel;
  GW_TRY_STATUS(channel.check_data(m.channel, m.offset, m.bytes.size()));
  size_t taken = 0;
  if (!channel.is_held() && !channel.is_unwanted()) {
    channel.is_offering = true;
    taken = handler_->on_bytes(m.channel, m.bytes);
    channel.is_offering = false;
    GW_CHECK(taken <= m.bytes.size());
  }
  channel.on_data(taken, m.bytes.substr(taken));
  queue_credit(m.channel, *receiver);
  return {};
}

Status Session::handle(const End& m) {
  Receiver* receiver = receivers_.find(m.channel);
  if (receiver == nullptr) return broken("an end came of a channel that was not asked for");
  GW_TRY_STATUS(receiver->channel.on_end(m.channel, m.offset));
  hand_over_end(m.channel, *receiver);
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

Status Session::handle(const Credit& m) {
  const bool was_settled = is_settled();
  GW_TRY_STATUS(senders_.on_credit(m));
  after_credit(m.channel, *senders_.find(m.channel));
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
  if (m.number != controls_.expected()) return broken("a control message is missing or came twice");
  GW_TRY(control, decode_control(m.body));
  if (sender_of(control) == options_.role) return broken("a control message came from the wrong side");
  if (!options_.may_control) {
    return base::fail(ErrorCode::kDenied, "this ticket lets you watch, not send signals or a terminal's size");
  }
  controls_.on_received();
  notify();
  handler_->on_control(control);
  return {};
}

Status Session::handle(const ControlAck& m) {
  const bool was_settled = is_settled();
  GW_TRY_STATUS(controls_.on_ack(m.next));
  tell_if_settled(was_settled);
  return {};
}

Status Session::handle(const Close& m) {
  finish({ErrorCode::kUnavailable, m.reason.empty() ? "closed by the other side" : m.reason, ""});
  return {};
}

}  // namespace gw::stream
