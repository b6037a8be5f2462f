// All nodes of a step, as one of them reaches the others: it listens, dials where it has something to say, and gives
// each message to the right link.
// Invariants: messages from one node to another arrive in the order in which they were sent, once or, if the node is
// lost, not at all; a node that was lost is told of once and stays lost; what waits for a node is bounded; nothing is
// called back from inside a call to this.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/listener.h"
#include "io/loop.h"
#include "peer/handshake.h"
#include "peer/link.h"

namespace gw::peer {

struct MeshOptions {
  Identity identity;
  std::string listen;  ///< As io::ListenOptions::address.
  io::Fd listener;     ///< Instead: a socket that listens already.
  size_t max_message = size_t{64} << 20;
  size_t max_waiting = size_t{256} << 20;  ///< Bytes that wait to be sent to one node.
  size_t max_unproved = 64;                ///< Connections that have not proved anything yet.
  base::Duration handshake_limit = base::seconds(10);
  base::Duration dial_limit = base::seconds(20);
};

class Mesh {
 public:
  using MessageFn = std::function<void(uint32_t from, std::string message)>;
  /// A node that cannot be reached any more.
  using LostFn = std::function<void(uint32_t node, const base::Error& reason)>;

  /// Errors: as io::Listener::open.
  static base::Result<std::unique_ptr<Mesh>> open(io::Loop& loop, MeshOptions options, MessageFn on_message,
                                                  LostFn on_lost);
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  /// Where the others reach this one.
  std::string address() const { return listener_->bound_address(); }
  /// Where each node listens, by number; to be told before anything is sent. Errors: not as many as there are nodes.
  base::Status set_addresses(std::vector<std::string> addresses);
  /// Takes a connection that was accepted elsewhere, from which nothing was read.
  void adopt(io::Fd fd);
  /// To another node. What is sent to a lost one is dropped.
  void send(uint32_t node, std::string_view message);

 private:
  struct Handshake;  // a connection on its way to become a link, either side
  struct Route {
    io::DialHandle dial;
    std::shared_ptr<Handshake> handshake;
    std::shared_ptr<Link> link;
    std::vector<std::string> waiting;
    size_t waiting_bytes = 0;
    bool is_lost = false;

    bool is_open() const { return dial || handshake || link; }
  };

  io::Loop& loop_;
  MeshOptions options_;
  MessageFn message_fn_;
  LostFn lost_fn_;
  std::vector<std::string> addresses_;
  std::unique_ptr<io::Listener> listener_;
  std::list<std::shared_ptr<Handshake>> visitors_;
  std::map<uint32_t, Route> routes_;
  std::list<std::shared_ptr<Link>> links_;
  io::Timer overflow_;

  Mesh(io::Loop& loop, MeshOptions options, MessageFn on_message, LostFn on_lost);
  void on_accept(std::shared_ptr<io::Stream> stream);
  void on_visitor_bytes(const std::shared_ptr<Handshake>& visitor, std::string_view bytes);
  base::Status on_visitor_frame(const std::shared_ptr<Handshake>& visitor, std::string_view frame);
  void drop_visitor(const std::shared_ptr<Handshake>& visitor);
  void dial(uint32_t node, Route& route);
  void on_dialled(uint32_t node, std::shared_ptr<io::Stream> stream);
  void on_accepted(uint32_t node, std::string_view bytes);
  std::shared_ptr<Link> add_link(Handshake& from, auth::SecureStream secure, uint32_t node);
  void start(Link& link);
  void lose(uint32_t node, const base::Error& reason);
};

}  // namespace gw::peer
