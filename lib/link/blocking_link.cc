// Blocking links: each wait is a poll with what is left of the deadline.
#include "link/blocking_link.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "io/address.h"

namespace gw::link {
namespace {

using base::ErrorCode;
using base::Result;
using base::Status;

constexpr size_t kReadBytes = 64 * 1024;
constexpr const char* kDownHint = "is the daemon running, and is this its address?";

tl::unexpected<base::Error> timed_out(const std::string& address) {
  return base::fail(ErrorCode::kTimeout, "no answer from " + address + " in time");
}

tl::unexpected<base::Error> lost(const std::string& address, int error) {
  return base::fail(ErrorCode::kUnavailable, fmt::format("connection to {} lost: {}", address, std::strerror(error)));
}

Status wait_for(int fd, short events, const std::string& address, Deadline deadline) {
  for (;;) {
    pollfd p{fd, events, 0};
    const int n = poll(&p, 1, deadline.poll_ms());
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return base::fail_errno("poll", errno);
    if (deadline.has_passed()) return timed_out(address);
  }
}

// Gives an open socket or the errno of the attempt.
Result<io::Fd> connect_one(const io::SockAddr& to, const std::string& address, Deadline deadline) {
  GW_TRY(fd, io::open_socket(to, {}));
  int error = connect(fd.get(), to.get(), to.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    GW_TRY_STATUS(wait_for(fd.get(), POLLOUT, address, deadline));
    error = io::socket_error(fd.get());
  }
  if (error == 0) return std::move(fd);
  return base::fail(ErrorCode::kUnavailable, fmt::format("cannot connect to {}: {}", address, std::strerror(error)),
                    kDownHint);
}

Result<io::Fd> connect_any(const std::string& text, Deadline deadline) {
  GW_TRY(address, io::parse_address(text));
  GW_TRY(targets, io::resolve(address));
  Result<io::Fd> fd = base::fail(ErrorCode::kNotFound, "host of " + text + " has no address");
  for (const auto& target : targets) {
    fd = connect_one(target, text, deadline);
    if (fd || fd.error().code == ErrorCode::kTimeout) break;
  }
  return fd;
}

Status send_all(int fd, std::string_view bytes, const std::string& address, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      GW_TRY_STATUS(wait_for(fd, POLLOUT, address, deadline));
    } else if (errno != EINTR) {
      return lost(address, errno);
    }
  }
  return {};
}

// The next frame. What was read before a timeout stays in the decoder.
Result<std::string> next_frame(int fd, wire::FrameDecoder& decoder, const std::string& address, Deadline deadline) {
  char buffer[kReadBytes];
  for (;;) {
    GW_TRY(frame, decoder.next());
    if (frame) return std::move(*frame);
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n > 0) {
      decoder.feed({buffer, static_cast<size_t>(n)});
    } else if (n == 0) {
      return base::fail(ErrorCode::kUnavailable, "connection closed by " + address);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      GW_TRY_STATUS(wait_for(fd, POLLIN, address, deadline));
    } else if (errno != EINTR) {
      return lost(address, errno);
    }
  }
}

}  // namespace

Deadline Deadline::in(base::Duration d) {
  if (d == base::kUnlimited) return never();
  return Deadline(std::chrono::steady_clock::now() + std::chrono::microseconds(d.us));
}

int Deadline::poll_ms() const {
  constexpr int64_t kLongest = 3'600'000;
  if (at_ == std::chrono::steady_clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, kLongest));
}

BlockingLink::BlockingLink(io::Fd fd, std::string address, wire::FrameDecoder decoder, auth::ClientHandshake::Done done)
    : fd_(std::move(fd)),
      address_(std::move(address)),
      decoder_(std::move(decoder)),
      session_(std::move(done.session)) {
  decoder_.set_max_bytes(wire::kMaxFrame);
  wire::append_frame(unsent_, done.finish);
}

Result<BlockingLink> BlockingLink::connect(const ConnectOptions& options, auth::Authenticator& authenticator,
                                           Deadline deadline) {
  GW_TRY(fd, connect_any(options.address, deadline));
  auth::ClientHandshake handshake(options.receiver, options.role, options.versions);
  GW_TRY(credential, authenticator.encode(handshake.credential_payload(), options.receiver_uid));
  std::string hello;
  wire::append_frame(hello, handshake.hello(credential));
  GW_TRY_STATUS(send_all(fd.get(), hello, options.address, deadline));
  wire::FrameDecoder decoder(wire::kMaxHandshakeFrame);
  GW_TRY(answer, next_frame(fd.get(), decoder, options.address, deadline));
  GW_TRY(done, handshake.on_answer(answer));
  return BlockingLink(std::move(fd), options.address, std::move(decoder), std::move(done));
}

Status BlockingLink::send(std::string_view message, Deadline deadline) {
  if (message.size() > kMaxMessage) {
    return base::invalid(
        fmt::format("a message of {} bytes is too long; at most {} are possible", message.size(), kMaxMessage));
  }
  std::string bytes = std::exchange(unsent_, {});
  bytes += sealed_frame(session_.stream, message);
  return send_all(fd_.get(), bytes, address_, deadline);
}

Result<std::string> BlockingLink::receive(Deadline deadline) {
  GW_TRY_STATUS(send_all(fd_.get(), std::exchange(unsent_, {}), address_, deadline));
  GW_TRY(sealed, next_frame(fd_.get(), decoder_, address_, deadline));
  GW_TRY(opened, session_.stream.open(sealed));
  if (!opened.final) return std::move(opened.plain);
  return base::fail(ErrorCode::kUnavailable, opened.plain.empty()
                                                 ? "connection closed by " + address_
                                                 : address_ + ": " + base::printable(opened.plain, kMaxReason));
}

}  // namespace gw::link
