// Buffered connections: reading, writing, bounded output, lingering close.
#include "io/stream.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace gw::io {
namespace {

constexpr size_t kReadBytes = 128 * 1024;
constexpr size_t kKeepCapacity = 256 * 1024;
constexpr base::Duration kLinger = base::seconds(5);

bool is_temporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Stream::Stream(Loop& loop, Fd fd, size_t max_out_bytes)
    : loop_(loop), fd_(std::move(fd)), max_out_bytes_(max_out_bytes) {
  const SockAddr peer = peer_address(fd_.get());
  peer_text_ = peer.text();
  peer_host_ = peer.host();
}

std::shared_ptr<Stream> Stream::adopt(Loop& loop, Fd fd, size_t max_out_bytes) {
  return std::shared_ptr<Stream>(new Stream(loop, std::move(fd), max_out_bytes));
}

Stream::~Stream() {
  read_watch_.cancel();  // before the descriptor goes
  write_watch_.cancel();
}

void Stream::on_data(DataFn fn) {
  data_fn_ = std::make_shared<DataFn>(std::move(fn));
  if (is_reading_) start_reading();
}

void Stream::set_reading(bool is_reading) {
  is_reading_ = is_reading;
  if (!is_reading) {
    read_watch_.cancel();
  } else if (data_fn_) {
    start_reading();
  }
}

void Stream::start_reading() {
  if (is_closed() || read_watch_.is_active()) return;
  read_watch_ = loop_.watch_readable(fd_.get(), [this] { on_readable(); });
}

void Stream::on_readable() {
  const auto guard = shared_from_this();
  static thread_local std::array<char, kReadBytes> buffer;
  const ssize_t n = recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (n < 0 && is_temporary(errno)) return;
  if (n < 0) return lose(errno);
  was_ended_by_peer_ |= n == 0;
  if (n == 0) return close(closing_ ? *closing_ : "connection closed by the other side");
  if (closing_ || !data_fn_) return;
  const auto fn = data_fn_;
  (*fn)({buffer.data(), static_cast<size_t>(n)});
}

bool Stream::has_unread() const {
  char byte = 0;
  return fd_ && recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void Stream::lose(int error) {
  was_ended_by_peer_ |= error == ECONNRESET || error == EPIPE;
  close(closing_ ? *closing_ : fmt::format("connection lost: {}", std::strerror(error)));
}

void Stream::send(std::string_view bytes) {
  if (is_closed() || closing_ || bytes.empty()) return;
  if (bytes.size() > max_out_bytes_ - std::min(max_out_bytes_, pending_out_bytes())) {
    return close(fmt::format("the other side reads too slowly: {} bytes wait, {} more would exceed the bound of {}",
                             pending_out_bytes(), bytes.size(), max_out_bytes_));
  }
  if (out_start_ > out_.size() / 2) {
    out_.erase(0, out_start_);
    out_start_ = 0;
  }
  out_ += bytes;
  schedule_flush();
}

// Written at the end of the round: messages of one round share a system call, and send() never calls back.
void Stream::schedule_flush() {
  if (is_flush_scheduled_ || write_watch_.is_active()) return;
  is_flush_scheduled_ = true;
  loop_.defer([weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->is_flush_scheduled_ = false;
      self->flush();
    }
  });
}

void Stream::flush() {
  if (is_closed()) return;
  const auto guard = shared_from_this();
  while (pending_out_bytes() > 0) {
    const ssize_t n = ::send(fd_.get(), out_.data() + out_start_, pending_out_bytes(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && is_temporary(errno)) {
      if (!write_watch_.is_active()) write_watch_ = loop_.watch_writable(fd_.get(), [this] { flush(); });
      return;
    }
    if (n < 0) return lose(errno);
    out_start_ += static_cast<size_t>(n);
  }
  write_watch_.cancel();
  out_start_ = 0;
  out_.clear();
  if (out_.capacity() > kKeepCapacity) out_.shrink_to_fit();
  // Then waits for the other side's end: closing with unread input would reset the connection, and our last words with
  // it.
  if (closing_) shutdown(fd_.get(), SHUT_WR);
  if (drained_fn_ && !closing_) drained_fn_();
}

void Stream::close_after_flush(std::string reason) {
  if (is_closed() || closing_) return;
  closing_ = std::move(reason);
  loop_.hold(shared_from_this());
  linger_ = loop_.after(kLinger, [this] { close(*closing_); });
  is_reading_ = true;
  start_reading();
  schedule_flush();
}

void Stream::close(std::string reason) {
  if (is_closed()) return;
  read_watch_.cancel();
  write_watch_.cancel();
  linger_.cancel();
  fd_.reset();
  out_ = {};
  out_start_ = 0;
  tokens_.clear();
  loop_.defer([weak = weak_from_this(), held = loop_.release(this), why = std::move(reason)] {
    const auto self = weak.lock();
    if (!self) return;
    const ClosedFn fn = std::move(self->closed_fn_);
    self->closed_fn_ = nullptr;
    self->drained_fn_ = nullptr;
    self->data_fn_.reset();
    if (fn) fn(why);
  });
}

}  // namespace gw::io
