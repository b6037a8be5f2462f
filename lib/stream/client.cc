// One attempt after the other: ticket, dial, handshake.
#include "stream/client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "stream/server.h"

namespace gw::stream {

using base::Error;
using base::ErrorCode;
using base::Result;

struct Client::Impl : std::enable_shared_from_this<Client::Impl> {
  Impl(io::Loop& l, const auth::KeyPair& key, ClientOptions o, AskFn a)
      : loop(l), own(key), options(std::move(o)), ask(std::move(a)) {}

  io::Loop& loop;
  const auth::KeyPair& own;
  ClientOptions options;
  AskFn ask;
  StateFn state_fn;
  std::shared_ptr<Endpoint> endpoint;

  uint64_t attempt = 0;  // tells what belongs to an earlier one
  int failures = 0;      // since the last connection
  bool was_denied = false;
  std::optional<base::Duration> away_since;
  io::Timer timer;  // until the next attempt, or for the one under way
  std::string ticket;
  io::DialHandle dialing;
  std::shared_ptr<io::Stream> stream;
  std::optional<wire::FrameDecoder> decoder;
  std::optional<auth::TicketClientHandshake> handshake;

  void start();
  void begin_attempt();
  void on_ticket(Result<std::string> got);
  void on_dialed(Result<std::shared_ptr<io::Stream>> got);
  void on_data(std::string_view bytes);
  void on_lost(const std::string& reason);
  void fail(const Error& error);
  void try_later();
  bool is_final(const Error& error);
  void forget_attempt(const std::string& why);
  void tell(bool is_connected, const std::string& reason) const {
    if (const auto fn = state_fn) fn(is_connected, reason);
  }
};

void Client::Impl::start() {
  const auto weak = weak_from_this();
  endpoint->on_lost([weak](const std::string& reason) {
    if (const auto self = weak.lock()) self->on_lost(reason);
  });
  away_since = io::Loop::monotonic();
  timer = loop.after({}, [this] { begin_attempt(); });
}

void Client::Impl::begin_attempt() {
  const auto guard = shared_from_this();
  if (endpoint->session().is_closed()) return;
  timer = loop.after(options.attempt_limit, [this] {
    fail({ErrorCode::kTimeout, options.address + ": no connection in time", ""});
  });
  ask([weak = weak_from_this(), number = ++attempt](Result<std::string> got) {
    const auto self = weak.lock();
    if (self && self->attempt == number) self->on_ticket(std::move(got));
  });
}

void Client::Impl::on_ticket(Result<std::string> got) {
  if (!got) return fail(got.error());
  ticket = std::move(*got);
  io::DialOptions dial{options.address, options.bind_host, options.attempt_limit, kMaxOut};
  dialing = io::dial(loop, std::move(dial), [this](auto result) { on_dialed(std::move(result)); });
}

void Client::Impl::on_dialed(Result<std::shared_ptr<io::Stream>> got) {
  const auto guard = shared_from_this();
  dialing.reset();
  if (!got) return fail(got.error());
  stream = std::move(*got);
  const auto weak = weak_from_this();
  stream->on_closed([weak, number = attempt](const std::string& reason) {
    const auto self = weak.lock();
    if (self && self->attempt == number) {
      self->fail({ErrorCode::kUnavailable, self->options.address + ": " + reason, ""});
    }
  });
  stream->on_data([weak](std::string_view bytes) {
    if (const auto self = weak.lock()) self->on_data(bytes);
  });
  decoder.emplace(auth::kMaxTicketMessage);
  handshake.emplace(own, options.shepherd_key, kStreamVersions);
  const auto hello = handshake->hello(ticket);
  if (!hello) return fail(hello.error());
  std::string out;
  wire::append_frame(out, *hello);
  stream->send(out);
}

void Client::Impl::on_data(std::string_view bytes) {
  if (!stream) return;
  decoder->feed(bytes);
  auto frame = decoder->next();
  if (frame && !*frame) return;
  auto done = frame ? handshake->on_answer(**frame) : base::pass(frame);
  if (!done) return fail(done.error());
  std::string out;
  wire::append_frame(out, done->finish);
  stream->send(out);
  timer.cancel();
  ++attempt;
  failures = 0;
  was_denied = false;
  away_since.reset();
  endpoint->attach(std::exchange(stream, nullptr), Pipe(std::move(done->session), std::move(*decoder)));
  forget_attempt({});
  tell(true, {});
}

void Client::Impl::forget_attempt(const std::string& why) {
  timer.cancel();
  dialing.reset();
  if (stream) {
    stream->on_closed({});
    stream->close(why);
  }
  stream.reset();
  decoder.reset();
  handshake.reset();
  ticket.clear();
}

void Client::Impl::on_lost(const std::string& reason) {
  if (endpoint->session().is_closed()) return;
  away_since = io::Loop::monotonic();
  try_later();
  tell(false, reason);
}

// A ticket may have been spent by an answer that was lost, or have expired on its way: that is tried once more.
bool Client::Impl::is_final(const Error& error) {
  if (error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout) return false;
  return error.code != ErrorCode::kDenied || std::exchange(was_denied, true);
}

void Client::Impl::fail(const Error& error) {
  const auto guard = shared_from_this();
  ++attempt;
  forget_attempt(error.what);
  if (is_final(error)) return endpoint->session().close(error);
  if (io::Loop::monotonic() - *away_since >= options.patience) {
    return endpoint->session().close({ErrorCode::kTimeout, "gave up connecting: " + error.what, error.hint});
  }
  try_later();
  tell(false, error.text());
}

void Client::Impl::try_later() {
  const int64_t whole = std::min(options.max_delay.us, options.first_delay.us << std::min(failures++, 20));
  const int64_t part = static_cast<int64_t>(random_session_id() % 1024);
  timer = loop.after({whole / 2 + whole * part / 2048}, [this] { begin_attempt(); });
}

Client::Client(io::Loop& loop, const auth::KeyPair& own, ClientOptions options, AskFn ask)
    : impl_(std::make_shared<Impl>(loop, own, std::move(options), std::move(ask))) {
  SessionOptions session;
  session.role = Role::kClient;
  session.own_id = random_session_id();
  session.window_bytes = impl_->options.window_bytes;
  session.replay_bytes = impl_->options.replay_bytes;
  impl_->endpoint = std::make_shared<Endpoint>(loop, session);
}

Client::~Client() { impl_->forget_attempt("given up"); }

Session& Client::session() { return impl_->endpoint->session(); }

bool Client::is_connected() const { return impl_->endpoint->is_attached(); }

void Client::on_state(StateFn fn) { impl_->state_fn = std::move(fn); }

void Client::start(std::shared_ptr<Handler> handler) {
  impl_->endpoint->set_handler(std::move(handler));
  impl_->start();
}

void Client::drop_connection() {
  if (!impl_->endpoint->is_attached()) return;
  impl_->endpoint->drop_connection("dropped");
  impl_->on_lost("dropped");
}

}  // namespace gw::stream
