// Looks without taking.
#include "peer/doorkeeper.h"

#include <sys/socket.h>

#include <cerrno>
#include <string_view>

#include "io/address.h"
#include "wire/frame.h"

namespace gw::peer {
namespace {

constexpr size_t kMaxVisitors = 64;
constexpr int kHelloFrame = static_cast<int>(wire::kFrameHeader + kHelloBytes);
constexpr base::Duration kHelloLimit = base::seconds(10);
constexpr base::Duration kRetry = base::milliseconds(100);

/// Until so many bytes have come there is nothing to read.
void set_least_bytes(const io::Fd& fd, int bytes) {
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

bool says_hello(const io::Fd& fd, const Identity& identity) {
  char bytes[kHelloFrame];
  if (::recv(fd.get(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT) != kHelloFrame) return false;
  const std::string_view frame(bytes, sizeof bytes);
  return frame.substr(0, wire::kFrameHeader) == wire::frame_header(kHelloBytes) &&
         check_hello(identity, frame.substr(wire::kFrameHeader));
}

}  // namespace

Doorkeeper::Doorkeeper(io::Loop& loop, int listener, Identity identity, io::Callback on_peer)
    : loop_(loop), listener_(listener), identity_(std::move(identity)), on_peer_(std::move(on_peer)) {
  watch_ = loop_.watch_readable(listener_, [this] { on_readable(); });
}

// One at a time: whoever comes in crowds does not keep the loop from its other work.
void Doorkeeper::on_readable() {
  io::Fd fd(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)) return;
  if (!fd) {
    watch_.pause();  // there are no more descriptors
    retry_ = loop_.after(kRetry, [this] { watch_.resume(); });
    return;
  }
  io::tune_socket(fd.get());
  set_least_bytes(fd, kHelloFrame);
  if (visitors_.size() >= kMaxVisitors) visitors_.pop_front();
  const At visitor = visitors_.insert(visitors_.end(), Visitor());
  visitor->fd = std::move(fd);
  visitor->limit = loop_.after(kHelloLimit, [this, visitor] { visitors_.erase(visitor); });
  visitor->watch = loop_.watch_readable(visitor->fd.get(), [this, visitor] { on_message(visitor); });
}

void Doorkeeper::on_message(At visitor) {
  if (!says_hello(visitor->fd, identity_)) {
    visitors_.erase(visitor);
    return;
  }
  visitor->watch.cancel();
  visitor->limit.cancel();
  const io::Callback on_peer = on_peer_;  // this one may go meanwhile
  on_peer();
}

std::vector<int> Doorkeeper::hand_over() {
  std::vector<int> fds;
  for (const Visitor& visitor : visitors_) {
    set_least_bytes(visitor.fd, 1);
    fds.push_back(visitor.fd.get());
  }
  return fds;
}

}  // namespace gw::peer
