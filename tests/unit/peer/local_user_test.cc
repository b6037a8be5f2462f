// Whose process is at the other end of a connection over the loopback interface.
#include "peer/local_user.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/fd.h"

namespace gw::peer {
namespace {

using base::ErrorCode;

io::SockAddr loopback(uint16_t port) {
  io::SockAddr address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(address.get());
  v4->sin_family = AF_INET;
  v4->sin_port = htons(port);
  v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.size = sizeof *v4;
  return address;
}

/// A connection within this process, by sockets that are made by `client`.
struct Connection {
  io::Fd listener, client, server;

  explicit Connection(uid_t user = ::geteuid()) : listener(::socket(AF_INET, SOCK_STREAM, 0)) {
    io::SockAddr address = loopback(0);
    EXPECT_EQ(::bind(listener.get(), address.get(), address.size), 0);
    EXPECT_EQ(::listen(listener.get(), 4), 0);
    address = io::local_address(listener.get());
    const uid_t self = ::geteuid();
    EXPECT_TRUE(user == self || ::seteuid(user) == 0);
    client.reset(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_TRUE(user == self || ::seteuid(self) == 0);
    EXPECT_EQ(::connect(client.get(), address.get(), address.size), 0);
    server.reset(::accept(listener.get(), nullptr, nullptr));
    EXPECT_TRUE(server);
  }
};

TEST(LocalUser, OfAConnectionOfOurOwn) {
  const Connection c;
  const auto there = user_at_other_end(c.server.get()), here = user_at_other_end(c.client.get());
  ASSERT_TRUE(there) << there.error().text();
  EXPECT_EQ(*there, ::geteuid());
  ASSERT_TRUE(here) << here.error().text();
  EXPECT_EQ(*here, ::geteuid());
}

TEST(LocalUser, OfAnotherUsers) {
  constexpr uid_t kNoUser = 4'000'000'000;
  const uid_t self = ::geteuid(), other = self == 0 ? 65534 : self;  // only root can be another
  const Connection c(other);
  EXPECT_EQ(user_at_other_end(c.server.get()).value_or(kNoUser), other);
  EXPECT_EQ(user_at_other_end(c.client.get()).value_or(kNoUser), self);
}

// What is left of a closed socket says that it is root's: it must not pass for root.
TEST(LocalUser, OfAClosedOneItIsNobody) {
  Connection c;
  ASSERT_EQ(::send(c.client.get(), "x", 1, 0), 1);
  c.client.reset();
  const auto user = user_at_other_end(c.server.get());
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().code, ErrorCode::kNotFound);
}

TEST(LocalUser, OfAConnectionThatIsNotThere) {
  const Connection c;
  const auto far = user_of_socket(loopback(1), io::local_address(c.server.get()));
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().code, ErrorCode::kNotFound);
  const auto listens = user_of_socket(io::local_address(c.listener.get()), loopback(1));
  ASSERT_FALSE(listens) << "a socket that listens there is not it";
  EXPECT_EQ(listens.error().code, ErrorCode::kNotFound);
}

TEST(LocalUser, OnlyOfConnectionsOverIpv4) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const io::Fd one(ends[0]), other(ends[1]);
  EXPECT_EQ(user_at_other_end(one.get()).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(user_at_other_end(-1).error().code, ErrorCode::kInvalid);
}

// 127.0.0.1:4660 -> 127.0.0.1:22136, as the kernel writes it on a little-endian machine; and one that was closed.
constexpr char kTable[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:5678 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 100 1 0 20 4 30 10 -1\n"
    "   1: 0100007F:1234 0100007F:5678 01 00000000:00000000 00:00000000 00000000  1007        0 101 1 0 20 4 30 10 "
    "-1\n"
    "   2: 0100007F:1235 0100007F:5678 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1\n";

TEST(LocalUser, ByATableWhereTheKernelCannotBeAsked) {
  EXPECT_EQ(user_in_table(kTable, loopback(0x1234), loopback(0x5678)).value_or(0), 1007u);
  EXPECT_EQ(user_in_table(kTable, loopback(0x5678), loopback(0x1234)).value_or(1), 0u);
  EXPECT_FALSE(user_in_table(kTable, loopback(0x1235), loopback(0x5678)));
  EXPECT_FALSE(user_in_table(kTable, loopback(0x1236), loopback(0x5678)));
  EXPECT_FALSE(user_in_table("", loopback(0x1234), loopback(0x5678)));
}

}  // namespace
}  // namespace gw::peer
