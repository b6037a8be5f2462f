// Handshakes of those who come, and the table of those who are in.
#include "stream/server.h"

#include <algorithm>

namespace gw::stream {

using base::ErrorCode;
using base::Result;
using base::Status;

/// A connection that has not proved anything yet.
struct Server::Visitor {
  explicit Visitor(const auth::TicketGate& gate) : handshake(gate) {}
  std::shared_ptr<io::Stream> stream;
  wire::FrameDecoder decoder{auth::kMaxTicketMessage};
  auth::TicketServerHandshake handshake;
  bool has_greeted = false;
  io::Timer limit;
};

/// A client and its session.
struct Server::ClientSession {
  std::shared_ptr<Endpoint> endpoint;
  auth::Rights rights = auth::Rights::kWatch;
  io::Timer patience;  // while it has no connection
};

namespace {

/// For a session that is refused as a whole: it only lives to say so.
struct Nobody : Handler {
  size_t on_bytes(ChannelId, std::string_view bytes) override { return bytes.size(); }
  void on_end(ChannelId) override {}
  void on_writable(ChannelId) override {}
  void on_control(const Control&) override {}
  void on_closed(const base::Error&) override {}
};

}  // namespace

Server::Server(io::Loop& loop, const base::Clock& clock, const auth::KeyPair& own, ServerOptions options,
               WelcomeFn welcome)
    : loop_(loop),
      clock_(clock),
      options_(std::move(options)),
      welcome_(std::move(welcome)),
      gate_{own, options_.controller_key, options_.step, memory_, kStreamVersions} {}

Server::~Server() {
  for (const auto& visitor : visitors_) visitor->stream->close("the server ends");
}

Result<std::unique_ptr<Server>> Server::open(io::Loop& loop, const base::Clock& clock, const auth::KeyPair& own,
                                             ServerOptions options, WelcomeFn welcome) {
  std::unique_ptr<Server> server(new Server(loop, clock, own, std::move(options), std::move(welcome)));
  io::ListenOptions listen;
  listen.address = server->options_.address;
  listen.max_out_bytes = kMaxOut;
  listen.backlog = 128;
  GW_TRY(listener, io::Listener::open(loop, listen, [raw = server.get()](std::shared_ptr<io::Stream> stream) {
           raw->on_accept(std::move(stream));
         }));
  server->listener_ = std::move(listener);
  return server;
}

void Server::on_accept(std::shared_ptr<io::Stream> stream) {
  if (visitors_.size() >= options_.max_unproved && !visitors_.empty()) {
    refuse(*visitors_.front(), {ErrorCode::kUnavailable, "others came who were quicker", ""});
  }
  const auto visitor = visitors_.emplace_back(std::make_shared<Visitor>(gate_));
  visitor->stream = std::move(stream);
  const std::weak_ptr<Visitor> weak = visitor;
  visitor->limit = loop_.after(options_.handshake_limit, [this, weak] {
    if (const auto v = weak.lock()) refuse(*v, {ErrorCode::kTimeout, "the handshake took too long", ""});
  });
  visitor->stream->on_closed([this, weak](const std::string&) {
    if (const auto v = weak.lock()) remove(*v);
  });
  visitor->stream->on_data([this, weak](std::string_view bytes) {
    const auto v = weak.lock();
    if (!v) return;
    v->decoder.feed(bytes);
    on_frames(*v);
  });
}

void Server::on_frames(Visitor& visitor) {
  const auto is_here = [&] {
    return std::any_of(visitors_.begin(), visitors_.end(), [&](const auto& v) { return v.get() == &visitor; });
  };
  while (is_here()) {
    const auto frame = visitor.decoder.next();
    if (frame && !*frame) return;
    const Status status = frame ? on_frame(visitor, **frame) : base::pass(frame);
    if (!status) return refuse(visitor, status.error());
  }
}

Status Server::on_frame(Visitor& visitor, std::string_view frame) {
  if (!visitor.has_greeted) {
    GW_TRY(accept, visitor.handshake.on_hello(frame, clock_.now()));
    visitor.has_greeted = true;
    std::string out;
    wire::append_frame(out, accept);
    visitor.stream->send(out);
    return {};
  }
  GW_TRY(secure, visitor.handshake.on_finish(frame));
  admit(visitor, std::move(secure));
  return {};
}

void Server::refuse(Visitor& visitor, const base::Error& error) {
  if (!visitor.has_greeted) {
    std::string out;
    wire::append_frame(out, auth::refusal(error));
    visitor.stream->send(out);
  }
  visitor.stream->on_closed({});
  visitor.stream->close_after_flush(error.what);
  remove(visitor);
}

void Server::remove(Visitor& visitor) {
  visitors_.remove_if([&](const auto& v) { return v.get() == &visitor; });
}

void Server::admit(Visitor& visitor, auth::Session secure) {
  const auth::Ticket ticket = visitor.handshake.ticket();
  Pipe pipe(std::move(secure), std::move(visitor.decoder));
  auto stream = std::move(visitor.stream);
  remove(visitor);
  const auto client = session_for(ticket);
  if (client) {
    (*client)->patience.cancel();
    return (*client)->endpoint->attach(std::move(stream), std::move(pipe));
  }
  const auto endpoint = std::make_shared<Endpoint>(loop_, session_options(ticket));
  endpoint->set_handler(std::make_shared<Nobody>());
  endpoint->attach(std::move(stream), std::move(pipe));
  endpoint->dismiss(client.error());
}

Result<Server::ClientSession*> Server::session_for(const auth::Ticket& ticket) {
  const auto found = sessions_.find(ticket.client_key);
  if (found == sessions_.end()) return open_session(ticket);
  ClientSession& client = found->second;
  if (client.endpoint->session().is_closed()) return tl::unexpected(client.endpoint->session().close_reason());
  if (client.rights != ticket.rights) {
    return base::fail(ErrorCode::kConflict, "the new ticket has not the rights that the session began with");
  }
  return &client;
}

SessionOptions Server::session_options(const auth::Ticket& ticket) const {
  SessionOptions session;
  session.role = Role::kShepherd;
  session.own_id = random_session_id();
  session.window_bytes = options_.window_bytes;
  session.may_control = ticket.rights == auth::Rights::kFull;
  session.replay_bytes = session.may_control ? options_.replay_bytes : options_.watch_replay_bytes;
  return session;
}

Result<Server::ClientSession*> Server::open_session(const auth::Ticket& ticket) {
  if (sessions_.size() >= options_.max_sessions) {  // one that only waits to say that it has ended is dropped
    std::erase_if(sessions_, [](const auto& entry) {
      return entry.second.endpoint->session().is_closed() && !entry.second.endpoint->is_attached();
    });
  }
  if (sessions_.size() >= options_.max_sessions) {
    return base::fail(ErrorCode::kConflict, "too many clients are connected to this step");
  }
  const auto endpoint = std::make_shared<Endpoint>(loop_, session_options(ticket));
  GW_TRY(handler, welcome_(ticket, endpoint->session()));
  endpoint->set_handler(handler);
  endpoint->on_lost([this, key = ticket.client_key, raw = endpoint.get()](const std::string&) {
    on_lost(key, raw->was_ended_by_peer());
  });
  ClientSession& client = sessions_[ticket.client_key];
  client.endpoint = endpoint;
  client.rights = ticket.rights;
  return &client;
}

void Server::on_lost(const auth::Bytes32& key, bool was_abandoned) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;
  if (found->second.endpoint->session().is_closed()) {
    sessions_.erase(found);
    return;
  }
  const base::Duration limit =
      was_abandoned ? std::min(options_.abandoned_limit, options_.reconnect_limit) : options_.reconnect_limit;
  found->second.patience = loop_.after(limit, [this, key] {
    const auto client = sessions_.extract(key);
    if (!client.empty()) {
      client.mapped().endpoint->session().close({ErrorCode::kTimeout, "the client did not come back", ""});
    }
  });
}

void Server::drop_connections() {
  for (auto& [key, client] : sessions_) {
    if (!client.endpoint->is_attached()) continue;
    client.endpoint->drop_connection("dropped");
    on_lost(key, false);
  }
}

}  // namespace gw::stream
