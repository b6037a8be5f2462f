// Requests, retries and waiting.
#include "client/conn/connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/conn/reply_assembly.h"
#include "model/sentences.h"
#include "wire/convert.h"
#include "wire/request_kinds.h"

namespace gw::client {
namespace {

using base::Duration;
using base::ErrorCode;

constexpr Duration kTellAfter = base::seconds(1);
constexpr Duration kFirstPause = base::milliseconds(50);
constexpr Duration kLongestPause = base::seconds(1);

double milliseconds_of(Duration d) { return static_cast<double>(d.us) / 1e3; }

bool may_pass(const base::Error& e) { return e.code == ErrorCode::kUnavailable || e.code == ErrorCode::kTimeout; }

}  // namespace

Connection::Connection(Program program, std::string where, Duration timeout, Dialer dialer, Patience patience)
    : program_(std::move(program)),
      where_(std::move(where)),
      timeout_(timeout),
      dialer_(std::move(dialer)),
      patience_(std::move(patience)) {}

base::Result<wire::ApiReply> Connection::call(wire::ApiRequest request) {
  request.set_id(next_id_++);
  if (wire::is_change(request) && request.client_id().empty()) request.set_client_id(make_uuid());
  const std::string bytes = request.SerializeAsString();
  const bool waits = wire::waits(request);
  const Duration start = patience_.now();
  begin_patience();
  const std::string_view kind = wire::row_of(request.kind_case()).name;
  print_debug(program_, fmt::format("asking {}: {}, {} bytes", where_, kind, bytes.size()));
  for (Duration pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    auto reply = attempt(bytes, request.id(), waits);
    if (reply && reply->error().retry_after_ms() > 0 && wait_as_told(reply->error())) continue;
    if (reply)
      print_debug(program_, fmt::format("{}: {} was answered by {} bytes after {:.1f} ms", where_, kind,
                                        reply->ByteSizeLong(), milliseconds_of(patience_.now() - start)));
    if (reply && reply->has_error()) return tl::unexpected(wire::from_wire(reply->error()));
    if (reply || !may_pass(reply.error())) return reply;
    channel_.reset();
    const Duration now = patience_.now();
    if (now >= tell_at_) say_waiting(reply.error());
    if (now >= reachable_until_)
      return base::with_sentence(
          base::fail(reply.error().code,
                     fmt::format("Unable to contact the controller at {}: {}", where_, reply.error().what),
                     reply.error().hint),
          model::kNoContactSentence);
    patience_.sleep(std::min(pause, reachable_until_ - now));
  }
}

/// A bound of the user's own was reached: the same request is taken in a while. False: longer than there is patience.
bool Connection::wait_as_told(const wire::Error& refusal) {
  const Duration pause = base::milliseconds(refusal.retry_after_ms());
  const Duration now = patience_.now();
  if (now + pause >= reachable_until_) return false;
  if (now + pause >= tell_at_) say_waiting(wire::from_wire(refusal));
  patience_.sleep(pause);
  return true;
}

base::Result<wire::ApiReply> Connection::attempt(const std::string& bytes, uint64_t id, bool waits) {
  if (!channel_) {
    // Short first tries, so that a host that swallows packets is spoken of after a second.
    const Duration now = patience_.now();
    const Duration left = reachable_until_ - now;
    const Duration until_told = tell_at_ - now;
    auto channel = dialer_(has_reported_ ? left : std::max(std::min(left, until_told), kFirstPause));
    if (!channel) return base::pass(channel);
    channel_ = std::move(*channel);
  }
  GW_TRY_STATUS(channel_->send(bytes, std::max(reachable_until_ - patience_.now(), kFirstPause)));
  const Duration asked = patience_.now();
  auto reply = receive_reply(id, waits);
  // Who waits for something to happen was in contact until now, for however long that was.
  if (!reply && waits && patience_.now() - asked >= kTellAfter) begin_patience();
  return reply;
}

void Connection::begin_patience() {
  reachable_until_ = patience_.now() + timeout_;
  tell_at_ = patience_.now() + kTellAfter;
  has_reported_ = false;
}

base::Result<wire::ApiReply> Connection::receive_reply(uint64_t id, bool waits) {
  ReplyAssembly assembly(id);
  while (true) {
    const Duration now = patience_.now();
    const bool will_tell = !has_reported_ && !waits;
    const Duration until = will_tell ? std::max(tell_at_ - now, base::milliseconds(1))
                           : waits   ? base::hours(1)
                                     : reachable_until_ - now;
    auto message = channel_->receive(until);
    if (!message) {
      if (message.error().code != ErrorCode::kTimeout) return base::pass(message);
      if (waits) continue;
      if (patience_.now() >= reachable_until_) return base::pass(message);
      say_waiting({ErrorCode::kTimeout, "no answer yet", {}});
      continue;
    }
    GW_TRY(reply, assembly.take(*message));
    if (reply) return std::move(*reply);
  }
}

void Connection::say_waiting(const base::Error& why) {
  if (has_reported_) return;
  has_reported_ = true;
  print_note(program_, fmt::format("waiting for controller {}: {}", where_, why.text()));
}

}  // namespace gw::client
