// The server's side of links.
#include "link/link_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "link/protocol.h"
#include "wire/frame.h"

namespace gw::link {

using base::Error;
using base::ErrorCode;

/// How many links are open, in all and by user.
struct LinkServer::LinkCounts {
  size_t total = 0;
  size_t of_users = 0;  // of those who are not exempt
  struct User {
    size_t links = 0;
    std::shared_ptr<MemoryBudget> budget = std::make_shared<MemoryBudget>();
  };
  std::unordered_map<uint32_t, User> by_uid;

  User& add(uint32_t uid, bool is_exempt) {
    ++total;
    of_users += is_exempt ? 0 : 1;
    User& user = by_uid[uid];
    ++user.links;
    return user;
  }
  void remove(uint32_t uid, bool is_exempt) {
    --total;
    of_users -= is_exempt ? 0 : 1;
    const auto user = by_uid.find(uid);
    if (--user->second.links == 0) by_uid.erase(user);
  }
};

/// A connection that has not proved itself yet.
class LinkServer::Pending : public std::enable_shared_from_this<Pending> {
 public:
  Pending(LinkServer& server, std::shared_ptr<io::Stream> stream)
      : server_(server),
        stream_(std::move(stream)),
        came_after_(server.listener_->was_empty_at()),
        address_(stream_->peer_text()),
        handshake_(server.options_.name, server.options_.versions, server.nonces_) {}
  ~Pending() {
    // A refusal on its way out lives on in the stream.
    if (!stream_) return;
    stream_->on_closed({});
    if (!is_over_) stream_->close("the server stops");
  }

  void start() {
    const std::weak_ptr<Pending> weak = weak_from_this();
    stream_->on_closed([weak](const std::string& reason) {
      if (const auto self = weak.lock()) self->on_stream_closed(reason);
    });
    stream_->on_data([weak](std::string_view bytes) {
      if (const auto self = weak.lock()) self->on_data(bytes);
    });
    timer_ = server_.loop_.after(server_.options_.handshake_timeout, [this] { on_timeout(); });
  }

  /// Tells the client why, and gives it a moment to read that.
  void refuse(const Error& error, std::shared_ptr<void> token) {
    end();
    stream_->keep(std::move(token));
    std::string frame;
    wire::append_frame(frame, auth::refusal(error));
    stream_->send(frame);
    stream_->close_after_flush(error.what);
  }
  /// Ends the connection without a word.
  void drop(const std::string& why) {
    end();
    stream_->close(why);
  }

  const std::string& address() const { return address_; }
  bool is_silent() const { return stage_ == Stage::kHello; }
  bool has_said_something() const { return !is_silent() || decoder_.buffered_bytes() > 0 || stream_->has_unread(); }
  base::Duration came_after() const { return came_after_; }

  std::shared_ptr<SecureLink> make_link(auth::Session session) {
    end();
    Peer who = peer(session.version);
    auto link = std::make_shared<SecureLink>(server_.loop_, std::move(stream_), std::move(session), std::move(who),
                                             std::move(decoder_));
    link->set_came_after(came_after_);
    return link;
  }
  Peer peer(uint16_t version) const {
    return {handshake_.uid(), handshake_.gid(), handshake_.role(), version, address_, stream_->peer_host()};
  }

 private:
  enum class Stage { kHello, kCredential, kFinish };

  LinkServer& server_;
  std::shared_ptr<io::Stream> stream_;
  base::Duration came_after_;
  std::string address_;
  auth::ServerHandshake handshake_;
  wire::FrameDecoder decoder_{wire::kMaxHandshakeFrame};
  Stage stage_ = Stage::kHello;
  bool is_over_ = false;
  io::Timer timer_;

  void end() {
    is_over_ = true;
    timer_.cancel();
  }

  void fail(const Error& error) { server_.refuse(shared_from_this(), error); }

  void on_data(std::string_view bytes) {
    decoder_.feed(bytes);
    // A client may not send more than its three messages' worth ahead; the bound of a frame is enough for that.
    if (decoder_.buffered_bytes() > 2 * wire::kMaxHandshakeFrame) {
      return fail({ErrorCode::kProtocol, "too many bytes before the handshake was done", ""});
    }
    advance();
  }

  void advance() {
    while (!is_over_ && stage_ != Stage::kCredential) {
      auto frame = decoder_.next();
      if (!frame) return fail(frame.error());
      if (!*frame) return;
      if (stage_ == Stage::kHello) {
        on_hello(**frame);
      } else {
        on_finish(**frame);
      }
    }
  }

  void on_hello(const std::string& hello) {
    auto pending = handshake_.on_hello(hello);
    if (!pending) return fail(pending.error());
    stage_ = Stage::kCredential;
    server_.pool_.answer(std::move(*pending), weak_from_this(),
                         [this](base::Result<auth::Acceptance> answer) { on_answer(std::move(answer)); });
  }

  void on_answer(base::Result<auth::Acceptance> answer) {
    if (is_over_) return;
    const auto accept = handshake_.on_answer(std::move(answer));
    if (!accept) return fail(accept.error());
    if (auto admitted = server_.admit(peer(0)); !admitted) {
      if (server_.is_exempt(peer(0).uid)) server_.turned_away_ = io::Loop::monotonic();
      return fail(admitted.error());
    }
    stage_ = Stage::kFinish;
    std::string frame;
    wire::append_frame(frame, *accept);
    stream_->send(frame);
    advance();
  }

  void on_finish(const std::string& finish) {
    auto session = handshake_.on_finish(finish);
    if (!session) return fail(session.error());
    server_.on_authenticated(shared_from_this(), std::move(*session));
  }

  void on_timeout() {
    // It is our time that ran out, not the other side's, while what it said is not read.
    if (stream_->has_unread()) {
      timer_ = server_.loop_.after(base::seconds(1), [this] { on_timeout(); });
      return;
    }
    if (has_said_something()) server_.turned_away_ = io::Loop::monotonic();
    const bool waits_for_munge = stage_ == Stage::kCredential;
    fail({ErrorCode::kTimeout,
          waits_for_munge ? "munged on the server's host does not answer" : "the handshake was not finished in time",
          waits_for_munge ? "restart munged there: systemctl restart munge" : ""});
  }

  void on_stream_closed(const std::string& reason) {
    if (is_over_) return;
    end();
    server_.forget(shared_from_this());
    if (server_.refused_fn_) server_.refused_fn_(address_, {ErrorCode::kUnavailable, reason, ""});
  }
};

LinkServer::LinkServer(io::Loop& loop, AuthPool& pool, ServerOptions options, LinkFn on_link, RefusedFn on_refused)
    : loop_(loop),
      pool_(pool),
      options_(std::move(options)),
      link_fn_(std::move(on_link)),
      refused_fn_(std::move(on_refused)),
      counts_(std::make_shared<LinkCounts>()),
      refused_token_(std::make_shared<char>()) {}

LinkServer::~LinkServer() = default;

base::Result<std::unique_ptr<LinkServer>> LinkServer::start(io::Loop& loop, AuthPool& pool, ServerOptions options,
                                                            LinkFn on_link, RefusedFn on_refused) {
  io::ListenOptions listen{.address = options.address, .max_out_bytes = options.max_out_bytes};
  std::unique_ptr<LinkServer> server(
      new LinkServer(loop, pool, std::move(options), std::move(on_link), std::move(on_refused)));
  LinkServer* self = server.get();
  GW_TRY(listener, io::Listener::open(
                       loop, listen, [self](std::shared_ptr<io::Stream> s) { self->on_accept(std::move(s)); },
                       [self](const Error& error) { self->on_paused(error); }));
  server->listener_ = std::move(listener);
  return server;
}

LinkServer::Arrivals LinkServer::arrivals() const {
  const base::Duration accepted = listener_->accepted_until();
  return {pending_.empty() ? accepted : std::min(accepted, pending_.front()->came_after()), turned_away_};
}

size_t LinkServer::link_count() const { return counts_->total; }

void LinkServer::on_accept(std::shared_ptr<io::Stream> stream) {
  if (pending_.size() >= options_.max_handshakes) drop_oldest("too many connections wait to be authenticated");
  pending_.push_back(std::make_shared<Pending>(*this, std::move(stream)));
  pending_.back()->start();
}

// Descriptors ran out: whoever has not proved itself gives one back.
void LinkServer::on_paused(const Error& error) {
  if (refused_fn_) refused_fn_({}, error);
  drop_oldest("the server has no more descriptors");
}

// Without a word and without lingering: room is needed now.
void LinkServer::drop_oldest(const std::string& why) {
  auto victim = std::find_if(pending_.begin(), pending_.end(), [](const auto& p) { return p->is_silent(); });
  if (victim == pending_.end()) victim = pending_.begin();
  if (victim == pending_.end()) return;
  const auto pending = *victim;
  if (pending->has_said_something()) turned_away_ = io::Loop::monotonic();
  pending_.erase(victim);
  pending->drop(why);
  if (refused_fn_) refused_fn_(pending->address(), {ErrorCode::kUnavailable, why, ""});
}

base::Status LinkServer::admit(const Peer& peer) const {
  constexpr const char* kHint = "end some of them, or try again later";
  if (counts_->total >= options_.max_links) {
    return base::fail(ErrorCode::kUnavailable, fmt::format("the server has {} connections, its bound", counts_->total),
                      kHint);
  }
  if (!is_exempt(peer.uid) && counts_->of_users >= options_.max_links_of_users)
    return base::fail(ErrorCode::kUnavailable,
                      fmt::format("users have {} connections together, their bound", counts_->of_users), kHint);
  const auto mine = counts_->by_uid.find(peer.uid);
  if (!is_exempt(peer.uid) && mine != counts_->by_uid.end() && mine->second.links >= options_.max_links_per_uid) {
    return base::fail(ErrorCode::kUnavailable,
                      fmt::format("user {} has {} connections, the bound for one user", peer.uid, mine->second.links),
                      kHint);
  }
  return {};
}

void LinkServer::on_authenticated(const std::shared_ptr<Pending>& pending, auth::Session session) {
  forget(pending);
  const auto link = pending->make_link(std::move(session));
  const uint32_t uid = link->peer().uid;
  const bool is_bound = !is_exempt(uid);
  auto& user = counts_->add(uid, !is_bound);
  user.budget->limit_bytes = options_.max_bytes_per_uid;
  if (is_bound) link->set_budget(user.budget);
  link->keep(
      std::shared_ptr<void>(nullptr, [counts = counts_, uid, is_bound](void*) { counts->remove(uid, !is_bound); }));
  if (link->peer().role == auth::Role::kClient) link->set_idle_timeout(options_.idle_timeout);
  link_fn_(link);
  link->start();
}

void LinkServer::refuse(const std::shared_ptr<Pending>& pending, const Error& error) {
  forget(pending);
  // Whoever is refused may take a moment to read why; but there is no room for many who never do.
  if (static_cast<size_t>(refused_token_.use_count()) > options_.max_handshakes) {
    pending->drop(error.what);
  } else {
    pending->refuse(error, refused_token_);
  }
  if (refused_fn_) refused_fn_(pending->address(), error);
}

void LinkServer::forget(const std::shared_ptr<Pending>& pending) {
  const auto it = std::find(pending_.begin(), pending_.end(), pending);
  if (it != pending_.end()) pending_.erase(it);
}

}  // namespace gw::link
