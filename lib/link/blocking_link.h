// A link for the commands: plain sockets, poll and deadlines, no event loop and no threads.
// Cost of a connection: one connect, one credential, one round trip before the first request may leave; the finish
// message travels with that request.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "auth/authenticator.h"
#include "auth/handshake.h"
#include "base/result.h"
#include "base/time.h"
#include "io/fd.h"
#include "link/protocol.h"
#include "wire/frame.h"

namespace gw::link {

/// A moment by which something has to be done, by a clock that never jumps.
class Deadline {
 public:
  static Deadline in(base::Duration d);
  static Deadline never() { return Deadline(std::chrono::steady_clock::time_point::max()); }
  /// For poll(): milliseconds left, rounded up; 0 when passed, -1 for never.
  int poll_ms() const;
  bool has_passed() const { return poll_ms() == 0; }

 private:
  explicit Deadline(std::chrono::steady_clock::time_point at) : at_(at) {}
  std::chrono::steady_clock::time_point at_;
};

struct ConnectOptions {
  std::string address;        ///< See io::parse_address.
  std::string receiver;       ///< Cluster name + "/" + daemon name.
  uint32_t receiver_uid = 0;  ///< The uid that the receiver runs as.
  auth::Role role = auth::Role::kClient;
  auth::VersionRange versions = kProtocolVersions;
};

class BlockingLink {
 public:
  /// Connects and authenticates. A name look-up and the call to a hanging munged may outlast the deadline by some
  /// seconds. Errors: kUnavailable (refused, unreachable, munged stopped), kTimeout, kNotFound (host), or the
  /// receiver's refusal with its own code and reason.
  static base::Result<BlockingLink> connect(const ConnectOptions& options, auth::Authenticator& authenticator,
                                            Deadline deadline);
  BlockingLink(BlockingLink&&) = default;
  BlockingLink& operator=(BlockingLink&&) = default;

  /// Sends a message. Errors: longer than kMaxMessage; kTimeout and kUnavailable, after which the link is of no use.
  base::Status send(std::string_view message, Deadline deadline);
  /// Waits for the next message. Errors: kTimeout (a later call may succeed); kUnavailable when the other side closed,
  /// with its reason; kProtocol.
  base::Result<std::string> receive(Deadline deadline);
  /// For poll() beside other descriptors; first drain receive() with has_buffered().
  int fd() const { return fd_.get(); }
  /// Bytes were read that receive() has not returned: poll() would not tell of them.
  bool has_buffered() const { return decoder_.buffered_bytes() > 0; }
  uint16_t version() const { return session_.version; }

 private:
  BlockingLink(io::Fd fd, std::string address, wire::FrameDecoder decoder, auth::ClientHandshake::Done done);

  io::Fd fd_;
  std::string address_;
  wire::FrameDecoder decoder_;
  auth::Session session_;
  std::string unsent_;  // the finish message, until the first send or receive
};

}  // namespace gw::link
