// A framed, non-blocking stream over a unix socket, and the listening end of it.
// Invariants: never blocks; what waits to be sent is bounded; only root and our own user get in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "noded/step/proc/owned_fd.h"
#include "wire/frame.h"

namespace gw::noded::step {

/// One connection.
class Channel {
 public:
  Channel(proc::OwnedFd fd, size_t max_frame) : fd_(std::move(fd)), decoder_(max_frame) {}

  int fd() const { return fd_.get(); }
  /// False once the peer has gone, broke the protocol, or takes nothing: to be dropped.
  bool is_open() const { return static_cast<bool>(fd_); }
  bool wants_write() const { return !out_.empty(); }
  /// Everything that has arrived as whole payloads.
  std::vector<std::string> receive();
  void send(std::string_view payload);
  /// Sends what waits.
  void flush();

 private:
  proc::OwnedFd fd_;
  wire::FrameDecoder decoder_;
  std::string out_;
};

/// Listens on a unix socket of mode 0600 at `path`. Errors: longer than the 107 bytes of a socket address; errno.
base::Result<proc::OwnedFd> listen_at(const std::string& path);
/// Connects, non-blocking afterwards.
base::Result<proc::OwnedFd> connect_to(const std::string& path);
/// Accepts one waiting connection of root or our own user; others are closed.
std::optional<proc::OwnedFd> accept_trusted(int listener);

/// Serialises any message of the lite run time.
template <typename Message>
std::string pack(const Message& message) {
  return message.SerializeAsString();
}

}  // namespace gw::noded::step
