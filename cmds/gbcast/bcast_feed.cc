// Feeding receivers.
#include "cmds/gbcast/bcast_feed.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "auth/hasher.h"
#include "base/reach.h"
#include "base/text.h"
#include "io/address.h"
#include "wire/bcast.h"
#include "wire/frame.h"

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;
using wire::BcastKind;

class Feeder {
 public:
  explicit Feeder(BcastFeed feed) : f_(std::move(feed)) {}

  void run() {
    const Status done = feed();
    if (!done && !is_gone_) {
      if (done.error().code != base::ErrorCode::kTimeout) static_cast<void>(send(BcastKind::kAbort, {}));
      f_.on_trouble(done.error());
    }
    f_.to.reset();
  }

 private:
  BcastFeed f_;
  bool is_gone_ = false;
  std::string lines_;

  Status feed() {
    GW_TRY_STATUS(learn_addresses());
    GW_TRY_STATUS(send(BcastKind::kHeader, f_.header.SerializeAsString()));
    auth::Hasher hasher;
    std::string piece(f_.piece, '\0');
    for (uint64_t left = f_.header.size(); left > 0;) {
      const ssize_t n = ::read(f_.source.get(), piece.data(), std::min<uint64_t>(piece.size(), left));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return base::fail_errno("cannot read the source", errno);
      if (n == 0) return base::fail(base::ErrorCode::kConflict, "the source became shorter while it was read");
      const std::string_view bytes(piece.data(), static_cast<size_t>(n));
      hasher.add(bytes);
      GW_TRY_STATUS(send(BcastKind::kData, bytes));
      left -= static_cast<uint64_t>(n);
    }
    return send(BcastKind::kEnd, auth::view(hasher.finish()));
  }

  /// Receivers that are not fed from here listen; where, they say on their standard output.
  Status learn_addresses() {
    if (f_.nodes <= f_.width) return {};
    f_.header.mutable_addresses()->Reserve(static_cast<int>(f_.nodes));
    for (uint32_t i = 0; i < f_.nodes; ++i) f_.header.add_addresses("");
    for (uint32_t missing = f_.nodes - f_.width; missing > 0; --missing) {
      GW_TRY(line, next_line());
      const size_t space = line.find(' ');
      const auto node = base::parse_int(std::string_view(line).substr(0, space), f_.width, f_.nodes - 1, "node");
      const auto address = io::parse_address(space == std::string::npos ? "" : line.substr(space + 1));
      if (!node || !address || !f_.header.addresses(static_cast<int>(*node)).empty())
        return base::fail(base::ErrorCode::kProtocol, "a receiver said \"" + base::printable(line, 80) + "\"");
      f_.header.set_addresses(static_cast<int>(*node),
                              base::reachable_address(address->text(), f_.hosts[static_cast<size_t>(*node)]));
    }
    return {};
  }

  Result<std::string> next_line() {
    for (;;) {
      if (const size_t end = lines_.find('\n'); end != std::string::npos) {
        std::string line = lines_.substr(0, end);
        lines_.erase(0, end + 1);
        return line;
      }
      char bytes[4096];
      GW_TRY_STATUS(wait_for(f_.from.get(), POLLIN));
      const ssize_t n = ::read(f_.from.get(), bytes, sizeof bytes);
      if (n <= 0) return gone();
      lines_.append(bytes, static_cast<size_t>(n));
    }
  }

  tl::unexpected<base::Error> gone() {
    is_gone_ = true;
    return base::fail(base::ErrorCode::kUnavailable, "the receivers have ended");
  }

  Status wait_for(int fd, short what) {
    pollfd poll{fd, what, 0};
    const bool is_bounded = f_.stall_limit.us > 0;
    const int ready = ::poll(&poll, 1, is_bounded ? static_cast<int>(f_.stall_limit.us / 1000) : -1);
    if (ready == 0)
      return base::fail(base::ErrorCode::kTimeout,
                        "nothing moved for " + std::to_string(f_.stall_limit.seconds()) + " s", "--timeout is longer");
    return {};
  }

  /// The end does not block: a pipe that has room may not have as much as is written.
  Status send(BcastKind kind, std::string_view rest) {
    std::string bytes = wire::frame_header(1 + rest.size());
    bytes += static_cast<char>(kind);
    bytes += rest;
    for (std::string_view left = bytes; !left.empty();) {
      GW_TRY_STATUS(wait_for(f_.to.get(), POLLOUT));
      const ssize_t n = ::write(f_.to.get(), left.data(), std::min<size_t>(left.size(), 64 << 10));
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n < 0) return gone();
      left.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }
};

}  // namespace

std::thread start_feed(BcastFeed feed) {
  // Signals are for the thread that runs the session.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ::fcntl(feed.to.get(), F_SETFL, ::fcntl(feed.to.get(), F_GETFL) | O_NONBLOCK);
  std::thread thread([f = std::make_shared<BcastFeed>(std::move(feed))] { Feeder(std::move(*f)).run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace gw::cmds
