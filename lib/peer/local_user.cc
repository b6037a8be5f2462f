// Asks the kernel by sock_diag(7), which anybody may.
#include "peer/local_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace gw::peer {
namespace {

using base::ErrorCode;
using base::Result;

struct Question {
  nlmsghdr header{};
  inet_diag_req_v2 request{};
};

const sockaddr_in* as_v4(const io::SockAddr& address) {
  return address.get()->sa_family == AF_INET ? reinterpret_cast<const sockaddr_in*>(address.get()) : nullptr;
}

tl::unexpected<base::Error> nobody() { return base::fail(ErrorCode::kNotFound, "the other end is nobody's any more"); }

tl::unexpected<base::Error> not_v4() { return base::invalid("this is no connection over IPv4"); }

Question question(const sockaddr_in& own, const sockaddr_in& other) {
  Question q;
  q.header.nlmsg_len = sizeof q;
  q.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  q.header.nlmsg_flags = NLM_F_REQUEST;
  q.request.sdiag_family = AF_INET;
  q.request.sdiag_protocol = IPPROTO_TCP;
  q.request.idiag_states = ~0U;
  q.request.id.idiag_sport = own.sin_port;
  q.request.id.idiag_dport = other.sin_port;
  q.request.id.idiag_src[0] = own.sin_addr.s_addr;
  q.request.id.idiag_dst[0] = other.sin_addr.s_addr;
  q.request.id.idiag_cookie[0] = q.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return q;
}

/// What the kernel knows of the socket. Errors: kNotFound; kUnavailable if this kernel does not answer such questions.
Result<inet_diag_msg> ask(const sockaddr_in& own, const sockaddr_in& other) {
  const io::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!socket && (errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT))
    return base::fail(ErrorCode::kUnavailable, "the kernel has no sock_diag");
  if (!socket) return base::fail_errno("sock_diag", errno);
  const Question q = question(own, other);
  if (::send(socket.get(), &q, sizeof q, 0) != static_cast<ssize_t>(sizeof q))
    return base::fail_errno("asking sock_diag", errno);
  alignas(nlmsghdr) char bytes[1024];
  const ssize_t n = ::recv(socket.get(), bytes, sizeof bytes, 0);  // the answer was there when send() returned
  if (n < 0) return base::fail_errno("the answer of sock_diag", errno);
  nlmsghdr header;
  inet_diag_msg found;
  nlmsgerr error;
  if (n >= static_cast<ssize_t>(NLMSG_LENGTH(sizeof error.error))) {
    std::memcpy(&header, bytes, sizeof header);
    if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && n >= static_cast<ssize_t>(NLMSG_LENGTH(sizeof found))) {
      std::memcpy(&found, bytes + NLMSG_HDRLEN, sizeof found);
      return found;
    }
    std::memcpy(&error.error, bytes + NLMSG_HDRLEN, sizeof error.error);
    if (header.nlmsg_type == NLMSG_ERROR && error.error == -ENOENT) return nobody();
    if (header.nlmsg_type == NLMSG_ERROR) return base::fail_errno("sock_diag", -error.error);
  }
  return base::fail(ErrorCode::kInternal, "sock_diag says what cannot be read");
}

/// A kernel without the part for TCP says of every socket that it is not there, and a sandbox may forbid to ask: one
/// that surely is there tells.
bool can_ask() {
  const io::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), 1) != 0)
    return true;
  const io::SockAddr own = io::local_address(listener.get());
  const auto found = ask(*as_v4(own), sockaddr_in{});
  return found.has_value();
}

}  // namespace

Result<uid_t> user_at_other_end(int fd) { return user_of_socket(io::peer_address(fd), io::local_address(fd)); }

Result<uid_t> user_of_socket(const io::SockAddr& own, const io::SockAddr& other) {
  const sockaddr_in *from = as_v4(own), *to = as_v4(other);
  if (from == nullptr || to == nullptr) return not_v4();
  static const bool is_answered = can_ask();
  if (!is_answered) {
    std::ifstream file("/proc/net/tcp");
    std::stringstream text;
    text << file.rdbuf();
    return user_in_table(text.str(), own, other);
  }
  GW_TRY(found, ask(*from, *to));
  // Where there is no such connection the kernel tells of one who listens at that port. A socket without an inode was
  // closed by its process, and says that it is root's.
  const bool is_it = found.id.idiag_sport == from->sin_port && found.id.idiag_dport == to->sin_port;
  if (!is_it || found.idiag_inode == 0) return nobody();
  return found.idiag_uid;
}

Result<uid_t> user_in_table(const std::string& table, const io::SockAddr& own, const io::SockAddr& other) {
  const sockaddr_in *from = as_v4(own), *to = as_v4(other);
  if (from == nullptr || to == nullptr) return not_v4();
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, " %08X:%04X %08X:%04X ", from->sin_addr.s_addr, ntohs(from->sin_port),
                to->sin_addr.s_addr, ntohs(to->sin_port));
  const size_t at = table.find(wanted);
  if (at == std::string::npos) return nobody();
  std::istringstream rest(table.substr(at, 200));
  std::string word;
  for (int i = 0; i < 6; ++i) rest >> word;  // two addresses, state, queues, timer, retransmissions
  uid_t user = 0;
  uint64_t timeout = 0, inode = 0;
  rest >> user >> timeout >> inode;
  if (!rest || inode == 0) return nobody();
  return user;
}

}  // namespace gw::peer
