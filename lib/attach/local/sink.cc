// Writing, waiting, breaking.
#include "attach/local/sink.h"

#include <cerrno>
#include <cstring>

namespace gw::attach {

size_t Sink::write_now(std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size() && !is_broken_) {
    const ssize_t n = to_.write(bytes.substr(done));
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      block();
      return done;
    } else {
      fail(errno);
    }
  }
  return is_broken_ ? bytes.size() : done;
}

size_t Sink::write(std::string_view bytes) {
  if (is_broken_) return bytes.size();
  return is_blocked_ ? 0 : write_now(bytes);
}

void Sink::put(std::string_view bytes) {
  if (is_broken_) return;
  if (is_blocked_) {
    waiting_ += bytes;
    return;
  }
  const size_t done = write_now(bytes);
  waiting_ += bytes.substr(done);
}

void Sink::block() {
  if (is_blocked_) return;
  is_blocked_ = true;
  watch_ = loop_.watch_writable(to_.fd(), [this] { on_writable(); });
}

void Sink::on_writable() {
  watch_.cancel();
  is_blocked_ = false;
  const std::string waited = std::exchange(waiting_, {});
  const size_t done = write_now(waited);
  if (!is_broken_) waiting_ = waited.substr(done);
  if (!is_blocked_ && ready_fn_) ready_fn_();
}

void Sink::fail(int error) {
  is_broken_ = true;
  is_blocked_ = false;
  watch_.cancel();
  waiting_.clear();
  const auto code = error == EPIPE || error == ECONNRESET || error == EIO ? base::ErrorCode::kUnavailable
                                                                          : base::ErrorCode::kInternal;
  const base::Error why{code, name_ + ": " + std::strerror(error), ""};
  loop_.defer([this, alive = alive_, why] {
    if (*alive && broken_fn_) broken_fn_(why);
  });
}

}  // namespace gw::attach
