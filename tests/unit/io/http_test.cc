// The HTTP server: what it answers and what it refuses.
#include "io/http.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace gw::io {
namespace {

struct Http : testing::Test {
  Loop loop;
  int asked = 0;
  base::Duration patience = base::seconds(60);
  std::unique_ptr<HttpServer> server;
  std::string got;
  bool is_closed = false;

  void SetUp() override {
    auto opened = HttpServer::open(loop, "127.0.0.1:0",
                                   {{"/metrics",
                                     {"text/plain",
                                      [this] {
                                        ++asked;
                                        return std::string("a 1\n");
                                      }}}},
                                   patience);
    ASSERT_TRUE(opened) << opened.error().text();
    server = std::move(*opened);
  }
  /// What comes back for these bytes, sent one after the other, until the server closes.
  std::string exchange(const std::vector<std::string>& parts) {
    got.clear();
    is_closed = false;
    std::shared_ptr<Stream> stream;
    DialOptions where;
    where.address = server->bound_address();
    const DialHandle dialing = dial(loop, where, [&](auto connected) {
      ASSERT_TRUE(connected);
      stream = *connected;
      stream->on_data([this](std::string_view bytes) { got += bytes; });
      stream->on_closed([this](const std::string&) { is_closed = true; });
      for (const std::string& part : parts) stream->send(part);
    });
    EXPECT_TRUE(loop.run_until([this] { return is_closed; }, base::seconds(20)));
    return got;
  }
};

TEST_F(Http, ServesThePage) {
  const std::string reply = exchange({"GET /metrics HTTP/1.1\r\nHost: x\r\n", "\r\n"});
  EXPECT_EQ(reply,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\nConnection: close\r\n\r\na 1\n");
  EXPECT_EQ(asked, 1);
  for (const char* target : {"/metrics?x=1", "http://gctld.example:6922/metrics", "HTTP://[::1]/metrics?x=1"})
    EXPECT_TRUE(exchange({fmt::format("GET {} HTTP/1.0\r\n\r\n", target)}).starts_with("HTTP/1.1 200 ")) << target;
}

TEST_F(Http, RefusesTheRest) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"GET / HTTP/1.1\r\n\r\n", "404"},
      {"GET /metrics/../etc HTTP/1.1\r\n\r\n", "404"},
      {"GET http://metrics HTTP/1.1\r\n\r\n", "404"},
      {"GET ftp://x/metrics HTTP/1.1\r\n\r\n", "404"},
      {"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405"},
      {"HEAD /metrics HTTP/1.1\r\n\r\n", "405"},
      {"nonsense\r\n\r\n", "400"},
      {"GET /metrics\r\n\r\n", "400"},
      {"GET /metrics SPDY/3\r\n\r\n", "400"},
      {"\r\n\r\n", "400"},
      {"GET /metrics HTTP/1.1\r\nX: " + std::string(2 * HttpServer::kMaxHead, 'x'), "431"},
  };
  for (const auto& [request, status] : rows)
    EXPECT_TRUE(exchange({request}).starts_with("HTTP/1.1 " + status + " ")) << request.substr(0, 40) << got;
  EXPECT_EQ(asked, 0);
}

struct ImpatientHttp : Http {
  ImpatientHttp() { patience = base::milliseconds(20); }
};
TEST_F(ImpatientHttp, WhoDoesNotFinishIsSentAway) { EXPECT_EQ(exchange({"GET /metrics"}), ""); }

TEST_F(Http, SilentVisitorsAreInNobodysWay) {
  std::vector<DialHandle> dialing;
  std::vector<std::shared_ptr<Stream>> silent;
  size_t closed = 0;
  DialOptions where;
  where.address = server->bound_address();
  constexpr size_t kMany = 3 * HttpServer::kMaxConnections;
  for (size_t i = 0; i < kMany; ++i)
    dialing.push_back(dial(loop, where, [&](auto connected) {
      ASSERT_TRUE(connected);
      silent.push_back(*connected);
      silent.back()->on_data([](std::string_view) {});
      silent.back()->on_closed([&](const std::string&) { ++closed; });
    }));
  ASSERT_TRUE(loop.run_until([&] { return silent.size() == kMany && closed >= kMany - HttpServer::kMaxConnections; },
                             base::seconds(20)));
  EXPECT_TRUE(exchange({"GET /metrics HTTP/1.1\r\n\r\n"}).starts_with("HTTP/1.1 200 "));
  EXPECT_LE(closed, kMany - HttpServer::kMaxConnections + 1) << "no more than need be";
}

TEST(HttpServer, AddressInUse) {
  Loop loop;
  auto first = HttpServer::open(loop, "127.0.0.1:0", {});
  ASSERT_TRUE(first);
  EXPECT_FALSE(HttpServer::open(loop, (*first)->bound_address(), {}));
}

}  // namespace
}  // namespace gw::io
