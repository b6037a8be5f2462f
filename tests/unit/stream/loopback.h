// A shepherd and its clients over loopback, with tickets of a controller that the test plays.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "io/loop.h"
#include "stream/client.h"
#include "stream/server.h"

namespace gw::stream {

constexpr base::Duration kTestLimit = base::seconds(100);

/// At most 64 KiB of a test's stream, from an offset on: it repeats after a prime number of bytes, which no buffer size
/// divides.
inline std::string_view pattern(uint64_t offset, size_t n) {
  constexpr size_t kPeriod = 65521, kLongest = 64 << 10;
  static const std::string table = [] {
    std::string bytes;
    uint32_t x = 1;
    for (size_t i = 0; i < kPeriod; ++i) bytes += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    return bytes + bytes + bytes;
  }();
  return std::string_view(table).substr(offset % kPeriod, std::min(n, kLongest));
}

/// A program at one end: sends `to_send` bytes of the pattern on `out`, checks what comes on `in`.
struct Program : Handler {
  Session* session = nullptr;
  ChannelId out = 0, in = 1;
  uint64_t to_send = 0, sent = 0, received = 0;
  size_t appetite = SIZE_MAX;  ///< Bytes taken before it takes no more.
  bool is_intact = true, has_ended = false, is_settled = false, is_closed = false;
  std::string reason;
  std::vector<Control> controls;
  std::function<void()> on_progress = [] {};

  /// Writes as much as there is room for.
  void produce() {
    while (sent < to_send) {
      const auto chunk = pattern(sent, to_send - sent);
      const size_t n = session->write(out, chunk);
      sent += n;
      if (n < chunk.size()) return;
    }
    session->end(out);
  }
  size_t on_bytes(ChannelId channel, std::string_view bytes) override {
    is_intact = is_intact && channel == in && !has_ended;
    bytes = bytes.substr(0, appetite);
    is_intact = is_intact && bytes == pattern(received, bytes.size());
    received += bytes.size();
    appetite -= bytes.size();
    on_progress();
    return bytes.size();
  }
  void on_end(ChannelId) override { has_ended = true; }
  void on_writable(ChannelId) override { produce(); }
  void on_control(const Control& control) override { controls.push_back(control); }
  void on_settled() override { is_settled = true; }
  void on_closed(const base::Error& error) override {
    is_closed = true;
    reason = error.text();
  }
};

/// The controller's key, a server, and what its programs do.
struct Shepherd {
  io::Loop loop;
  base::SystemClock clock;
  auth::SigningKey controller;
  auth::KeyPair key;
  std::unique_ptr<Server> server;
  std::vector<std::shared_ptr<Program>> programs;  ///< In order of arrival.
  std::function<void(Program&)> prepare = [](Program&) {};

  explicit Shepherd(ServerOptions options = {}) {
    options.address = "127.0.0.1:0";
    options.handshake_limit = kTestLimit;  // a machine that is busy may take its time
    options.step = {1000, 7, 0, 1, 0};
    options.controller_key = controller.public_key();
    auto opened = Server::open(loop, clock, key, options, [this](const auth::Ticket& ticket, Session& session) {
      return welcome(ticket, session);
    });
    EXPECT_TRUE(opened) << opened.error().text();
    server = std::move(*opened);
  }
  base::Result<std::shared_ptr<Handler>> welcome(const auth::Ticket&, Session& session) {
    const auto program = std::make_shared<Program>();
    program->session = &session;
    program->out = 1;
    program->in = 0;
    GW_TRY_STATUS(session.open_send(1));
    GW_TRY_STATUS(session.open_receive(0));
    programs.push_back(program);
    prepare(*program);
    program->produce();
    return std::shared_ptr<Handler>(program);
  }
  auth::Ticket ticket(const auth::KeyPair& bearer) const {
    auth::Ticket t;
    t.rights = auth::Rights::kFull;
    t.uid = 1000;
    t.job = 7;
    t.attempt = 1;
    t.expiry = clock.now() + auth::kTicketLife;
    t.client_key = bearer.public_key();
    t.nonce = auth::random_nonce();
    return t;
  }
  std::string signed_ticket(const auth::KeyPair& bearer) const { return sign_ticket(controller, ticket(bearer)); }
  ClientOptions client_options() const {
    ClientOptions o;
    o.address = server->bound_address();
    o.shepherd_key = key.public_key();
    o.attempt_limit = kTestLimit;
    o.first_delay = base::milliseconds(1);
    return o;
  }
  bool wait(const std::function<bool()>& done) { return loop.run_until(done, kTestLimit); }
};

/// A client with its program.
struct Visitor {
  auth::KeyPair key;
  std::shared_ptr<Program> program = std::make_shared<Program>();
  int tickets = 0, connections = 0;
  std::string last_problem;
  Client client;

  explicit Visitor(Shepherd& shepherd) : Visitor(shepherd, shepherd.client_options()) {}
  Visitor(Shepherd& shepherd, ClientOptions options)
      : client(shepherd.loop, key, options, [this, &shepherd](const Client::TicketFn& give) {
          ++tickets;
          give(shepherd.signed_ticket(key));
        }) {
    begin(shepherd);
  }
  Visitor(Shepherd& shepherd, Client::AskFn ask)
      : client(shepherd.loop, key, shepherd.client_options(), std::move(ask)) {
    begin(shepherd);
  }
  void begin(Shepherd&) {
    program->session = &client.session();
    EXPECT_TRUE(client.session().open_send(0));
    EXPECT_TRUE(client.session().open_receive(1));
    client.on_state([this](bool is_connected, const std::string& why) {
      connections += is_connected;
      if (!is_connected) last_problem = why;
    });
  }
  void start() {
    program->produce();
    client.start(program);
  }
};

}  // namespace gw::stream
