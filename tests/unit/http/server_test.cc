// The HTTP server: what reaches a handler, what is refused before, and who is sent away.
#include "http/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "io/stream.h"

namespace gw::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr base::Duration kLong = base::hours(1);  // however slow the machine is

Response said(std::string text) {
  Response out;
  out.type = "text/plain";
  out.body = std::make_shared<const std::string>(std::move(text));
  return out;
}

/// One end of a connection to the server.
class Client {
 public:
  std::string got;
  bool is_closed = false;

  Client(io::Loop& loop, const std::string& address, const std::string& bytes = {}) : loop_(loop) {
    io::DialOptions where;
    where.address = address;
    dialing_ = io::dial(loop, where, [this, bytes](auto connected) {
      ASSERT_TRUE(connected);
      stream_ = *connected;
      stream_->on_data([this](std::string_view more) { got += more; });
      stream_->on_closed([this](const std::string&) { is_closed = true; });
      if (!bytes.empty()) stream_->send(bytes);
    });
  }
  void send(const std::string& bytes) {
    ASSERT_TRUE(loop_.run_until([this] { return stream_ != nullptr; }, kLong));
    stream_->send(bytes);
  }
  bool wait(const std::function<bool()>& done) { return loop_.run_until(done, kLong); }
  bool wait_for(const std::string& text) {
    return wait([&] { return got.find(text) != std::string::npos || is_closed; }) &&
           got.find(text) != std::string::npos;
  }
  bool wait_closed() {
    return wait([this] { return is_closed; });
  }

 private:
  io::Loop& loop_;
  io::DialHandle dialing_;
  std::shared_ptr<io::Stream> stream_;
};

class HttpServer : public testing::Test {
 public:
  io::Loop loop;
  ServerOptions options;
  std::vector<Request> asked;
  std::function<void(const Request&, Answer)> handler = [](const Request&, const Answer& answer) {
    answer(said("hello\n"));
  };
  std::vector<std::string> troubles;
  std::unique_ptr<Server> server;

  HttpServer() {
    options.address = "127.0.0.1:0";
    options.patience = kLong;
    options.on_trouble = [this](const std::string& text) { troubles.push_back(text); };
  }
  void start() {
    auto opened = Server::open(loop, std::move(options), [this](const Request& request, Answer answer) {
      asked.push_back(request);
      handler(request, std::move(answer));
    });
    ASSERT_TRUE(opened) << opened.error().text();
    server = std::move(*opened);
  }
  std::unique_ptr<Client> client(const std::string& bytes = {}) {
    return std::make_unique<Client>(loop, server->bound_address(), bytes);
  }
  /// Sent on a connection that is closed after the answer.
  std::string exchange(const std::string& bytes) {
    const auto c = client(bytes);
    EXPECT_TRUE(c->wait_closed());
    return c->got;
  }
};

constexpr const char* kGet = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST_F(HttpServer, AHandlerSeesTheWholeRequest) {
  start();
  const std::string answer = exchange(
      "POST /a%20b/c?x=1&y=%26&x=2 HTTP/1.1\r\nHost: web.example.org:80\r\nX-One: 1\r\nx-one: 2\r\nConnection: "
      "close\r\n"
      "Content-Length: 5\r\n\r\nhello");
  ASSERT_EQ(asked.size(), 1U);
  const Request& r = asked[0];
  EXPECT_EQ(r.method, "POST");
  EXPECT_EQ(r.path, "/a b/c");
  EXPECT_EQ(r.query, (std::map<std::string, std::string>{{"x", "2"}, {"y", "&"}}));
  EXPECT_EQ(r.header("host"), "web.example.org:80");
  EXPECT_EQ(r.header("x-one"), "1, 2");
  EXPECT_EQ(r.header("none"), "");
  EXPECT_EQ(r.body, "hello");
  EXPECT_EQ(r.from, "127.0.0.1");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nhello\n"));
}

/// As proxies ask.
TEST_F(HttpServer, TheWholeAddressNamesThePath) {
  start();
  for (const char* target : {"http://x:80/a?b=c", "HTTP://[::1]/a?b=c"}) {
    exchange("GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(asked.back().path, "/a") << target;
    EXPECT_EQ(asked.back().query.at("b"), "c");
  }
  exchange("GET http://x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(asked.back().path, "/");
}

TEST_F(HttpServer, AConnectionIsUsedAgain) {
  start();
  const auto c = client("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(c->wait_for("hello\n"));
  c->got.clear();
  c->send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(c->wait_for("hello\n"));
  EXPECT_EQ(asked.at(1).path, "/b");
  EXPECT_EQ(server->connection_count(), 1U);
}

TEST_F(HttpServer, OfAHeadNoBodyIsSent) {
  start();
  const std::string answer = exchange("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(asked.at(0).method, "GET");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServer, AnAnswerMayComeLaterAndOnce) {
  std::vector<Answer> open;
  handler = [&open](const Request&, const Answer& answer) { open.push_back(answer); };
  start();
  const auto c = client(kGet);
  ASSERT_TRUE(c->wait([&] { return !open.empty(); }));
  EXPECT_EQ(c->got, "");
  open[0](said("late"));
  open[0](said("again"));
  ASSERT_TRUE(c->wait_closed());
  EXPECT_THAT(c->got, EndsWith("\r\n\r\nlate"));
  open[0](said("too late"));
}

TEST_F(HttpServer, WhoHasGoneIsNotAnswered) {
  std::optional<Answer> open;
  handler = [&open](const Request&, const Answer& answer) { open = answer; };
  start();
  auto c = client(kGet);
  ASSERT_TRUE(c->wait([&] { return open.has_value(); }));
  c.reset();
  (*open)(said("to nobody"));
  EXPECT_TRUE(loop.run_until([this] { return server->connection_count() == 0; }, kLong));
}

TEST_F(HttpServer, EndsWhileOthersWait) {
  std::vector<Answer> open;
  handler = [&open](const Request& r, const Answer& answer) {
    if (r.path == "/stream") {
      Response out = said("");
      out.stream = std::make_shared<EventStream>();
      return answer(out);
    }
    open.push_back(answer);
  };
  start();
  const auto waits = client(kGet), listens = client("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(listens->wait_for("200 OK"));
  ASSERT_TRUE(waits->wait([&] { return !open.empty(); }));
  server.reset();
  EXPECT_TRUE(waits->wait_closed());
  EXPECT_TRUE(listens->wait_closed());
  open[0](said("to nobody"));
}

TEST_F(HttpServer, WhatAHandlerThrowsIsOurFault) {
  handler = [](const Request&, const Answer&) { throw std::runtime_error("boom"); };
  start();
  EXPECT_THAT(exchange(kGet), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(troubles, testing::Contains(HasSubstr("boom")));
}

TEST_F(HttpServer, WhatIsTooLargeOrBrokenReachesNobody) {
  options.max_body = 1000;
  start();
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {head + "Content-Length: 1001\r\n\r\n", "413"},
      {head + "Content-Length: 99999999999999999999\r\n\r\n", "413"},
      {head + "Content-Length: -1\r\n\r\n", "400"},
      {head + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "400"},
      {head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "411"},
      {"GET /a HTTP/1.1\r\nConnection: close\r\n\r\n", "400"},  // no Host
      {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", "414"},
      {"GET /a HTTP/1.1\r\nHost: x\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n", "431"},
  };
  for (const auto& [bytes, status] : rows)
    EXPECT_THAT(exchange(bytes), StartsWith("HTTP/1.1 " + status)) << bytes.substr(0, 90);
  EXPECT_TRUE(asked.empty());
  exchange("nonsense\r\n\r\n");
  exchange(std::string(100'000, '\0'));
  EXPECT_TRUE(asked.empty());
  for (const char* target : {"/a%00b", "/a?x=%00"})
    EXPECT_THAT(exchange(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target)),
                StartsWith("HTTP/1.1 400 "));
  EXPECT_TRUE(asked.empty());
  EXPECT_THAT(exchange(kGet), StartsWith("HTTP/1.1 200 ")) << "it goes on";
}

TEST_F(HttpServer, WhoSendsAByteNowAndThenIsSentAway) {
  options.patience = base::milliseconds(50);
  start();
  const auto c = client("GET /a HTTP/1.1\r\n");
  io::Timer drip;
  std::function<void()> more = [&] {
    c->send("X");
    drip = loop.after(base::milliseconds(10), [&] {
      if (!c->is_closed) more();
    });
  };
  more();
  EXPECT_TRUE(c->wait_closed());
  EXPECT_TRUE(asked.empty());
}

/// However many come at once and say nothing.
TEST_F(HttpServer, AFloodOfSilentOnesIsInNobodysWay) {
  constexpr size_t kMost = 64;
  options.max_connections = kMost;
  start();
  std::vector<std::unique_ptr<Client>> silent;
  for (size_t i = 0; i < 4 * kMost; ++i) silent.push_back(client());
  const auto one = client(kGet);
  EXPECT_TRUE(one->wait_for("hello\n")) << "long before the patience with the others is over";
  EXPECT_LE(server->connection_count(), kMost + kMost / 8 + 8);
}

TEST_F(HttpServer, WhereConnectionsAreManyTheSilentOneGoes) {
  options.max_connections = 3;
  std::vector<Answer> open;
  handler = [&open](const Request&, const Answer& answer) { open.push_back(answer); };
  start();
  const auto busy = client(kGet);
  ASSERT_TRUE(busy->wait([&] { return open.size() == 1; }));
  std::vector<std::unique_ptr<Client>> silent;
  for (size_t i = 0; i < 2; ++i) {
    silent.push_back(client("GET"));
    ASSERT_TRUE(loop.run_until([&] { return server->connection_count() == 2 + i; }, kLong));
  }
  const auto next = client(kGet);
  EXPECT_TRUE(silent[0]->wait_closed()) << "the one that has been silent longest";
  ASSERT_TRUE(next->wait([&] { return open.size() == 2; }));
  for (const Answer& answer : open) answer(said("hello"));
  EXPECT_TRUE(busy->wait_for("hello"));
  EXPECT_TRUE(next->wait_for("hello"));
  EXPECT_FALSE(silent[1]->is_closed);
}

TEST_F(HttpServer, AStreamGoesOnUntilOneSideLeaves) {
  const auto stream = std::make_shared<EventStream>();
  handler = [&stream](const Request&, const Answer& answer) {
    Response out = said("");
    out.type = "text/event-stream";
    out.stream = stream;
    stream->send("one\n");
    answer(out);
  };
  start();
  auto c = client(kGet);
  ASSERT_TRUE(c->wait_for("one\n"));
  stream->send("two\n");
  ASSERT_TRUE(c->wait_for("two\n"));
  EXPECT_FALSE(stream->is_gone());
  c.reset();
  io::Timer again;
  std::function<void()> send = [&] {
    stream->send("to nobody\n");
    again = loop.after(base::milliseconds(1), send);
  };
  send();
  EXPECT_TRUE(loop.run_until([&] { return stream->is_gone(); }, kLong));
  EXPECT_TRUE(loop.run_until([this] { return server->connection_count() == 0; }, kLong));
}

TEST(EventStreams, HoldNoMoreThanTheirBound) {
  EventStream stream;
  stream.send(std::string(EventStream::kMostBytes, 'x'));
  EXPECT_FALSE(stream.is_gone());
  stream.send("y");
  EXPECT_TRUE(stream.is_gone());
  char buffer[10];
  EXPECT_EQ(stream.take(buffer, sizeof buffer), 0U);
}

TEST_F(HttpServer, BadCertificatesAreTold) {
  options.certificate = options.key = "nonsense";
  const auto opened = Server::open(loop, std::move(options), {});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().text(), HasSubstr("certificate"));
  EXPECT_THAT(opened.error().text(), Not(HasSubstr("no reason is told")));
}

}  // namespace
}  // namespace gw::http
