// Parsing and resolving addresses; making sockets.
#include "io/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace gw::io {
namespace {

using base::ErrorCode;
using base::Result;

constexpr size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kForms = "write host:port, [IPv6]:port or unix:/path";

Result<Address> parse_unix(std::string_view path) {
  if (path.size() > kMaxUnixPath) {
    return base::invalid(fmt::format("unix socket path of {} bytes: \"{}\"; at most {} are possible", path.size(),
                                     base::printable(path), kMaxUnixPath),
                         "choose a shorter run-time folder");
  }
  if (!path.starts_with('/'))
    return base::invalid("unix socket path \"" + base::printable(path) + "\" is not absolute");
  return Address{{}, 0, std::string(path)};
}

SockAddr unix_sockaddr(const std::string& path) {
  SockAddr a;
  auto* un = reinterpret_cast<sockaddr_un*>(&a.storage);
  un->sun_family = AF_UNIX;
  std::memcpy(un->sun_path, path.c_str(), path.size() + 1);
  a.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return a;
}

Result<std::vector<SockAddr>> look_up(const std::string& host, uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  if (code != 0) {
    const bool is_unknown = code == EAI_NONAME;
    return base::fail(is_unknown ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                      fmt::format("cannot resolve host \"{}\": {}", base::printable(host), gai_strerror(code)),
                      "check the name, /etc/hosts and DNS");
  }
  std::vector<SockAddr> found;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    SockAddr& s = found.emplace_back();
    std::memcpy(&s.storage, a->ai_addr, a->ai_addrlen);
    s.size = a->ai_addrlen;
  }
  return found;
}

base::Status bind_to(int fd, const std::string& host) {
  auto local = look_up(host, 0, AI_NUMERICHOST);
  if (!local) return base::invalid("local address \"" + base::printable(host) + "\" is not a numeric address");
  const int on = 1;
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (bind(fd, local->front().get(), local->front().size) != 0) {
    return base::fail_errno("cannot connect from local address " + host, errno);
  }
  return {};
}

const in6_addr* mapped_v4(const SockAddr& a) {
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&a.storage);
  return a.storage.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) ? &v6->sin6_addr : nullptr;
}

}  // namespace

std::string Address::text() const {
  if (is_unix()) return "unix:" + path;
  return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Address> parse_address(std::string_view text) {
  if (text.starts_with("unix:")) return parse_unix(text.substr(5));
  if (text.starts_with('/')) return parse_unix(text);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return base::invalid("address \"" + base::printable(text) + "\" has no port", std::string(kForms));
  }
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return base::invalid("address \"" + base::printable(text) + "\": an IPv6 address needs brackets",
                         std::string(kForms));
  }
  if (host.empty() || host.find('\0') != std::string_view::npos) {
    return base::invalid("address \"" + base::printable(text) + "\" has no host", std::string(kForms));
  }
  GW_TRY(port, base::parse_int(text.substr(colon + 1), 0, UINT16_MAX, "port of address"));
  return Address{std::string(host), static_cast<uint16_t>(port), {}};
}

std::string SockAddr::host() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_UNIX) {
    const auto* un = reinterpret_cast<const sockaddr_un*>(&storage);
    const bool has_path = size > offsetof(sockaddr_un, sun_path) && un->sun_path[0] != '\0';
    return has_path ? std::string("unix:") + un->sun_path : "unix:";
  }
  if (const in6_addr* v4 = mapped_v4(*this)) {
    inet_ntop(AF_INET, v4->s6_addr + 12, text, sizeof text);
  } else if (storage.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, text, sizeof text);
  } else if (storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, text, sizeof text);
  }
  return text;
}

std::string SockAddr::text() const {
  if (storage.ss_family == AF_UNIX || size == 0) return host();
  return Address{host(), port(), {}}.text();
}

uint16_t SockAddr::port() const {
  if (storage.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return 0;
}

void SockAddr::set_port(uint16_t port) {
  if (storage.ss_family == AF_INET) reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
  if (storage.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
}

bool needs_lookup(const Address& address) {
  return !address.is_unix() && address.host != "*" && !look_up(address.host, address.port, AI_NUMERICHOST);
}

Result<std::vector<SockAddr>> resolve(const Address& address) {
  if (address.is_unix()) return std::vector{unix_sockaddr(address.path)};
  if (address.host != "*") return look_up(address.host, address.port, 0);
  auto any = look_up("::", address.port, AI_NUMERICHOST);
  const auto v4 = look_up("0.0.0.0", address.port, AI_NUMERICHOST);
  if (any && v4) any->insert(any->end(), v4->begin(), v4->end());
  return any ? any : v4;
}

Result<Fd> open_socket(const SockAddr& to, const std::string& bind_host) {
  Fd fd(socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return base::fail_errno("cannot make a socket", errno);
  tune_socket(fd.get());
  if (!bind_host.empty() && to.storage.ss_family != AF_UNIX) GW_TRY_STATUS(bind_to(fd.get(), bind_host));
  return fd;
}

void tune_socket(int fd) {
  const int on = 1, idle_s = 30, interval_s = 10, count = 3;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

SockAddr local_address(int fd) {
  SockAddr a;
  a.size = sizeof a.storage;
  if (getsockname(fd, a.get(), &a.size) != 0) a.size = 0;
  return a;
}

SockAddr peer_address(int fd) {
  SockAddr a;
  a.size = sizeof a.storage;
  if (getpeername(fd, a.get(), &a.size) != 0) a.size = 0;
  return a;
}

int socket_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace gw::io
