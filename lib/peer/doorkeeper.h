// Who comes to a node of a step before anybody there talks to others: connections are accepted and their first message
// is looked at, and left where it is for the Mesh that gets them.
// Invariants: only who knows the step's secret makes a Mesh be wanted, others are closed; how many wait, and how long
// one that says nothing, is bounded.
#pragma once

#include <list>
#include <vector>

#include "io/fd.h"
#include "io/loop.h"
#include "peer/handshake.h"

namespace gw::peer {

class Doorkeeper {
 public:
  /// `listener`: a listening socket that does not block, and outlives it. `on_peer`: another node has come.
  Doorkeeper(io::Loop& loop, int listener, Identity identity, io::Callback on_peer);
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  /// Makes all connections ready for Mesh::adopt, also those that have not said anything yet; they stay this one's.
  std::vector<int> hand_over();

 private:
  struct Visitor {
    io::Fd fd;
    io::Watch watch;
    io::Timer limit;
  };
  using At = std::list<Visitor>::iterator;

  io::Loop& loop_;
  int listener_;
  Identity identity_;
  io::Callback on_peer_;
  std::list<Visitor> visitors_;
  io::Watch watch_;
  io::Timer retry_;

  void on_readable();
  void on_message(At visitor);
};

}  // namespace gw::peer
