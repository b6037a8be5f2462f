// Addresses as users write them, and sockets for them. Uses no event loop: commands link this alone.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/fd.h"

namespace gw::io {

/// `host:port`, `[v6]:port`, `*:port` (every interface, for listening), `/path` or `unix:/path`.
struct Address {
  std::string host;   ///< Empty for a unix path; "*" for every interface.
  uint16_t port = 0;  ///< 0 lets the system choose when listening.
  std::string path;   ///< Unix socket path; empty for TCP.

  bool is_unix() const { return !path.empty(); }
  std::string text() const;
};
/// Errors: no port, port out of range, empty host, unix path of more than 107 bytes.
base::Result<Address> parse_address(std::string_view text);

/// A socket address with its length.
struct SockAddr {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  /// "127.0.0.1:80", "[::1]:80", "unix:/path", "unix:" for an unnamed peer. IPv4 inside IPv6 is shown as IPv4.
  std::string text() const;
  /// The same without the port.
  std::string host() const;
  uint16_t port() const;
  void set_port(uint16_t port);  ///< Of IPv4 and IPv6.
};

/// Whether resolve() would ask a name service, which may block for long.
bool needs_lookup(const Address& address);
/// All socket addresses of an address, in the system's order. Errors: unknown host (kNotFound), name service down
/// (kUnavailable).
base::Result<std::vector<SockAddr>> resolve(const Address& address);

/// A non-blocking, close-on-exec stream socket for `to`, keepalive and no-delay set, bound to the local host
/// `bind_host` unless that is empty. Errors name the local address.
base::Result<Fd> open_socket(const SockAddr& to, const std::string& bind_host);
/// Sets no-delay and keepalive; does nothing on a unix socket.
void tune_socket(int fd);
/// Address of this end or of the other end of a socket; empty SockAddr if it has none.
SockAddr local_address(int fd);
SockAddr peer_address(int fd);
/// The error a non-blocking connect ended with; 0 for success.
int socket_error(int fd);

}  // namespace gw::io
