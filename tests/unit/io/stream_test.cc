// Connections on loopback: echo, large transfers, bounds, closing, and what an operating system can do to them.
#include "io/stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <list>
#include <map>

#include "io/listener.h"

namespace gw::io {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
constexpr base::Duration kLimit = base::seconds(20);

/// A listener whose streams are kept, and dialing it.
struct Net {
  explicit Net(const std::string& address = "127.0.0.1:0", size_t max_connections = 0,
               size_t max_out = kDefaultMaxOut) {
    ListenOptions options{.address = address, .max_connections = max_connections, .max_out_bytes = max_out};
    auto opened = Listener::open(
        loop, options, [this](std::shared_ptr<Stream> s) { accept(std::move(s)); },
        [this](const base::Error& error) { pauses.push_back(error.what); });
    EXPECT_TRUE(opened) << opened.error().text();
    listener = std::move(*opened);
  }
  std::shared_ptr<Stream> dial_one(const std::string& bind_host = {}) {
    base::Result<std::shared_ptr<Stream>> got = base::invalid("not called");
    bool done = false;
    const auto handle = dial(loop, {listener->bound_address(), bind_host, kLimit, kDefaultMaxOut}, [&](auto result) {
      got = std::move(result);
      done = true;
    });
    EXPECT_TRUE(loop.run_until([&] { return done; }, kLimit));
    EXPECT_TRUE(got) << got.error().text();
    return got ? *got : nullptr;
  }
  bool wait(const std::function<bool()>& done) { return loop.run_until(done, kLimit); }

  Loop loop;
  std::unique_ptr<Listener> listener;
  std::list<std::shared_ptr<Stream>> accepted;
  std::vector<std::string> pauses;
  bool echoes = true;

 private:
  void accept(std::shared_ptr<Stream> stream) {
    Stream* raw = stream.get();
    if (echoes) stream->on_data([raw](std::string_view bytes) { raw->send(bytes); });
    accepted.push_back(std::move(stream));
  }
};

/// They are set once, not for each of ten thousand who come at once.
TEST(Listener, WhoIsAcceptedHasTheOptionsOfTheSocketThatListens) {
  const Fd listening = *Listener::make_socket({.address = "127.0.0.1:0"});
  const SockAddr to = local_address(listening.get());
  const Fd here(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(here.get(), to.get(), to.size), 0);
  const Fd there(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(there.get(), level, name, &value, &size) == 0 ? value : -1;
  };
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 30);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 10);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
}

TEST(Stream, EchoAndAddresses) {
  Net net;
  const auto stream = net.dial_one("127.0.0.3");
  std::string got;
  stream->on_data([&](std::string_view bytes) { got += bytes; });
  stream->send("hello ");
  stream->send("world");
  ASSERT_TRUE(net.wait([&] { return got == "hello world"; })) << got;
  EXPECT_EQ(stream->peer_text(), net.listener->bound_address());
  EXPECT_EQ(stream->local_host(), "127.0.0.3");
  EXPECT_EQ(net.accepted.front()->peer_host(), "127.0.0.3");
  EXPECT_NE(net.listener->bound_port(), 0);
}

TEST(Stream, UnixPathAndStaleSocket) {
  const std::string path = "/tmp/gw-io-" + std::to_string(getpid());
  {
    Net net("unix:" + path);
    const auto stream = net.dial_one();
    std::string got;
    stream->on_data([&](std::string_view bytes) { got += bytes; });
    stream->send("x");
    EXPECT_TRUE(net.wait([&] { return got == "x"; }));
    Loop other;
    const auto second = Listener::open(other, {.address = path}, [](auto) {});
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().text(), HasSubstr("another program"));
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "removed with its listener";
  const SockAddr dead = resolve(*parse_address(path))->front();
  {
    const Fd left_behind(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(left_behind.get(), dead.get(), dead.size), 0);
  }
  Net again(path);
  EXPECT_TRUE(again.dial_one());
}

TEST(Stream, TwentyMegabytesBothWays) {
  Net net;
  const auto stream = net.dial_one();
  std::string sent(20 << 20, '\0');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 2654435761u >> 13);
  std::string got;
  stream->on_data([&](std::string_view bytes) { got += bytes; });
  stream->send(sent);
  ASSERT_TRUE(net.wait([&] { return got.size() >= sent.size(); }));
  EXPECT_TRUE(got == sent);
  EXPECT_EQ(stream->pending_out_bytes(), 0u);
}

TEST(Stream, AReaderThatSleepsIsClosedAtTheBound) {
  Net net("127.0.0.1:0", 0, 1 << 20);
  const auto stream = net.dial_one();  // never reads
  ASSERT_TRUE(net.wait([&] { return !net.accepted.empty(); }));
  const auto& sender = net.accepted.front();
  std::string reason;
  sender->on_closed([&](const std::string& why) { reason = why; });
  size_t sent = 0;
  std::function<void()> more = [&] {
    sender->send(std::string(100'000, 'x'));
    sent += 100'000;
    if (!sender->is_closed()) net.loop.defer(more);
  };
  net.loop.defer(more);
  ASSERT_TRUE(net.wait([&] { return !reason.empty(); }));
  EXPECT_THAT(reason, HasSubstr("reads too slowly"));
  EXPECT_LT(sent, size_t{64} << 20);
}

TEST(Stream, CloseReasonsReachBothSidesOnce) {
  Net net;
  const auto stream = net.dial_one();
  ASSERT_TRUE(net.wait([&] { return !net.accepted.empty(); }));
  std::vector<std::string> here, there;
  stream->on_data([](std::string_view) {});
  stream->on_closed([&](const std::string& why) { here.push_back(why); });
  net.accepted.front()->on_closed([&](const std::string& why) { there.push_back(why); });
  stream->close("done");
  stream->close("again");
  EXPECT_TRUE(here.empty()) << "never from inside close()";
  ASSERT_TRUE(net.wait([&] { return !here.empty() && !there.empty(); }));
  EXPECT_EQ(here, std::vector<std::string>{"done"});
  EXPECT_EQ(there, std::vector<std::string>{"connection closed by the other side"});
}

TEST(Stream, CloseAfterFlushDeliversTheLastWords) {
  Net net;
  net.echoes = false;
  auto stream = net.dial_one();
  std::string got;
  bool closed = false;
  stream->on_data([&](std::string_view bytes) { got += bytes; });
  stream->on_closed([&](const std::string&) { closed = true; });
  stream->send(std::string(300'000, 'i'));  // unread input at the other end must not cost its last words
  ASSERT_TRUE(net.wait([&] { return !net.accepted.empty(); }));
  const std::string words(3 << 20, 'w');
  net.accepted.front()->send(words);
  net.accepted.front()->close_after_flush("bye");
  net.accepted.clear();  // nobody holds it any more
  ASSERT_TRUE(net.wait([&] { return closed; }));
  EXPECT_EQ(got.size(), words.size());
}

TEST(Stream, MayBeDestroyedInItsOwnCallback) {
  Net net;
  auto stream = net.dial_one();
  bool called = false;
  stream->on_data([&](std::string_view) {
    called = true;
    stream.reset();
  });
  stream->send("x");
  EXPECT_TRUE(net.wait([&] { return called; }));
  EXPECT_FALSE(stream);
}

TEST(Stream, PausedReadingGetsNothingUntilResumed) {
  Net net;
  const auto stream = net.dial_one();
  std::string got;
  stream->on_data([&](std::string_view bytes) { got += bytes; });
  stream->set_reading(false);
  stream->send("x");
  bool later = false;
  ASSERT_TRUE(net.wait([&] { return !net.accepted.empty(); }));
  const Timer timer = net.loop.after(base::milliseconds(30), [&] { later = true; });
  ASSERT_TRUE(net.wait([&] { return later; }));
  EXPECT_EQ(got, "");
  stream->set_reading(true);
  EXPECT_TRUE(net.wait([&] { return got == "x"; }));
}

TEST(Stream, WritingToAResetConnectionKillsNobody) {
  Net net;
  const auto stream = net.dial_one();
  bool closed = false;
  stream->on_data([](std::string_view) {});
  stream->on_closed([&](const std::string&) { closed = true; });
  ASSERT_TRUE(net.wait([&] { return !net.accepted.empty(); }));
  net.accepted.front()->close("reset");
  for (int i = 0; i < 100; ++i) stream->send(std::string(1000, 'x'));
  EXPECT_TRUE(net.wait([&] { return closed; }));
}

TEST(Dial, ErrorsSayWhatAndWhere) {
  Loop loop;
  const auto error_of = [&](DialOptions options) {
    base::Error error;
    const auto handle = dial(loop, std::move(options), [&](auto result) { error = result.error(); });
    EXPECT_TRUE(error.what.empty()) << "never from inside dial()";
    EXPECT_TRUE(loop.run_until([&] { return !error.what.empty(); }, kLimit));
    return error;
  };
  std::string free_port;
  {
    Loop other;
    free_port = (*Listener::open(other, {.address = "127.0.0.1:0"}, [](auto) {}))->bound_address();
  }
  const auto refused = error_of({.address = free_port, .bind_host = {}});
  EXPECT_EQ(refused.code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(refused.what, HasSubstr(free_port));
  EXPECT_EQ(error_of({.address = "nonsense", .bind_host = {}}).code, base::ErrorCode::kInvalid);
  EXPECT_THAT(error_of({.address = free_port, .bind_host = "no-number"}).what, HasSubstr("no-number"));
  EXPECT_THAT(error_of({.address = "/tmp/gw-no-such", .bind_host = {}}).what, HasSubstr("No such file"));
}

TEST(Dial, NamesAreLookedUp) {
  Net net;
  bool done = false;
  const auto handle =
      dial(net.loop, {.address = "localhost:" + std::to_string(net.listener->bound_port()), .bind_host = {}},
           [&](auto) { done = true; });
  EXPECT_TRUE(net.wait([&] { return done; }));
}

TEST(Dial, DroppedHandleNeverCallsBack) {
  Net net;
  bool called = false;
  {
    const auto handle =
        dial(net.loop, {.address = net.listener->bound_address(), .bind_host = {}}, [&](auto) { called = true; });
  }
  EXPECT_TRUE(net.dial_one());
  EXPECT_FALSE(called);
}

TEST(Listener, PausesAtMaxConnectionsAndGoesOn) {
  Net net("127.0.0.1:0", 2);
  const auto a = net.dial_one(), b = net.dial_one(), c = net.dial_one();
  ASSERT_TRUE(net.wait([&] { return !net.pauses.empty(); }));
  EXPECT_EQ(net.accepted.size(), 2u);
  EXPECT_THAT(net.pauses.front(), HasSubstr("2 connections"));
  bool later = false;
  const Timer timer = net.loop.after(base::milliseconds(20), [&] { later = true; });
  ASSERT_TRUE(net.wait([&] { return later; }));
  EXPECT_LE(net.pauses.size(), 3u) << "it spins";
  a->close("");
  EXPECT_TRUE(net.wait([&] { return net.accepted.size() == 3; }));
}

// Runs in a child: the limit holds for the whole process.
int accept_without_descriptors() {
  Net net;
  std::vector<std::shared_ptr<Stream>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(net.dial_one());
  std::vector<Fd> fill;
  const rlimit few{64, 64};
  setrlimit(RLIMIT_NOFILE, &few);
  const Fd last(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  for (int fd = 0; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) fill.emplace_back(fd);
  const SockAddr to = resolve(*parse_address(net.listener->bound_address()))->front();
  if (connect(last.get(), to.get(), to.size) != 0 && errno != EINPROGRESS) return 1;
  if (!net.wait([&] { return net.pauses.size() >= 2; })) return 2;
  if (net.pauses.front().find("Too many open files") == std::string::npos) return 3;
  const size_t before = net.accepted.size();
  fill.clear();
  return net.wait([&] { return net.accepted.size() > before; }) ? 0 : 4;
}

TEST(Listener, SurvivesTheLackOfDescriptors) {
  const pid_t child = fork();
  if (child == 0) _exit(accept_without_descriptors());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Listener, AddressInUseIsNamed) {
  Net net;
  Loop other;
  const auto second = Listener::open(other, {.address = net.listener->bound_address()}, [](auto) {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr(net.listener->bound_address()));
  EXPECT_THAT(second.error().hint, HasSubstr("another program"));
}

/// A loopback address that no other process of these tests has.
std::string own_loopback() {
  const auto pid = static_cast<uint32_t>(::getpid());
  return "127." + std::to_string(100 + pid % 100) + "." + std::to_string(pid / 100 % 250) + "." +
         std::to_string(1 + pid / 25'000 % 250);
}

TEST(Listener, TakesAFreePortOfARange) {
  const std::string place = own_loopback() + ":61000-61002";
  std::map<int, Fd> open;
  for (int i = 0; i < 3; ++i) {
    auto fd = Listener::make_socket({.address = place});
    ASSERT_TRUE(fd) << fd.error().text();
    const int port = local_address(fd->get()).port();
    EXPECT_TRUE(port >= 61000 && port <= 61002) << port;
    EXPECT_TRUE(open.emplace(port, std::move(*fd)).second) << port << " is given twice";
  }
  const auto none = Listener::make_socket({.address = place});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(none.error().what, HasSubstr("no port of 61000-61002 is free"));
  open.erase(61001);
  const auto again = Listener::make_socket({.address = place});
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(local_address(again->get()).port(), 61001);
}

TEST(Listener, ARangeOfPortsOnEveryInterface) {
  const auto fd = Listener::make_socket({.address = "*:20000-32000"});
  ASSERT_TRUE(fd) << fd.error().text();
  const uint16_t port = local_address(fd->get()).port();
  EXPECT_TRUE(port >= 20000 && port <= 32000) << port;
}

TEST(Listener, RefusesWhatIsNoRange) {
  for (const char* bad :
       {"127.0.0.1:5-", "127.0.0.1:3000-2000", "127.0.0.1:1-2000", "127.0.0.1:2000-70000", "127.0.0.1:-"})
    EXPECT_FALSE(Listener::make_socket({.address = bad})) << bad;
  EXPECT_FALSE(Listener::make_socket({.address = "a-b:99999"})) << "a name with a dash is no range";
}

TEST(Listener, StarMeansEveryInterface) {
  Net net("*:0");
  Loop loop;
  bool done = false;
  const auto handle =
      dial(net.loop, {.address = "127.0.0.9:" + std::to_string(net.listener->bound_port()), .bind_host = {}},
           [&](auto result) { done = result.has_value(); });
  ASSERT_TRUE(net.wait([&] { return done && !net.accepted.empty(); }));
  EXPECT_THAT(net.accepted.front()->peer_host(), StartsWith("127."));
}

}  // namespace
}  // namespace gw::io
