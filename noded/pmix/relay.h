// Where the tasks of a step connect: a listening socket on the loopback interface, which stands before libpmix does,
// and from which each connection is passed on to libpmix's own. Invariants: only processes of this process's user get
// through, by what the kernel says of the other end; what waits on one side is bounded by not reading from the other.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "io/fd.h"
#include "io/loop.h"
#include "io/stream.h"

namespace gw::noded::pmix {

class Relay {
 public:
  /// `listener`: listening and non-blocking; `port`: of libpmix on 127.0.0.1.
  Relay(io::Loop& loop, io::Fd listener, uint16_t port);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// A connection that was accepted before, non-blocking.
  void add(io::Fd fd);

 private:
  struct Pair;

  io::Loop& loop_;
  io::Fd listener_;
  uint16_t port_;
  std::list<std::shared_ptr<Pair>> pairs_;
  io::Watch watch_;
  io::Timer retry_;

  void on_readable();
  void join(const std::shared_ptr<Pair>& pair, std::shared_ptr<io::Stream> server);
};

}  // namespace gw::noded::pmix
