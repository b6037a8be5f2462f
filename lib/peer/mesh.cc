// Who is linked to whom.
#include "peer/mesh.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"

namespace gw::peer {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

/// One that it dialled and one that we dialled.
constexpr int kLinksOfANode = 2;

void send_frame(io::Stream& stream, std::string_view payload) {
  std::string out;
  wire::append_frame(out, payload);
  stream.send(out);
}

}  // namespace

struct Mesh::Handshake {
  explicit Handshake(std::shared_ptr<io::Stream> connection) : stream(std::move(connection)) {}
  std::shared_ptr<io::Stream> stream;
  wire::FrameDecoder decoder{kMaxHandshakeMessage};
  std::optional<AnswerHandshake> answer;
  std::optional<DialerHandshake> dialer;
  io::Timer limit;
};

Mesh::Mesh(io::Loop& loop, MeshOptions options, MessageFn on_message, LostFn on_lost)
    : loop_(loop), options_(std::move(options)), message_fn_(std::move(on_message)), lost_fn_(std::move(on_lost)) {}

Mesh::~Mesh() {
  for (const auto& visitor : visitors_) visitor->stream->on_closed({});
  for (auto& [node, route] : routes_)
    if (route.handshake) route.handshake->stream->on_closed({});
  for (const auto& link : links_) link->on_closed({});
}

Result<std::unique_ptr<Mesh>> Mesh::open(io::Loop& loop, MeshOptions options, MessageFn on_message, LostFn on_lost) {
  std::unique_ptr<Mesh> mesh(new Mesh(loop, std::move(options), std::move(on_message), std::move(on_lost)));
  io::ListenOptions listen;
  listen.address = mesh->options_.listen;
  listen.max_out_bytes = mesh->options_.max_waiting;
  listen.backlog = 1024;
  if (!mesh->options_.listener) {
    GW_TRY(socket, io::Listener::make_socket(listen));
    mesh->options_.listener = std::move(socket);
  }
  mesh->listener_ = io::Listener::adopt(
      loop, std::move(mesh->options_.listener), listen,
      [raw = mesh.get()](std::shared_ptr<io::Stream> stream) { raw->on_accept(std::move(stream)); });
  return mesh;
}

Status Mesh::set_addresses(std::vector<std::string> addresses) {
  if (addresses.size() != options_.identity.nodes)
    return base::invalid(std::to_string(addresses.size()) + " addresses for " +
                         std::to_string(options_.identity.nodes) + " nodes");
  addresses_ = std::move(addresses);
  return {};
}

void Mesh::send(uint32_t node, std::string_view message) {
  GW_CHECK(node < addresses_.size() && node != options_.identity.self);
  Route& route = routes_[node];
  if (route.is_lost) return;
  if (route.link) return route.link->send(message);
  route.waiting_bytes += message.size();
  if (route.waiting_bytes > options_.max_waiting) {
    overflow_ = loop_.after({}, [this, node] {
      lose(node, {ErrorCode::kUnavailable, "too much waits for a connection to it", ""});
    });
    return;
  }
  route.waiting.emplace_back(message);
  if (!route.is_open()) dial(node, route);
}

// --- those who come ---

void Mesh::adopt(io::Fd fd) { on_accept(io::Stream::adopt(loop_, std::move(fd), options_.max_waiting)); }

void Mesh::on_accept(std::shared_ptr<io::Stream> stream) {
  if (visitors_.size() >= std::max<size_t>(options_.max_unproved, 1)) drop_visitor(visitors_.front());
  const auto visitor = visitors_.emplace_back(std::make_shared<Handshake>(std::move(stream)));
  visitor->answer.emplace(options_.identity);
  const std::weak_ptr<Handshake> weak = visitor;
  const auto drop = [this, weak] {
    if (const auto v = weak.lock()) drop_visitor(v);
  };
  visitor->limit = loop_.after(options_.handshake_limit, drop);
  visitor->stream->on_closed([drop](const std::string&) { drop(); });
  visitor->stream->on_data([this, weak](std::string_view bytes) {
    if (const auto v = weak.lock()) on_visitor_bytes(v, bytes);
  });
}

void Mesh::on_visitor_bytes(const std::shared_ptr<Handshake>& visitor, std::string_view bytes) {
  visitor->decoder.feed(bytes);
  while (!visitor->stream->is_closed() && visitor->answer) {
    const auto frame = visitor->decoder.next();
    if (frame && !*frame) return;
    const Status done = frame ? on_visitor_frame(visitor, **frame) : base::pass(frame);
    if (!done) return drop_visitor(visitor);
  }
}

Status Mesh::on_visitor_frame(const std::shared_ptr<Handshake>& visitor, std::string_view frame) {
  AnswerHandshake& answer = *visitor->answer;
  if (!answer.has_answered()) {
    GW_TRY(accept, answer.on_hello(frame));
    send_frame(*visitor->stream, accept);
    return {};
  }
  GW_TRY(secure, answer.on_finish(frame));
  const uint32_t node = answer.peer();
  Route& route = routes_[node];
  const auto is_of_node = [node](const auto& link) { return link->peer() == node; };
  if (route.is_lost || std::count_if(links_.begin(), links_.end(), is_of_node) >= kLinksOfANode)
    return base::fail(ErrorCode::kConflict, "one connection too many");
  visitor->answer.reset();
  const auto link = add_link(*visitor, std::move(secure), node);
  if (!route.is_open()) route.link = link;
  visitors_.remove(visitor);
  start(*link);
  return {};
}

void Mesh::drop_visitor(const std::shared_ptr<Handshake>& visitor) {
  const auto held = visitor;  // the list may hold the last one
  held->stream->on_closed({});
  held->stream->close("no node of this step");
  visitors_.remove(held);
}

// --- those who are dialled ---

void Mesh::dial(uint32_t node, Route& route) {
  io::DialOptions options;
  options.address = addresses_[node];
  options.timeout = options_.dial_limit;
  options.max_out_bytes = options_.max_waiting;
  route.dial = io::dial(loop_, options, [this, node](Result<std::shared_ptr<io::Stream>> stream) {
    routes_[node].dial.reset();
    stream ? on_dialled(node, std::move(*stream)) : lose(node, stream.error());
  });
}

void Mesh::on_dialled(uint32_t node, std::shared_ptr<io::Stream> stream) {
  Route& route = routes_[node];
  route.handshake = std::make_shared<Handshake>(std::move(stream));
  Handshake& handshake = *route.handshake;
  handshake.dialer.emplace(options_.identity, node);
  handshake.limit = loop_.after(options_.handshake_limit, [this, node] {
    lose(node, {ErrorCode::kTimeout, "no answer from " + addresses_[node], ""});
  });
  handshake.stream->on_closed([this, node](const std::string& reason) {
    lose(node, {ErrorCode::kUnavailable, reason, ""});
  });
  handshake.stream->on_data([this, node](std::string_view bytes) { on_accepted(node, bytes); });
  send_frame(*handshake.stream, handshake.dialer->hello());
}

void Mesh::on_accepted(uint32_t node, std::string_view bytes) {
  Route& route = routes_[node];
  if (!route.handshake) return;
  Handshake& handshake = *route.handshake;
  handshake.decoder.feed(bytes);
  const auto frame = handshake.decoder.next();
  if (!frame) return lose(node, frame.error());
  if (!*frame) return;
  auto finished = handshake.dialer->on_accept(**frame);
  if (!finished) return lose(node, finished.error());
  send_frame(*handshake.stream, finished->message);
  route.link = add_link(handshake, std::move(finished->secure), node);
  route.handshake.reset();
  for (const std::string& message : std::exchange(route.waiting, {})) route.link->send(message);
  start(*route.link);
}

// --- links ---

std::shared_ptr<Link> Mesh::add_link(Handshake& from, auth::SecureStream secure, uint32_t node) {
  from.limit.cancel();
  const auto link = links_.emplace_back(
      Link::make(from.stream, std::move(secure), std::move(from.decoder), node, options_.max_message));
  link->on_closed([this, node](const base::Error& reason) { lose(node, reason); });
  return link;
}

void Mesh::start(Link& link) {
  link.start([this, node = link.peer()](std::string message) { message_fn_(node, std::move(message)); });
}

void Mesh::lose(uint32_t node, const base::Error& reason) {
  Route& route = routes_[node];
  if (std::exchange(route.is_lost, true)) return;
  const Route gone = std::exchange(route, Route{});  // a callback of one of its parts may be running
  route.is_lost = true;
  if (gone.handshake) gone.handshake->stream->on_closed({});
  std::list<std::shared_ptr<Link>> closed;
  for (auto link = links_.begin(); link != links_.end();) {
    const auto next = std::next(link);
    if ((*link)->peer() == node) closed.splice(closed.end(), links_, link);
    link = next;
  }
  for (const auto& link : closed) link->on_closed({});
  lost_fn_(node, reason);
}

}  // namespace gw::peer
