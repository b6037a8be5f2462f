// Messages over an authenticated stream.
#include "link/secure_link.h"

#include <fmt/format.h>

#include "base/text.h"
#include "link/protocol.h"

namespace gw::link {

using base::ErrorCode;

namespace {

std::string over_budget(const MemoryBudget& budget) {
  return fmt::format("the connections of this user hold {} bytes of unfinished messages; at most {} are allowed",
                     budget.used_bytes, budget.limit_bytes);
}

}  // namespace

SecureLink::SecureLink(io::Loop& loop, std::shared_ptr<io::Stream> stream, auth::Session session, Peer peer,
                       wire::FrameDecoder decoder)
    : loop_(loop),
      stream_(std::move(stream)),
      session_(std::move(session)),
      peer_(std::move(peer)),
      decoder_(std::move(decoder)),
      last_activity_(io::Loop::monotonic()) {
  decoder_.set_max_bytes(wire::kMaxFrame);
}

SecureLink::~SecureLink() {
  charge(0);
  // A link that is closing lives on in its stream until the last bytes are out; one that was merely dropped ends here.
  stream_->on_closed({});
  stream_->on_drained({});
  if (!is_closed_) stream_->close("dropped");
}

void SecureLink::start() {
  stream_->on_closed([weak = weak_from_this()](const std::string& reason) {
    if (const auto self = weak.lock()) self->on_stream_closed(reason);
  });
  stream_->on_data([weak = weak_from_this()](std::string_view bytes) {
    if (const auto self = weak.lock()) self->on_data(bytes);
  });
  stream_->on_drained([this] {
    charge_buffers();
    if (drained_fn_ && !is_closed_) drained_fn_();
  });
  const auto guard = shared_from_this();
  deliver();
  decoder_.give_back();  // of handshake and registration, which are the longest of most links
}

// False if the budget is exceeded by this; buffers of a normal size never are the reason.
bool SecureLink::charge(size_t bytes) {
  if (!budget_) return true;
  const bool is_more = bytes > charged_bytes_;
  budget_->used_bytes += bytes - charged_bytes_;
  charged_bytes_ = bytes;
  return !is_more || bytes <= wire::kMaxHandshakeFrame || budget_->used_bytes <= budget_->limit_bytes;
}

base::Status SecureLink::send(std::string_view message) {
  if (is_closed_) return base::fail(ErrorCode::kUnavailable, "the connection to " + peer_.address + " is closed");
  if (message.size() > kMaxMessage) {
    return base::invalid(
        fmt::format("a message of {} bytes is too long; at most {} are possible", message.size(), kMaxMessage),
        "ask for less at once");
  }
  if (idle_limit_.us > 0) last_activity_ = io::Loop::monotonic();
  stream_->send(sealed_frame(session_.stream, message));
  if (!charge_buffers()) drop(over_budget(*budget_));
  return {};
}

void SecureLink::close(std::string reason) {
  if (is_closed_) return;
  is_closed_ = true;
  stream_->send(sealed_frame(session_.stream, std::string_view(reason).substr(0, kMaxReason), true));
  stream_->close_after_flush(std::move(reason));
}

void SecureLink::drop(std::string reason) {
  is_closed_ = true;
  stream_->close(std::move(reason));
}

void SecureLink::set_idle_timeout(base::Duration limit) {
  idle_limit_ = limit == base::kUnlimited ? base::Duration{} : limit;
  idle_timer_.cancel();
  last_activity_ = io::Loop::monotonic();
  if (idle_limit_.us > 0) idle_timer_ = loop_.after(idle_limit_, [this] { check_idle(); });
}

// One timer for each link, set again only when it fires: messages just note the time.
void SecureLink::check_idle() {
  const auto idle = io::Loop::monotonic() - last_activity_;
  if (idle >= idle_limit_) return close(fmt::format("nothing was heard for {} s", idle_limit_.seconds()));
  idle_timer_ = loop_.after(idle_limit_ - idle, [this] { check_idle(); });
}

void SecureLink::on_data(std::string_view bytes) {
  decoder_.feed(bytes);
  deliver();
  if (!is_closed_ && !charge_buffers()) close(over_budget(*budget_));
}

void SecureLink::deliver() {
  while (!is_closed_) {
    const auto frame = decoder_.next_view();
    if (!frame) return close(frame.error().text());
    if (!*frame || !deliver_one(**frame)) return;
  }
}

bool SecureLink::deliver_one(std::string_view sealed) {
  // Taken from the thread while in use, since what is called may run a loop. Ten thousand nodes may come at once: their
  // messages need not each have memory of their own.
  constexpr size_t kKeepCapacity = 64 << 10;
  static thread_local std::string kept;
  std::string plain = std::move(kept);
  const auto guard = shared_from_this();
  const base::Result<bool> is_final = session_.stream.open_into(plain, sealed);
  const bool goes_on = is_final ? take(plain, *is_final) : (close(is_final.error().text()), false);
  if (plain.capacity() <= kKeepCapacity) kept = std::move(plain);
  return goes_on;
}

bool SecureLink::take(const std::string& plain, bool is_final) {
  if (is_final) {
    peer_reason_ = plain.empty() ? "closed by the other side" : base::printable(plain, kMaxReason);
    is_closed_ = true;
    stream_->close_after_flush(peer_reason_);
    return false;
  }
  if (idle_limit_.us > 0) last_activity_ = io::Loop::monotonic();
  if (const auto fn = message_fn_) (*fn)(plain);
  return true;
}

void SecureLink::on_stream_closed(const std::string& reason) {
  is_closed_ = true;
  idle_timer_.cancel();
  token_.reset();
  charge(0);
  const ClosedFn fn = std::move(closed_fn_);
  closed_fn_ = nullptr;
  drained_fn_ = nullptr;
  message_fn_.reset();
  if (fn) fn(reason);
}

}  // namespace gw::link
