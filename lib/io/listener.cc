// Accepting connections.
#include "io/listener.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/check.h"
#include "base/ports.h"

namespace gw::io {
namespace {

using base::ErrorCode;
using base::Result;

constexpr int kAcceptsPerRound = 64;
constexpr base::Duration kPause = base::milliseconds(100);

// A unix socket whose owner is dead refuses connections.
bool is_dead_socket(const SockAddr& address) {
  const Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return probe && connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED;
}

Result<Fd> bind_and_listen(const SockAddr& address, const ListenOptions& options, int& error) {
  Fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return base::fail_errno("cannot make a socket for " + options.address, error = errno);
  const int on = 1, off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const bool is_unix = address.storage.ss_family == AF_UNIX;
  if (!is_unix) tune_socket(fd.get());  // which those that it accepts inherit
  const char* path = is_unix ? reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path : nullptr;
  int failed = bind(fd.get(), address.get(), address.size);
  if (failed != 0 && errno == EADDRINUSE && is_unix && is_dead_socket(address)) {
    unlink(path);
    failed = bind(fd.get(), address.get(), address.size);
  }
  if (failed != 0 || listen(fd.get(), options.backlog) != 0) {
    error = errno;
    return base::fail_errno(
        "cannot listen on " + options.address, error,
        error == EADDRINUSE ? "another program, perhaps an earlier run of this one, listens there" : "");
  }
  if (is_unix && chmod(path, options.unix_mode) != 0)
    return base::fail_errno(std::string("cannot set the mode of ") + path, errno);
  return fd;
}

struct Place {
  Address address;
  base::PortRange ports;  ///< Instead of the address's port, unless they are any.
};

Result<Place> parse_place(const std::string& text) {
  const size_t dash = text.rfind('-'), colon = text.rfind(':');
  const bool has_range = dash != std::string::npos && colon != std::string::npos && dash > colon && text[0] != '/';
  if (!has_range || text.starts_with("unix:")) {
    GW_TRY(address, parse_address(text));
    return Place{std::move(address), {}};
  }
  GW_TRY(ports, base::parse_port_range(std::string_view(text).substr(colon + 1)));
  GW_TRY(address, parse_address(text.substr(0, colon) + ":0"));
  return Place{std::move(address), ports};
}

/// One that is free. It begins anywhere, so that those who come at the same time seldom try the same.
Result<Fd> listen_in_range(SockAddr address, const base::PortRange& ports, const ListenOptions& options) {
  const auto start = static_cast<uint32_t>(std::random_device()());
  for (uint32_t i = 0; i < ports.size(); ++i) {
    address.set_port(static_cast<uint16_t>(ports.first + (uint64_t{start} + i) % ports.size()));
    int error = 0;
    auto fd = bind_and_listen(address, options, error);
    if (fd || error != EADDRINUSE) return fd;
  }
  return base::fail(ErrorCode::kUnavailable,
                    fmt::format("cannot listen on {}: no port of {} is free", options.address, ports.text()));
}

}  // namespace

Result<Fd> Listener::make_socket(const ListenOptions& options) {
  GW_TRY(place, parse_place(options.address));
  GW_TRY(candidates, resolve(place.address));
  Result<Fd> fd = base::fail(ErrorCode::kInternal, "no address");
  for (const SockAddr& candidate : candidates) {
    int error = 0;
    fd = place.ports.is_any() ? bind_and_listen(candidate, options, error)
                              : listen_in_range(candidate, place.ports, options);
    if (fd) break;
  }
  return fd;
}

std::unique_ptr<Listener> Listener::adopt(Loop& loop, Fd socket, const ListenOptions& options, AcceptFn on_accept,
                                          PausedFn on_paused) {
  return std::unique_ptr<Listener>(
      new Listener(loop, options, std::move(socket), std::move(on_accept), std::move(on_paused)));
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const ListenOptions& options, AcceptFn on_accept,
                                                 PausedFn on_paused) {
  GW_TRY(fd, make_socket(options));
  return adopt(loop, std::move(fd), options, std::move(on_accept), std::move(on_paused));
}

Listener::Listener(Loop& loop, const ListenOptions& options, Fd fd, AcceptFn on_accept, PausedFn on_paused)
    : loop_(loop),
      options_(options),
      accept_fn_(std::move(on_accept)),
      paused_fn_(std::move(on_paused)),
      address_(local_address(fd.get())),
      fd_(std::move(fd)),
      token_(std::make_shared<char>()) {
  watch_ = loop_.watch_readable(fd_.get(), [this] { on_readable(); });
}

Listener::~Listener() {
  watch_.cancel();
  if (address_.storage.ss_family == AF_UNIX) unlink(reinterpret_cast<const sockaddr_un*>(&address_.storage)->sun_path);
}

void Listener::on_readable() {
  for (int i = 0; i < kAcceptsPerRound && accept_one(); ++i) {
  }
}

// False when there is nothing to accept now.
bool Listener::accept_one() {
  if (options_.max_connections > 0 && open_connections() >= options_.max_connections) {
    pause(
        {ErrorCode::kUnavailable, fmt::format("{} connections are open, which is the bound", open_connections()), ""});
    return false;
  }
  Fd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const int error = errno;
  if (!fd && (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM)) {
    pause(base::fail_errno("cannot accept connections", error, "raise the limit of open files").value());
    return false;
  }
  if (!fd && (error == EAGAIN || error == EWOULDBLOCK)) was_empty_at_ = Loop::monotonic();
  if (!fd) return error == ECONNABORTED || error == EINTR;
  auto stream = Stream::adopt(loop_, std::move(fd), options_.max_out_bytes);
  stream->keep(token_);
  accept_fn_(std::move(stream));
  return true;
}

base::Duration Listener::accepted_until() {
  const base::Duration now = Loop::monotonic();
  pollfd waiting{fd_.get(), POLLIN, 0};
  if (poll(&waiting, 1, 0) == 0) was_empty_at_ = now;
  return was_empty_at_;
}

// The listening socket stays readable: it is left alone for a while, so that the loop does not spin.
void Listener::pause(const base::Error& why) {
  watch_.pause();
  retry_ = loop_.after(kPause, [this] { watch_.resume(); });
  if (paused_fn_) paused_fn_(why);
}

}  // namespace gw::io
