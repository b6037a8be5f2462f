// Links over loopback with a fake authenticator: round trips of both kinds of client, refusals, floods, bounds,
// closing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "auth/testing/fake_authenticator.h"
#include "io/loop.h"
#include "link/blocking_link.h"
#include "link/dial_link.h"
#include "link/link_server.h"

namespace gw::link {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;
constexpr base::Duration kLimit = base::seconds(30);
constexpr uint32_t kServerUid = 990;
constexpr uint32_t kUserUid = 1000;

/// A server that echoes, on its own loop. Clients of the loop share that; blocking ones run on threads.
struct World {
  explicit World(ServerOptions options = {}) {
    server_auth.uid = kServerUid;
    user_auth.uid = kUserUid;
    options.address = "127.0.0.1:0";
    options.name = "hpc/gctld";
    auto started = LinkServer::start(
        loop, server_pool, options, [this](const auto& link) { on_link(link); },
        [this](const std::string&, const base::Error& error) { refused.push_back(error.what); });
    EXPECT_TRUE(started) << started.error().text();
    server = std::move(*started);
  }

  ConnectOptions connect_options() const {
    return {.address = server->bound_address(), .receiver = "hpc/gctld", .receiver_uid = kServerUid};
  }
  DialLinkOptions dial_options() const {
    DialLinkOptions o;
    o.address = server->bound_address();
    o.receiver = "hpc/gctld";
    o.receiver_uid = kServerUid;
    return o;
  }
  base::Result<std::shared_ptr<SecureLink>> dial(DialLinkOptions options) {
    base::Result<std::shared_ptr<SecureLink>> got = base::invalid("not called");
    bool done = false;
    const auto handle = dial_link(loop, user_pool, std::move(options), [&](auto result) {
      got = std::move(result);
      done = true;
    });
    EXPECT_TRUE(wait([&] { return done; }));
    return got;
  }
  /// Runs `fn` on a thread, as a command would, and the loop until it is done.
  template <typename F>
  void as_command(F fn) {
    std::atomic<bool> done{false};
    std::thread thread([&] {
      fn();
      done = true;
      loop.post([] {});
    });
    EXPECT_TRUE(wait([&] { return done.load(); }));
    thread.join();
  }
  bool wait(const std::function<bool()>& done) { return loop.run_until(done, kLimit); }

  auth::FakeAuthenticator server_auth, user_auth;
  io::Loop loop;
  AuthPool server_pool{server_auth, loop};
  AuthPool user_pool{user_auth, loop};
  std::unique_ptr<LinkServer> server;
  std::list<std::shared_ptr<SecureLink>> links;
  std::vector<std::string> refused;
  std::vector<std::string> closed;

 private:
  void on_link(const std::shared_ptr<SecureLink>& link) {
    SecureLink* raw = link.get();
    link->on_message([raw](std::string_view message) { EXPECT_TRUE(raw->send(message)); });
    link->on_closed([this](const std::string& reason) { closed.push_back(reason); });
    links.push_back(link);
  }
};

/// Connections that say nothing.
std::vector<io::Fd> idle_connections(World& w, size_t count) {
  std::vector<io::Fd> fds;
  const auto to = io::resolve(*io::parse_address(w.server->bound_address()))->front();
  for (size_t i = 0; i < count; ++i) {
    fds.push_back(*io::open_socket(to, {}));
    connect(fds.back().get(), to.get(), to.size);
  }
  return fds;
}

TEST(Link, BlockingRoundTrip) {
  World w;
  w.as_command([&] {
    auto link = BlockingLink::connect(w.connect_options(), w.user_auth, Deadline::in(kLimit));
    ASSERT_TRUE(link) << link.error().text();
    ASSERT_TRUE(link->send("ping", Deadline::in(kLimit)));
    EXPECT_EQ(*link->receive(Deadline::in(kLimit)), "ping");
    EXPECT_FALSE(link->has_buffered());
    EXPECT_EQ(link->version(), 1);
  });
  ASSERT_EQ(w.links.size(), 1u);
  EXPECT_EQ(w.links.front()->peer().uid, kUserUid);
  EXPECT_EQ(w.links.front()->peer().role, auth::Role::kClient);
  EXPECT_EQ(w.links.front()->peer().host, "127.0.0.1");
}

TEST(Link, LoopRoundTripAsANodeFromItsOwnAddress) {
  World w;
  auto options = w.dial_options();
  options.role = auth::Role::kNode;
  options.bind_host = "127.0.4.2";
  const auto link = *w.dial(options);
  std::string got;
  link->on_message([&](std::string_view m) { got = m; });
  ASSERT_TRUE(link->send("register"));
  ASSERT_TRUE(w.wait([&] { return got == "register"; }));
  EXPECT_EQ(w.links.front()->peer().role, auth::Role::kNode);
  EXPECT_EQ(w.links.front()->peer().host, "127.0.4.2");
  EXPECT_EQ(link->local_host(), "127.0.4.2");
  EXPECT_EQ(w.server->link_count(), 1u);
  EXPECT_EQ(w.server->handshake_count(), 0u);
}

TEST(Link, TheServerMaySpeakFirst) {
  World w;
  const auto link = *w.dial(w.dial_options());
  std::string got;
  link->on_message([&](std::string_view m) { got = m; });
  ASSERT_TRUE(w.wait([&] { return !w.links.empty(); }));
  ASSERT_TRUE(w.links.front()->send("start step"));
  EXPECT_TRUE(w.wait([&] { return got == "start step"; }));
}

TEST(Link, TwentyMegabytesOfMessagesBothWaysInOrder) {
  World w;
  const auto link = *w.dial(w.dial_options());
  size_t got_bytes = 0, next = 0;
  bool in_order = true;
  const auto message = [](size_t i) { return std::to_string(i) + ":" + std::string(i * 7919 % 60'000, 'm'); };
  link->on_message([&](std::string_view m) {
    in_order = in_order && m == message(next++);
    got_bytes += m.size();
  });
  size_t sent = 0, count = 0;
  for (; sent < 20'000'000; ++count) {
    sent += message(count).size();
    ASSERT_TRUE(link->send(message(count)));
  }
  ASSERT_TRUE(w.wait([&] { return next == count; }));
  EXPECT_TRUE(in_order);
  EXPECT_EQ(got_bytes, sent);
}

TEST(Link, LongestMessageBothWaysAndOneByteMore) {
  World w;
  w.as_command([&] {
    auto link = BlockingLink::connect(w.connect_options(), w.user_auth, Deadline::in(kLimit));
    const std::string longest(kMaxMessage, 'x');
    EXPECT_FALSE(link->send(longest + "x", Deadline::in(kLimit)));
    ASSERT_TRUE(link->send(longest, Deadline::in(kLimit)));
    const auto answer = link->receive(Deadline::in(kLimit));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_TRUE(*answer == longest);
  });
  const auto link = *w.dial(w.dial_options());
  EXPECT_FALSE(link->send(std::string(kMaxMessage + 1, 'x')));
  EXPECT_FALSE(link->is_closed());
}

TEST(Link, RefusalsReachTheCommand) {
  World w;
  const auto error_of = [&](ConnectOptions options, auth::Authenticator& authenticator) {
    base::Error error;
    w.as_command([&] {
      const auto link = BlockingLink::connect(options, authenticator, Deadline::in(kLimit));
      if (!link) error = link.error();
    });
    return error;
  };
  auth::FakeAuthenticator foreign;
  foreign.key = "other";
  EXPECT_THAT(error_of(w.connect_options(), foreign).what, HasSubstr("another key"));
  auto options = w.connect_options();
  options.receiver = "hpc/gnoded.n1";
  EXPECT_THAT(error_of(options, w.user_auth).what, HasSubstr("\"hpc/gnoded.n1\""));
  options = w.connect_options();
  options.receiver_uid = 5;
  EXPECT_THAT(error_of(options, w.user_auth).what, HasSubstr("another uid"));
  options = w.connect_options();
  options.versions = {7, 9};
  EXPECT_THAT(error_of(options, w.user_auth).what, HasSubstr("the client speaks 7 to 9, the server 1"));
  w.server_auth.is_stopped = true;
  EXPECT_EQ(error_of(w.connect_options(), w.user_auth).code, ErrorCode::kUnavailable);
  EXPECT_EQ(w.refused.size(), 5u);
  w.server_auth.is_stopped = false;
  EXPECT_EQ(error_of(w.connect_options(), w.user_auth).what, "");
}

TEST(Link, RefusalsReachTheLoopsDialer) {
  World w;
  auto options = w.dial_options();
  options.receiver = "elsewhere/gctld";
  const auto refused = w.dial(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("elsewhere/gctld"));
  w.user_auth.is_stopped = true;
  EXPECT_EQ(w.dial(w.dial_options()).error().code, ErrorCode::kUnavailable);
}

TEST(Link, GarbageIsAnsweredWithAReasonAndHarmsNobody) {
  World w;
  const std::string inputs[] = {"GET / HTTP/1.0\r\n\r\n", std::string("\0\0\0\x40", 4),
                                std::string("\x04\0\0\0ABCD", 8), std::string(1000, '\0'),
                                std::string("\x00\x00\x01\x00", 4) + std::string(70'000, 'x')};
  for (const auto& input : inputs) {
    const auto before = w.refused.size();
    auto fds = idle_connections(w, 1);
    ASSERT_TRUE(w.wait([&] { return w.server->handshake_count() == 1; }));
    ASSERT_EQ(send(fds[0].get(), input.data(), input.size(), MSG_NOSIGNAL), static_cast<ssize_t>(input.size()));
    ASSERT_TRUE(w.wait([&] { return w.refused.size() > before; }));
    EXPECT_EQ(w.server->handshake_count(), 0u);
    std::string answer(1000, '\0');
    ssize_t n = -1;
    ASSERT_TRUE(w.wait([&] { return (n = recv(fds[0].get(), answer.data(), answer.size(), 0)) >= 0; }));
    EXPECT_GT(n, 10) << "a reason in clear text";
  }
  EXPECT_TRUE(w.dial(w.dial_options()));
}

TEST(Link, AnIdleFloodLocksNobodyOut) {
  ServerOptions options;
  options.max_handshakes = 50;
  World w(options);
  const auto flood = idle_connections(w, 300);
  ASSERT_TRUE(w.wait([&] { return w.refused.size() == 250; })) << w.refused.size();
  EXPECT_EQ(w.server->handshake_count(), 50u);
  EXPECT_THAT(w.refused.front(), HasSubstr("too many connections"));
  w.as_command([&] {
    auto link = BlockingLink::connect(w.connect_options(), w.user_auth, Deadline::in(kLimit));
    ASSERT_TRUE(link) << link.error().text();
    ASSERT_TRUE(link->send("still there?", Deadline::in(kLimit)));
    EXPECT_EQ(*link->receive(Deadline::in(kLimit)), "still there?");
  });
}

TEST(Link, WhoHasComeIsKnownUntilItIsHeard) {
  World w;
  const auto heard_until = [&] { return w.server->arrivals().heard_until; };
  const base::Duration before = io::Loop::monotonic();
  EXPECT_GE(heard_until(), before) << "nobody is there";
  const std::vector<io::Fd> waiting = idle_connections(w, 1);
  const base::Duration came = io::Loop::monotonic();
  ASSERT_TRUE(w.wait([&] { return w.server->handshake_count() == 1; }));
  EXPECT_LE(heard_until(), came) << "it has not said who it is";
  EXPECT_EQ(w.server->arrivals().turned_away.us, 0);
  const auto link = w.dial(w.dial_options());
  ASSERT_TRUE(link) << link.error().text();
  ASSERT_TRUE(w.wait([&] { return w.links.size() == 1; }));
  EXPECT_LE(heard_until(), came) << "another one has";
  EXPECT_LE(w.links.front()->came_after(), io::Loop::monotonic());
  w.links.front()->set_reading(false);
  ASSERT_TRUE((*link)->send("unread"));
  ASSERT_TRUE(w.wait([&] { return w.links.front()->has_unread(); }));
  w.links.front()->set_reading(true);
  ASSERT_TRUE(w.wait([&] { return !w.links.front()->has_unread(); }));
}

TEST(Link, WhoSaidSomethingAndWasLetGoIsRemembered) {
  ServerOptions options;
  options.max_handshakes = 1;
  World w(options);
  const auto turned_away = [&] { return w.server->arrivals().turned_away; };
  std::vector<io::Fd> first = idle_connections(w, 1);
  ASSERT_TRUE(w.wait([&] { return w.server->handshake_count() == 1; }));
  std::vector<io::Fd> second = idle_connections(w, 1);
  ASSERT_TRUE(w.wait([&] { return w.refused.size() == 1; }));
  EXPECT_EQ(turned_away().us, 0) << "it had said nothing: a node does so at once";
  ASSERT_EQ(write(second.front().get(), "x", 1), 1);
  int on_its_way = 1;
  const auto has_arrived = [&] { return ioctl(second.front().get(), TIOCOUTQ, &on_its_way) == 0 && on_its_way == 0; };
  while (!has_arrived()) std::this_thread::yield();
  std::vector<io::Fd> third = idle_connections(w, 1);
  ASSERT_TRUE(w.wait([&] { return w.refused.size() == 2; }));
  EXPECT_GT(turned_away().us, 0);
}

TEST(Link, RefusedConnectionsThatLingerAreBounded) {
  ServerOptions options;
  options.max_handshakes = 10;
  World w(options);
  std::vector<io::Fd> fds;
  for (size_t i = 0; i < 40; ++i) {
    fds.push_back(std::move(idle_connections(w, 1).front()));
    ASSERT_TRUE(w.wait([&] { return w.server->handshake_count() == 1; }));
    ASSERT_EQ(send(fds.back().get(), "GET / HTTP", 10, MSG_NOSIGNAL), 10);
    ASSERT_TRUE(w.wait([&] { return w.refused.size() == i + 1; }));
  }
  // The first ten still read their reason; the others were cut off without one.
  size_t told = 0;
  char byte = 0;
  for (const auto& fd : fds) {
    ssize_t n = -1;
    ASSERT_TRUE(w.wait([&] { return (n = recv(fd.get(), &byte, 1, MSG_PEEK)) >= 0 || errno != EAGAIN; }));
    if (n == 1) ++told;
  }
  EXPECT_EQ(told, 10u);
}

TEST(Link, ASlowHandshakeIsEndedWithAReason) {
  ServerOptions options;
  options.handshake_timeout = base::milliseconds(50);
  World w(options);
  const auto idle = idle_connections(w, 3);
  ASSERT_TRUE(w.wait([&] { return w.refused.size() == 3; }));
  EXPECT_THAT(w.refused.front(), HasSubstr("not finished in time"));
  EXPECT_EQ(w.server->handshake_count(), 0u);
}

/// An authenticator that hangs until told to continue; then it knows nobody, or what `then` knows.
class Hanging final : public auth::Authenticator {
 public:
  explicit Hanging(auth::Authenticator* then = nullptr) : then_(then) {}
  base::Result<std::string> encode(std::string_view, uint32_t) override { return base::invalid("not used"); }
  base::Result<auth::Credential> decode(std::string_view credential) override {
    std::unique_lock lock(mutex_);
    if (on_entered) on_entered();
    wake_.wait(lock, [this] { return is_released_; });
    if (then_ != nullptr) return then_->decode(credential);
    return base::fail(ErrorCode::kUnavailable, "woken");
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    wake_.notify_all();
  }
  std::function<void()> on_entered;

 private:
  std::mutex mutex_;
  auth::Authenticator* then_;
  std::condition_variable wake_;
  bool is_released_ = false;
};

TEST(Link, AHangingMungedBlocksNeitherLoopNorClient) {
  World w;
  Hanging hanging;
  AuthPool pool(hanging, w.loop);
  ServerOptions options;
  options.address = "127.0.0.1:0";
  options.name = "hpc/gctld";
  options.handshake_timeout = base::milliseconds(100);
  const auto server = *LinkServer::start(w.loop, pool, options, [](const auto&) {});
  auto dial = w.dial_options();
  dial.address = server->bound_address();
  const auto error = w.dial(dial).error();
  EXPECT_THAT(error.what, HasSubstr("munged on the server's host does not answer"));
  EXPECT_TRUE(w.dial(w.dial_options())) << "the loop continues";
  hanging.release();
}

TEST(Link, TheLoopAgreesOnNoKeys) {
  World w;
  const size_t before = auth::KeyPair::work_of_this_thread();
  w.as_command([&] {
    auto link = BlockingLink::connect(w.connect_options(), w.user_auth, Deadline::in(kLimit));
    ASSERT_TRUE(link) << link.error().text();
    EXPECT_GT(auth::KeyPair::work_of_this_thread(), 0u) << "the command's own thread";
    ASSERT_TRUE(link->send("ping", Deadline::in(kLimit)));
    EXPECT_EQ(*link->receive(Deadline::in(kLimit)), "ping");
  });
  EXPECT_EQ(auth::KeyPair::work_of_this_thread(), before);
}

TEST(Link, WhoLeavesWhileItsKeysAreAgreedOnIsForgotten) {
  World w;
  Hanging hanging(&w.server_auth);
  bool is_entered = false;
  hanging.on_entered = [&] { w.loop.post([&] { is_entered = true; }); };
  AuthPool pool(hanging, w.loop, 1);
  ServerOptions options;
  options.address = "127.0.0.1:0";
  options.name = "hpc/gctld";
  size_t links = 0;
  const auto server = *LinkServer::start(w.loop, pool, options, [&](const auto&) { ++links; });
  auto dial = w.dial_options();
  dial.address = server->bound_address();
  std::optional<LinkDialHandle> handle = dial_link(w.loop, w.user_pool, dial, [](const auto&) { FAIL(); });
  ASSERT_TRUE(w.wait([&] { return is_entered; }));
  handle.reset();
  ASSERT_TRUE(w.wait([&] { return server->handshake_count() == 0; }));
  hanging.release();
  const auto other = w.dial(dial);
  EXPECT_TRUE(other) << "the thread has done with the one who left";
  EXPECT_TRUE(w.wait([&] { return links == 1; }));
}

TEST(Link, ClosingTellsTheOtherSideWhy) {
  World w;
  const auto link = *w.dial(w.dial_options());
  std::vector<std::string> here;
  link->on_closed([&](const std::string& reason) { here.push_back(reason); });
  ASSERT_TRUE(w.wait([&] { return !w.links.empty(); }));
  ASSERT_TRUE(w.links.front()->send("last message"));
  std::string got;
  link->on_message([&](std::string_view m) { got = m; });
  w.links.front()->close("the controller is shutting down");
  EXPECT_FALSE(w.links.front()->send("more"));
  w.links.clear();  // lives on until the reason is out
  ASSERT_TRUE(w.wait([&] { return !here.empty(); }));
  EXPECT_EQ(got, "last message");
  EXPECT_EQ(here, std::vector<std::string>{"the controller is shutting down"});
  EXPECT_EQ(w.server->link_count(), 0u);
}

TEST(Link, ClosingTellsTheCommandWhy) {
  World w;
  base::Error error;
  w.as_command([&] {
    auto link = BlockingLink::connect(w.connect_options(), w.user_auth, Deadline::in(kLimit));
    ASSERT_TRUE(link->send("x", Deadline::in(kLimit)));
    ASSERT_TRUE(link->receive(Deadline::in(kLimit)));
    w.loop.post([&] { w.links.front()->close("maintenance"); });
    error = link->receive(Deadline::in(kLimit)).error();
  });
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.what, HasSubstr("maintenance"));
}

TEST(Link, ALostPeerIsNoticed) {
  World w;
  auto link = *w.dial(w.dial_options());
  ASSERT_TRUE(w.wait([&] { return !w.links.empty(); }));
  link->drop("cable pulled");
  ASSERT_TRUE(w.wait([&] { return !w.closed.empty(); }));
  EXPECT_EQ(w.closed.front(), "connection closed by the other side");
}

TEST(Link, IdleClientsAreClosedBusyOnesAndNodesAreNot) {
  ServerOptions options;
  options.idle_timeout = base::milliseconds(60);
  World w(options);
  auto node_options = w.dial_options();
  node_options.role = auth::Role::kNode;
  const auto node = *w.dial(node_options);
  const auto busy = *w.dial(w.dial_options());
  const auto idle = *w.dial(w.dial_options());
  std::string reason;
  idle->on_closed([&](const std::string& why) { reason = why; });
  std::function<void()> again;
  io::Timer timer;
  again = [&] {
    (void)busy->send("tick");
    timer = w.loop.after(base::milliseconds(10), again);
  };
  again();
  ASSERT_TRUE(w.wait([&] { return !reason.empty(); }));
  EXPECT_THAT(reason, HasSubstr("nothing was heard"));
  EXPECT_FALSE(busy->is_closed());
  EXPECT_FALSE(node->is_closed());
}

TEST(Link, OneUserIsBoundOthersAreNot) {
  ServerOptions options;
  options.max_links_per_uid = 2;
  World w(options);
  const auto a = w.dial(w.dial_options()), b = w.dial(w.dial_options());
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(w.wait([&] { return w.server->link_count() == 2; }));
  const auto c = w.dial(w.dial_options());
  ASSERT_FALSE(c);
  EXPECT_THAT(c.error().what, HasSubstr("user 1000 has 2 connections"));
  w.user_auth.uid = 1001;
  EXPECT_TRUE(w.dial(w.dial_options()));
  w.user_auth.uid = 1000;
  (*a)->close("done");
  ASSERT_TRUE(w.wait([&] { return w.server->link_count() == 2; }));
  EXPECT_TRUE(w.dial(w.dial_options()));
}

/// However many accounts there are: nodes come back.
TEST(Link, AllUsersTogetherLeaveRoomForNodes) {
  ServerOptions options;
  options.max_links = 3;
  options.max_links_of_users = 2;
  World w(options);
  std::vector<decltype(w.dial(w.dial_options()))> links;
  const auto come = [&](uint32_t uid) {
    w.user_auth.uid = uid;
    links.push_back(w.dial(w.dial_options()));
    return links.back() ? "" : links.back().error().what;
  };
  EXPECT_EQ(come(1000), "");
  EXPECT_EQ(come(1001), "");
  ASSERT_TRUE(w.wait([&] { return w.server->link_count() == 2; }));
  EXPECT_THAT(come(1002), HasSubstr("users have 2 connections together"));
  EXPECT_EQ(w.server->arrivals().turned_away, base::Duration{});
  EXPECT_EQ(come(0), "");
  ASSERT_TRUE(w.wait([&] { return w.server->link_count() == 3; }));
  EXPECT_THAT(come(0), HasSubstr("the server has 3 connections"));
  EXPECT_GT(w.server->arrivals().turned_away, base::Duration{}) << "it may have been a node: none is fenced for it";
  (*links[0])->close("done");
  ASSERT_TRUE(w.wait([&] { return w.server->link_count() == 2; }));
  EXPECT_EQ(come(1002), "");
}

TEST(Link, UnfinishedMessagesOfOneUserAreBounded) {
  ServerOptions options;
  options.max_bytes_per_uid = 1'000'000;
  World w(options);
  const auto small = *w.dial(w.dial_options());
  const auto greedy = *w.dial(w.dial_options());
  std::string reason, got;
  greedy->on_closed([&](const std::string& why) { reason = why; });
  small->on_message([&](std::string_view m) { got = m; });
  ASSERT_TRUE(greedy->send(std::string(8'000'000, 'x')));
  ASSERT_TRUE(w.wait([&] { return !reason.empty(); }));
  EXPECT_THAT(reason, HasSubstr("at most 1000000 are allowed"));
  EXPECT_FALSE(small->is_closed());
  ASSERT_TRUE(small->send("fine"));
  EXPECT_TRUE(w.wait([&] { return got == "fine"; }));
}

TEST(Link, LinksMayBeDroppedInTheirOwnCallbacks) {
  World w;
  auto link = *w.dial(w.dial_options());
  bool called = false;
  link->on_message([&](std::string_view) {
    called = true;
    link.reset();
  });
  ASSERT_TRUE(link->send("x"));
  ASSERT_TRUE(link->send("y"));
  ASSERT_TRUE(w.wait([&] { return called; }));
  ASSERT_TRUE(w.wait([&] { return !w.closed.empty(); }));
}

TEST(Link, ServerGoesWhileHandshakesAreUnderWay) {
  World w;
  const auto idle = idle_connections(w, 5);
  ASSERT_TRUE(w.wait([&] { return w.server->handshake_count() == 5; }));
  w.server.reset();
  char byte = 0;
  ASSERT_TRUE(w.wait([&] { return recv(idle[0].get(), &byte, 1, 0) == 0 || errno == ECONNRESET; }));
}

TEST(BlockingLink, NobodyListens) {
  World w;
  auto options = w.connect_options();
  w.server.reset();
  const auto refused = BlockingLink::connect(options, w.user_auth, Deadline::in(kLimit));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().text(), HasSubstr("is the daemon running"));
}

TEST(BlockingLink, ASilentServerTimesOut) {
  World w;  // its loop does not run
  const auto late = BlockingLink::connect(w.connect_options(), w.user_auth, Deadline::in(base::milliseconds(50)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
}

TEST(BlockingLink, AReceiveThatTimedOutMayBeRepeated) {
  World w;
  w.as_command([&] {
    auto link = BlockingLink::connect(w.connect_options(), w.user_auth, Deadline::in(kLimit));
    EXPECT_EQ(link->receive(Deadline::in(base::milliseconds(20))).error().code, ErrorCode::kTimeout);
    ASSERT_TRUE(link->send("x", Deadline::in(kLimit)));
    EXPECT_EQ(*link->receive(Deadline::never()), "x");
  });
}

}  // namespace
}  // namespace gw::link
