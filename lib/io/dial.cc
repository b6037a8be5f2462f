// Dialing: look-up off the loop, then each address in turn within one time limit.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "io/stream.h"

namespace gw::io {

using base::ErrorCode;
using base::Result;

class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  Dialer(Loop& loop, DialOptions options, DialFn fn) : loop_(loop), options_(std::move(options)), fn_(std::move(fn)) {}

  void start() {
    timer_ = loop_.after(options_.timeout, [this] {
      finish(base::fail(ErrorCode::kTimeout, fmt::format("no connection to {} within {} ms", options_.address,
                                                         options_.timeout.milliseconds())));
    });
    loop_.defer([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->look_up();
    });
  }

 private:
  void look_up() {
    const auto address = parse_address(options_.address);
    if (!address) return finish(base::pass(address));
    if (!needs_lookup(*address)) return on_resolved(resolve(*address));
    std::thread([weak = weak_from_this(), poster = loop_.poster(), target = *address] {
      poster.post([weak, found = resolve(target)] {
        if (const auto self = weak.lock()) self->on_resolved(found);
      });
    }).detach();
  }

  void on_resolved(const Result<std::vector<SockAddr>>& found) {
    if (!found) return finish(base::pass(found));
    targets_ = *found;
    try_next();
  }

  void try_next() {
    watch_.cancel();
    while (next_ < targets_.size()) {
      const SockAddr& to = targets_[next_++];
      auto fd = open_socket(to, options_.bind_host);
      if (!fd) return finish(base::pass(fd));
      fd_ = std::move(*fd);
      if (connect(fd_.get(), to.get(), to.size) == 0) return on_writable();
      if (errno == EINPROGRESS) {
        watch_ = loop_.watch_writable(fd_.get(), [this] { on_writable(); });
        return;
      }
      last_error_ = errno;
    }
    finish(base::fail(ErrorCode::kUnavailable,
                      fmt::format("cannot connect to {}: {}", options_.address, std::strerror(last_error_))));
  }

  void on_writable() {
    last_error_ = socket_error(fd_.get());
    if (last_error_ != 0) return try_next();
    watch_.cancel();
    finish(Stream::adopt(loop_, std::move(fd_), options_.max_out_bytes));
  }

  void finish(Result<std::shared_ptr<Stream>> result) {
    const auto guard = shared_from_this();
    timer_.cancel();
    watch_.cancel();
    if (const DialFn fn = std::exchange(fn_, nullptr)) fn(std::move(result));
  }

  Loop& loop_;
  DialOptions options_;
  DialFn fn_;
  std::vector<SockAddr> targets_;
  size_t next_ = 0;
  Fd fd_;  // before watch_: the watch goes first
  Watch watch_;
  Timer timer_;
  int last_error_ = 0;
};

DialHandle dial(Loop& loop, DialOptions options, DialFn fn) {
  auto dialer = std::make_shared<Dialer>(loop, std::move(options), std::move(fn));
  dialer->start();
  return dialer;
}

}  // namespace gw::io
