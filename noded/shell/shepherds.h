// Connections to the shepherds of this node's runs.
// Invariants: each run has at most one connection; the death of a shepherd is told once, after it was seen that nobody
// listens on its socket any more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "io/loop.h"
#include "noded/core/facts.h"
#include "noded/shell/message_stream.h"
#include "wire/step.pb.h"

namespace gw::noded {

class Shepherds {
 public:
  struct Events {
    std::function<void(RunKey)> on_connected;
    std::function<void(RunKey, const wire::FromShepherd&)> on_message;
    std::function<void(RunKey)> on_lost;
    /// Nobody listens, and the launcher has not said why.
    std::function<void(RunKey)> on_dead;
  };
  using SocketOf = std::function<std::string(RunKey)>;
  Shepherds(io::Loop& loop, SocketOf socket_of, Events events)
      : loop_(loop), socket_of_(std::move(socket_of)), events_(std::move(events)) {}

  /// Connects to a run's shepherd, and again whenever the connection breaks, until drop() or its death.
  void connect(RunKey run);
  bool is_connected(RunKey run) const;
  void send(RunKey run, const wire::ToShepherd& message);
  /// Ends the connection after what was sent; nothing more is told of the run.
  void drop(RunKey run);

 private:
  struct Flock {
    std::shared_ptr<MessageStream> stream;
    int refusals = 0;
    io::Timer retry;
  };
  void try_connect(RunKey run);
  void on_closed(RunKey run);

  io::Loop& loop_;
  SocketOf socket_of_;
  Events events_;
  std::map<RunKey, Flock> flock_;
};

}  // namespace gw::noded
