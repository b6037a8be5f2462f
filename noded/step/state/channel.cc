// A framed, non-blocking stream over a unix socket.
#include "noded/step/state/channel.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace gw::noded::step {
namespace {

constexpr size_t kMaxWaiting = 2 * wire::kMaxFrame;  // bytes to send to a peer that does not read
constexpr int kBacklog = 16;

base::Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return base::invalid("socket path " + path + " is " + std::to_string(path.size()) + " bytes long, the limit is " +
                             std::to_string(sizeof address.sun_path - 1),
                         "choose a shorter state folder");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

base::Result<proc::OwnedFd> unix_socket() {
  proc::OwnedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return base::fail_errno("unix socket", errno);
  return fd;
}

bool is_trusted(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

bool is_temporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

std::vector<std::string> Channel::receive() {
  std::vector<std::string> payloads;
  char chunk[65536];
  while (fd_) {
    const ssize_t n = ::recv(fd_.get(), chunk, sizeof chunk, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && is_temporary(errno)) break;
    if (n <= 0) {
      fd_.reset();
      break;
    }
    decoder_.feed({chunk, static_cast<size_t>(n)});
    for (;;) {
      auto frame = decoder_.next();
      if (!frame) fd_.reset();
      if (!frame || !*frame) break;
      payloads.push_back(std::move(**frame));
    }
    if (static_cast<size_t>(n) < sizeof chunk) break;  // the rest, if any, makes the socket readable again
  }
  return payloads;
}

void Channel::send(std::string_view payload) {
  if (!fd_) return;
  if (out_.size() + payload.size() > kMaxWaiting) return fd_.reset();
  wire::append_frame(out_, payload);
  flush();
}

void Channel::flush() {
  while (fd_ && !out_.empty()) {
    const ssize_t n = ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (n < 0 && is_temporary(errno)) return;
    if (n < 0) return fd_.reset();
    out_.erase(0, static_cast<size_t>(n));
  }
}

base::Result<proc::OwnedFd> listen_at(const std::string& path) {
  GW_TRY(address, address_of(path));
  GW_TRY(fd, unix_socket());
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) return base::fail_errno("listening on " + path, error);
  if (::listen(fd.get(), kBacklog) != 0) return base::fail_errno("listening on " + path, errno);
  return std::move(fd);
}

base::Result<proc::OwnedFd> connect_to(const std::string& path) {
  GW_TRY(address, address_of(path));
  GW_TRY(fd, unix_socket());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return base::fail_errno("connecting to " + path, errno);
  return std::move(fd);
}

std::optional<proc::OwnedFd> accept_trusted(int listener) {
  proc::OwnedFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd || !is_trusted(fd.get())) return std::nullopt;
  return fd;
}

}  // namespace gw::noded::step
