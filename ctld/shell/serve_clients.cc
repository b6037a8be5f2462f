// Clients' connections: messages wait in the inbox of their connection and are served in turn (round_robin.h), for a
// bounded time between two looks at the sockets. A connection whose list is under way gets the next piece in its turn,
// when the former one has been written; its other requests wait.
#include <algorithm>
#include <utility>

#include "ctld/shell/server.h"

namespace gw::ctld {

void Server::on_client(ConnId conn, const std::shared_ptr<link::SecureLink>& link) {
  Client& client = queue_.clients[conn];
  client.link = link;
  link->on_message([this, conn](std::string_view bytes) { on_client_message(conn, bytes); });
  link->on_drained([this, conn] { on_client_drained(conn); });
  link->on_closed([this, conn](const std::string&) {
    queue_.clients.erase(conn);
    planning_.questions->forget(conn);
    planning_.asked_forecasts->forget(conn);
    core_->on_client_gone(read_clocks(), conn);
    pump();
  });
  users_->find(link->peer().uid, link->peer().gid,
               [this, conn](const base::Result<Caller>& caller) { on_known(conn, caller); });
}

void Server::on_known(ConnId conn, const base::Result<Caller>& caller) {
  const auto it = queue_.clients.find(conn);
  if (it == queue_.clients.end()) return;
  if (!caller) return it->second.link->close(caller.error().text());  // a client tries again by itself
  it->second.caller = *caller;
  it->second.is_known = true;
  want_turn(conn, it->second);
}

/// What was read already comes even though reading has stopped: it is taken as long as the user's share of the memory
/// lasts, and a little beyond it, so that a ping gets through while the disk hangs.
void Server::on_client_message(ConnId conn, std::string_view bytes) {
  const auto it = queue_.clients.find(conn);
  if (it == queue_.clients.end()) return;
  Client& client = it->second;
  constexpr size_t kOverhead = 256, kLittle = 4096;
  const uint32_t uid = client.link->peer().uid;
  if (bytes.size() > kLittle || client.inbox.size() >= Client::kMostWaiting)
    if (const base::Status room = held_.admit(uid); !room) return client.link->close(room.error().text());
  client.inbox.push_back({std::string(bytes), held_.charge(uid, bytes.size() + kOverhead)});
  if (client.inbox.size() >= Client::kMostWaiting && !client.is_paused) {
    client.is_paused = true;
    client.link->set_reading(false);
  }
  want_turn(conn, client);
}

void Server::on_client_drained(ConnId conn) {
  const auto it = queue_.clients.find(conn);
  if (it == queue_.clients.end() || !std::exchange(it->second.is_piece_on_its_way, false)) return;
  it->second.is_piece_wanted = true;
  want_turn(conn, it->second);
}

void Server::want_turn(ConnId conn, const Client& client) {
  if (!client.is_known || client.reads > 0 || client.awaited) return;
  const bool is_listing = client.records != nullptr || core_->clients().listings.has(conn);
  if (is_listing ? !client.is_piece_wanted : client.inbox.empty()) return;
  queue_.turns.want(client.caller.uid, conn);
  if (std::exchange(queue_.is_serving, true)) return;
  loop_.defer([this] { serve(); });
}

void Server::serve() {
  constexpr base::Duration kRound = base::milliseconds(1);  // who comes waits for it at each step of the handshake
  const base::Duration until = io::Loop::monotonic() + kRound;
  do {
    const std::optional<ConnId> conn = queue_.turns.next();
    if (!conn) break;
    serve_one(*conn);
  } while (io::Loop::monotonic() < until);
  queue_.is_serving = !queue_.turns.empty();
  if (queue_.is_serving) loop_.defer([this] { serve(); });
}

void Server::serve_one(ConnId conn) {
  const auto it = queue_.clients.find(conn);
  if (it == queue_.clients.end() || it->second.link->is_closed()) return;
  Client& client = it->second;
  if (std::exchange(client.is_piece_wanted, false)) {
    if (client.records) return effects_.read_records(conn, client);
    const Request size{client.link->peer().uid, 0};
    core_->on_piece_taken(read_clocks(), conn, client.list);
    pump(&size);
  } else if (!client.inbox.empty()) {
    const Waiting message = std::move(client.inbox.front());
    client.inbox.pop_front();
    handle_request(conn, client, message);
  }
  // Who was served may have been closed by it, but goes from the table in a later round only.
  if (client.is_paused && client.inbox.empty()) {
    client.is_paused = false;
    client.link->set_reading(true);
  }
  want_turn(conn, client);
}

}  // namespace gw::ctld
