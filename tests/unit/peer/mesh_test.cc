// Nodes of a step over loopback: messages both ways, and those who do not belong there.
#include "peer/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace gw::peer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

auth::SessionKey secret(unsigned char first) {
  auth::SessionKey key;
  std::iota(key.bytes.begin(), key.bytes.end(), first);
  return key;
}

struct Node {
  Node(io::Loop& loop, MeshOptions options) {
    auto opened = Mesh::open(
        loop, std::move(options),
        [this](uint32_t from, std::string message) {
          messages.push_back(std::to_string(from) + ":" + (message.size() < 100 ? message : "long"));
          last = std::move(message);
        },
        [this](uint32_t node, const base::Error& reason) {
          lost.push_back(node);
          reasons += reason.text() + "\n";
        });
    EXPECT_TRUE(opened.has_value());
    mesh = std::move(*opened);
  }
  std::vector<std::string> messages;
  std::string last;
  std::vector<uint32_t> lost;
  std::string reasons;
  std::unique_ptr<Mesh> mesh;
};

class Meshes : public ::testing::Test {
 protected:
  io::Loop loop;
  std::vector<std::unique_ptr<Node>> nodes;

  MeshOptions options(uint32_t self, uint32_t count) {
    MeshOptions o;
    o.identity = {secret(1), "test", self, count};
    o.listen = "127.0.0.1:0";
    return o;
  }
  void make(uint32_t count, const std::function<void(MeshOptions&)>& change = {}) {
    std::vector<std::string> addresses;
    for (uint32_t i = 0; i < count; ++i) {
      MeshOptions o = options(i, count);
      if (change) change(o);
      nodes.push_back(std::make_unique<Node>(loop, std::move(o)));
      addresses.push_back(nodes.back()->mesh->address());
    }
    for (const auto& node : nodes) ASSERT_TRUE(node->mesh->set_addresses(addresses));
  }
  Node& at(size_t i) { return *nodes[i]; }
  bool wait(const std::function<bool()>& done) { return loop.run_until(done, base::seconds(30)); }
};

TEST_F(Meshes, MessagesArriveInOrderAlsoWhereBothDialAtOnce) {
  make(3);
  for (int i = 0; i < 3; ++i) {
    at(0).mesh->send(1, "a" + std::to_string(i));
    at(1).mesh->send(0, "b" + std::to_string(i));
  }
  at(2).mesh->send(0, "");
  ASSERT_TRUE(wait([&] { return at(0).messages.size() == 4 && at(1).messages.size() == 3; }));
  EXPECT_THAT(at(1).messages, ElementsAre("0:a0", "0:a1", "0:a2"));
  std::erase(at(0).messages, "2:");
  EXPECT_THAT(at(0).messages, ElementsAre("1:b0", "1:b1", "1:b2"));
  at(0).mesh->send(2, "on the link that came");
  ASSERT_TRUE(wait([&] { return !at(2).messages.empty(); }));
  EXPECT_TRUE(at(0).lost.empty() && at(1).lost.empty() && at(2).lost.empty());
}

TEST_F(Meshes, LongMessagesArriveWhole) {
  make(2);
  std::string text(5'000'000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 256);
  at(0).mesh->send(1, text);
  ASSERT_TRUE(wait([&] { return !at(1).messages.empty(); }));
  EXPECT_TRUE(at(1).last == text);
}

TEST_F(Meshes, OneThatIsTooLongEndsTheLink) {
  make(2, [](MeshOptions& o) { o.max_message = 1000; });
  at(0).mesh->send(1, std::string(1001, 'x'));
  ASSERT_TRUE(wait([&] { return !at(0).lost.empty() && !at(1).lost.empty(); }));
  EXPECT_TRUE(at(1).messages.empty());
  EXPECT_THAT(at(1).reasons, HasSubstr("1000 bytes"));
}

TEST_F(Meshes, WhatWaitsIsBounded) {
  make(2, [](MeshOptions& o) { o.max_waiting = 1000; });
  at(0).mesh->send(1, std::string(600, 'x'));
  at(0).mesh->send(1, std::string(600, 'x'));
  ASSERT_TRUE(wait([&] { return !at(0).lost.empty(); }));
  EXPECT_THAT(at(0).reasons, HasSubstr("too much waits"));
}

TEST_F(Meshes, ANodeThatGoesIsToldOfOnce) {
  make(2);
  at(0).mesh->send(1, "there?");
  at(1).mesh->send(0, "yes");
  ASSERT_TRUE(wait([&] { return !at(1).messages.empty() && !at(0).messages.empty(); }));
  at(1).mesh.reset();
  ASSERT_TRUE(wait([&] { return !at(0).lost.empty(); }));
  at(0).mesh->send(1, "still there?");
  EXPECT_FALSE(loop.run_until([&] { return at(0).lost.size() > 1; }, base::milliseconds(50)));
  EXPECT_THAT(at(0).lost, ElementsAre(1u));
}

TEST_F(Meshes, NobodyIsThere) {
  make(2);
  at(1).mesh.reset();
  at(0).mesh->send(1, "there?");
  ASSERT_TRUE(wait([&] { return !at(0).lost.empty(); }));
}

TEST_F(Meshes, AnotherSecretAnotherPurposeAndGarbageGetNowhere) {
  make(2);
  std::vector<std::string> addresses{at(0).mesh->address(), at(1).mesh->address()};
  for (const bool has_secret : {false, true}) {
    MeshOptions o = options(0, 2);
    if (!has_secret) o.identity.secret = secret(2);
    if (has_secret) o.identity.purpose = "another";
    Node stranger(loop, std::move(o));
    ASSERT_TRUE(stranger.mesh->set_addresses(addresses));
    stranger.mesh->send(1, "let me in");
    ASSERT_TRUE(wait([&] { return !stranger.lost.empty(); }));
  }
  std::shared_ptr<io::Stream> stream;
  bool is_closed = false;
  const auto dial = io::dial(loop, {addresses[1], {}}, [&](base::Result<std::shared_ptr<io::Stream>> dialled) {
    stream = *dialled;
    stream->on_closed([&](const std::string&) { is_closed = true; });
    stream->on_data([](std::string_view) {});
    stream->send("GET / HTTP/1.0\r\n\r\n");
  });
  ASSERT_TRUE(wait([&] { return is_closed; }));
  EXPECT_TRUE(at(1).messages.empty());
  at(0).mesh->send(1, "still served");
  ASSERT_TRUE(wait([&] { return !at(1).messages.empty(); }));
}

TEST_F(Meshes, StrangersDoNotKeepOthersOut) {
  make(2, [](MeshOptions& o) { o.max_unproved = 3; });
  std::vector<std::shared_ptr<io::Stream>> streams;
  std::vector<io::DialHandle> dials;
  for (int i = 0; i < 10; ++i)
    dials.push_back(io::dial(loop, {at(1).mesh->address(), {}},
                             [&](base::Result<std::shared_ptr<io::Stream>> s) { streams.push_back(*s); }));
  ASSERT_TRUE(wait([&] { return streams.size() == 10; }));
  at(0).mesh->send(1, "here");
  ASSERT_TRUE(wait([&] { return !at(1).messages.empty(); }));
}

TEST(Handshake, RecordedMessagesProveNothing) {
  const Identity a{secret(1), "test", 0, 3}, b{secret(1), "test", 1, 3};
  const DialerHandshake dialer(a, 1);
  AnswerHandshake first(b), second(b);
  const auto accept = first.on_hello(dialer.hello());
  ASSERT_TRUE(accept);
  const auto finished = dialer.on_accept(*accept);
  ASSERT_TRUE(finished);
  ASSERT_TRUE(second.on_hello(dialer.hello()));
  EXPECT_FALSE(second.on_finish(finished->message));
  EXPECT_TRUE(first.on_finish(finished->message));
  EXPECT_EQ(first.peer(), 0u);
}

TEST(Handshake, AHelloForAnotherNodeOrFromNobodyIsRefused) {
  const Identity a{secret(1), "test", 0, 3}, b{secret(1), "test", 1, 3}, none{secret(1), "test", 7, 3};
  EXPECT_FALSE(AnswerHandshake(b).on_hello(DialerHandshake(a, 2).hello()));
  EXPECT_FALSE(AnswerHandshake(b).on_hello(DialerHandshake(none, 1).hello()));
  EXPECT_FALSE(AnswerHandshake(b).on_hello(DialerHandshake(b, 1).hello()));
  EXPECT_FALSE(AnswerHandshake(b).on_finish(std::string(56, 'x')));
}

TEST(Handshake, AHelloProvesTheSecret) {
  const Identity a{secret(1), "test", 0, 3}, b{secret(1), "test", 1, 3};
  const Identity guess{secret(2), "test", 0, 3}, other{secret(1), "another", 0, 3};
  std::string hello = DialerHandshake(a, 1).hello();
  EXPECT_EQ(hello.size(), kHelloBytes);
  EXPECT_TRUE(check_hello(b, hello));
  for (const Identity& stranger : {guess, other}) {
    const std::string said = DialerHandshake(stranger, 1).hello();
    EXPECT_EQ(check_hello(b, said).error().code, base::ErrorCode::kDenied);
    EXPECT_EQ(AnswerHandshake(b).on_hello(said).error().code, base::ErrorCode::kDenied);
  }
  EXPECT_EQ(check_hello(b, hello.substr(1)).error().code, base::ErrorCode::kProtocol);
  EXPECT_EQ(check_hello(b, {}).error().code, base::ErrorCode::kProtocol);
  hello[20] = static_cast<char>(hello[20] ^ 1);
  EXPECT_FALSE(check_hello(b, hello));
}

TEST(Handshake, AChangedAnswerIsNoticed) {
  const Identity a{secret(1), "test", 0, 3}, b{secret(1), "test", 1, 3};
  const DialerHandshake dialer(a, 1);
  AnswerHandshake answer(b);
  std::string accept = *answer.on_hello(dialer.hello());
  accept[40] = static_cast<char>(accept[40] ^ 1);
  EXPECT_FALSE(dialer.on_accept(accept));
  EXPECT_FALSE(dialer.on_accept(accept.substr(1)));
}

}  // namespace
}  // namespace gw::peer
