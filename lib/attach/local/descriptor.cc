// Local input and output without waiting.
#include "attach/local/descriptor.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace gw::attach {
namespace {

template <typename Call>
ssize_t uninterrupted(Call call) {
  while (true) {
    const ssize_t n = call();
    if (n >= 0 || errno != EINTR) return n;
  }
}

/// Opened anew, a FIFO without a writer does not say that it has ended: there might still come the first one.
bool is_named_fifo(const std::string& path) {
  char target[8] = "";
  return ::readlink(path.c_str(), target, sizeof target - 1) > 0 && !std::string_view(target).starts_with("pipe:");
}

}  // namespace

Descriptor::Descriptor(int fd, bool for_writing) : fd_(fd), is_terminal_(::isatty(fd) == 1) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return;
  if (S_ISSOCK(st.st_mode)) {
    kind_ = Kind::kSocket;
  } else if (S_ISFIFO(st.st_mode) || is_terminal_) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    const bool is_shared = !for_writing && !is_terminal_ && is_named_fifo(path);
    if (!is_shared)
      own_.reset(::open(path.c_str(), (for_writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    kind_ = own_ ? Kind::kOwn : Kind::kShared;
  }
}

bool Descriptor::is_ready(short what) const {
  pollfd p{fd_, what, 0};
  return ::poll(&p, 1, 0) > 0;
}

ssize_t Descriptor::read(char* to, size_t n) {
  if (kind_ == Kind::kSocket) return uninterrupted([&] { return ::recv(fd_, to, n, MSG_DONTWAIT); });
  if (kind_ == Kind::kShared && !is_ready(POLLIN)) {
    errno = EAGAIN;
    return -1;
  }
  return uninterrupted([&] { return ::read(fd(), to, n); });
}

// A shared pipe that is ready has room for PIPE_BUF bytes.
ssize_t Descriptor::write(std::string_view bytes) {
  if (kind_ == Kind::kSocket)
    return uninterrupted([&] { return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
  if (kind_ == Kind::kShared) {
    if (!is_ready(POLLOUT)) {
      errno = EAGAIN;
      return -1;
    }
    bytes = bytes.substr(0, PIPE_BUF);
  }
  return uninterrupted([&] { return ::write(fd(), bytes.data(), bytes.size()); });
}

}  // namespace gw::attach
