// Reads a file and writes it, as frames, to the receivers of a gbcast: on a thread of its own, since a disk may take
// its time. Invariants: the pipe is closed at the end, whatever happened; what went wrong is said once, by
// `on_trouble`.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/time.h"
#include "io/fd.h"
#include "wire/bcast.pb.h"

namespace gw::cmds {

struct BcastFeed {
  io::Fd source;  ///< The file.
  io::Fd to;      ///< The pipe to the receivers that are fed from here.
  io::Fd from;    ///< The pipe with their lines: "NUMBER ADDRESS".
  wire::BcastHeader header;
  uint32_t nodes = 1;
  uint32_t width = 32;
  std::vector<std::string> hosts;  ///< Of each node, as it can be reached.
  size_t piece = size_t{1} << 20;  ///< Bytes of the file in a frame.
  base::Duration stall_limit;      ///< So long nothing may move; zero: for ever.
  std::function<void(const base::Error&)> on_trouble;
};

/// Runs to its end, or until nobody reads any more.
std::thread start_feed(BcastFeed feed);

}  // namespace gw::cmds
