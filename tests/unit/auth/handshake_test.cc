// The handshake, both sides without I/O: success, and each refusal with its own message.
#include "auth/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "auth/testing/fake_authenticator.h"

namespace gw::auth {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

constexpr uint32_t kServerUid = 990;
const std::string kName = "hpc/gctld";

/// A user's host, the server's host, and a handshake between them.
struct World {
  FakeAuthenticator user, server;
  NonceMemory nonces;
  uint32_t receiver_uid = kServerUid;
  std::string receiver = kName;
  VersionRange client_versions{1, 3}, server_versions{2, 4};
  Role role = Role::kClient;

  World() { server.uid = kServerUid; }
  ClientHandshake client() { return {receiver, role, client_versions}; }
  ServerHandshake make_server() { return {kName, server_versions, nonces}; }
  base::Result<std::string> hello(ClientHandshake& c) {
    GW_TRY(credential, user.encode(c.credential_payload(), receiver_uid));
    return c.hello(credential);
  }
  base::Result<std::string> answer(ServerHandshake& s, const std::string& hello) {
    GW_TRY(claim, s.on_hello(hello));
    return s.on_answer(claim.answer(server.decode(claim.credential())));
  }
  /// What is wrong with a hello; "accepted" if nothing is.
  std::string fault(ServerHandshake& s, const std::string& hello_text) {
    const auto reply = answer(s, hello_text);
    return reply ? "accepted" : reply.error().what;
  }
  /// What the client's user sees when the handshake fails.
  base::Error error() {
    auto c = client();
    const auto text = hello(c);
    if (!text) return text.error();
    auto s = make_server();
    const auto reply = answer(s, *text);
    const auto done = c.on_answer(reply ? *reply : refusal(reply.error()));
    return done ? base::Error{ErrorCode::kInternal, "no error at all", ""} : done.error();
  }
};

TEST(Handshake, BothSidesKnowEachOtherAfterwards) {
  World w;
  w.user.uid = 1234;
  w.user.gid = 56;
  w.role = Role::kNode;
  auto c = w.client();
  auto s = w.make_server();
  const auto answer = w.answer(s, *w.hello(c));
  ASSERT_TRUE(answer) << answer.error().text();
  auto done = c.on_answer(*answer);
  ASSERT_TRUE(done) << done.error().text();
  auto session = s.on_finish(done->finish);
  ASSERT_TRUE(session) << session.error().text();
  EXPECT_EQ(s.uid(), 1234u);
  EXPECT_EQ(s.gid(), 56u);
  EXPECT_EQ(s.role(), Role::kNode);
  EXPECT_EQ(session->version, 3);
  EXPECT_EQ(done->session.version, 3);
  EXPECT_EQ(session->stream.open(done->session.stream.seal("question"))->plain, "question");
  EXPECT_EQ(done->session.stream.open(session->stream.seal("answer"))->plain, "answer");
}

TEST(Handshake, WrongKey) {
  World w;
  w.user.key = "other";
  EXPECT_THAT(w.error().what, HasSubstr("another key"));
  EXPECT_EQ(w.error().code, ErrorCode::kDenied);
}

TEST(Handshake, Expired) {
  World w;
  w.server.now = w.user.now + base::seconds(301);
  EXPECT_THAT(w.error().what, HasSubstr("expired"));
}

TEST(Handshake, ClockAhead) {
  World w;
  w.user.now = w.server.now + base::seconds(301);
  EXPECT_THAT(w.error().what, HasSubstr("future"));
}

TEST(Handshake, StoppedMungedOnEitherSide) {
  World w;
  w.user.is_stopped = true;
  EXPECT_EQ(w.error().code, ErrorCode::kUnavailable);
  World v;
  v.server.is_stopped = true;
  EXPECT_EQ(v.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(v.error().hint, "start it");
}

TEST(Handshake, WrongReceiverUid) {
  World w;
  w.receiver_uid = 991;
  EXPECT_THAT(w.error().what, HasSubstr("another uid"));
}

TEST(Handshake, WrongReceiverNameNamesBoth) {
  World w;
  w.receiver = "other/gctld";
  EXPECT_THAT(w.error().what, HasSubstr("\"other/gctld\""));
  EXPECT_THAT(w.error().what, HasSubstr("\"hpc/gctld\""));
}

TEST(Handshake, VersionMismatchNamesBothRanges) {
  World w;
  w.client_versions = {5, 6};
  EXPECT_THAT(w.error().what, HasSubstr("the client speaks 5 to 6, the server 2 to 4"));
  EXPECT_EQ(w.error().code, ErrorCode::kProtocol);
  EXPECT_EQ(w.server.decodes, 0) << "not worth a MUNGE call";
  w.client_versions = {1, 1};
  EXPECT_THAT(w.error().what, HasSubstr("the client speaks 1, the server 2 to 4"));
}

TEST(Handshake, ReplayIsNoticedByMunge) {
  World w;
  auto c = w.client();
  const auto hello = *w.hello(c);
  auto first = w.make_server();
  ASSERT_TRUE(w.answer(first, hello));
  auto second = w.make_server();
  EXPECT_THAT(w.fault(second, hello), HasSubstr("used before"));
}

TEST(Handshake, ReplayAfterARestartOfMungedIsNoticedByTheNonce) {
  World w;
  w.server.allows_replay = true;
  auto c = w.client();
  const auto hello = *w.hello(c);
  auto first = w.make_server();
  ASSERT_TRUE(w.answer(first, hello));
  auto second = w.make_server();
  EXPECT_THAT(w.fault(second, hello), HasSubstr("received before"));
}

TEST(Handshake, ReplayThatPassesGivesNoSession) {
  World w;
  w.server.allows_replay = true;
  auto c = w.client();
  const auto hello = *w.hello(c);
  NonceMemory fresh;  // a controller that was restarted as well
  auto first = w.make_server();
  const auto done = c.on_answer(*w.answer(first, hello));
  ServerHandshake second(kName, w.server_versions, fresh);
  ASSERT_TRUE(w.answer(second, hello));
  EXPECT_FALSE(second.on_finish(done->finish));
}

TEST(Handshake, AnyChangedByteOfHelloIsRefused) {
  World probe;
  auto any = probe.client();
  const size_t size = probe.hello(any)->size();
  for (size_t i = 0; i < size; ++i) {
    World w;
    auto c = w.client();
    auto hello = *w.hello(c);
    ASSERT_LE(hello.size(), size + 4);
    if (i >= 13 && i < 60) continue;  // the fake credential's own text, which it does not protect
    hello[i] = static_cast<char>(hello[i] ^ 1);
    auto s = w.make_server();
    const auto answer = w.answer(s, hello);
    if (!answer) continue;
    const auto done = c.on_answer(*answer);
    EXPECT_FALSE(done) << "byte " << i;
  }
}

TEST(Handshake, RoleCannotBeChangedOnTheWay) {
  World w;
  auto c = w.client();
  auto hello = *w.hello(c);
  hello[12] = static_cast<char>(Role::kNode);
  auto s = w.make_server();
  EXPECT_THAT(w.fault(s, hello), HasSubstr("changed on its way"));
}

TEST(Handshake, AnyChangedByteOfAcceptIsRefused) {
  World probe;
  auto any = probe.client();
  auto server = probe.make_server();
  const size_t size = probe.answer(server, *probe.hello(any))->size();
  for (size_t i = 0; i < size; ++i) {
    World w;
    auto c = w.client();
    auto s = w.make_server();
    auto answer = *w.answer(s, *w.hello(c));
    answer[i] = static_cast<char>(answer[i] ^ 1);
    auto done = c.on_answer(answer);
    if (!done) continue;  // a changed stream header shows only with the first message
    auto session = s.on_finish(done->finish);
    ASSERT_TRUE(session) << "byte " << i;
    EXPECT_FALSE(done->session.stream.open(session->stream.seal("x"))) << "byte " << i;
  }
}

TEST(Handshake, AServerThatCannotDecodeCannotAnswer) {
  World w;
  auto c = w.client();
  const auto hello = *w.hello(c);
  // An impostor makes its own client's hello, answers that, and sends the answer to the real client.
  World impostor;
  auto own = impostor.client();
  auto s = impostor.make_server();
  const auto answer = *impostor.answer(s, *impostor.hello(own));
  const auto done = c.on_answer(answer);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kDenied);
  EXPECT_THAT(done.error().what, HasSubstr("could not read the credential"));
}

TEST(Handshake, CutMessagesNeverCrashAndNeverPass) {
  World w;
  auto c = w.client();
  const auto hello = *w.hello(c);
  for (size_t n = 0; n <= 13; ++n) {
    auto s = w.make_server();
    EXPECT_FALSE(s.on_hello(hello.substr(0, n))) << n;
  }
  auto s = w.make_server();
  const auto answer = *w.answer(s, hello);
  for (size_t n = 0; n < answer.size(); ++n) EXPECT_FALSE(c.on_answer(answer.substr(0, n))) << n;
  const auto done = c.on_answer(answer);
  for (size_t n = 0; n < done->finish.size(); ++n) {
    World v;
    auto vc = v.client();
    auto vs = v.make_server();
    const auto finish = vc.on_answer(*v.answer(vs, *v.hello(vc)))->finish;
    EXPECT_FALSE(vs.on_finish(finish.substr(0, n))) << n;
  }
}

TEST(Handshake, GarbageInTheCredentialIsRefused) {
  World w;
  for (const std::string& payload :
       {std::string(), std::string("GWK1"), std::string(200, 'x'), std::string("GWK1") + std::string(96, 'x')}) {
    auto s = w.make_server();
    auto c = w.client();
    const auto hello = c.hello(*w.user.encode(payload, kServerUid));
    EXPECT_THAT(w.fault(s, hello), HasSubstr("not made for a Gangway handshake"));
  }
}

TEST(Handshake, RefusalTextIsMadePrintable) {
  World w;
  auto c = w.client();
  (void)w.hello(c);
  const auto shown = c.on_answer(refusal({ErrorCode::kDenied, "no\x1b[2J\n", "hint"})).error();
  EXPECT_EQ(shown.what.find('\x1b'), std::string::npos);
  EXPECT_EQ(shown.code, ErrorCode::kDenied);
  const auto garbage = c.on_answer("R").error();
  EXPECT_EQ(garbage.code, ErrorCode::kProtocol);
}

TEST(NonceMemory, ForgetsAfterExpiryAndStaysBounded) {
  NonceMemory memory(3);
  const auto nonce = [](char c) { return std::string(32, c); };
  const base::Time t{1'000'000};
  EXPECT_TRUE(memory.insert(nonce('a'), t, t + base::seconds(10)));
  EXPECT_FALSE(memory.insert(nonce('a'), t + base::seconds(10), t + base::seconds(20)));
  EXPECT_TRUE(memory.insert(nonce('a'), t + base::seconds(11), t + base::seconds(20)));
  for (char c = 'b'; c < 'k'; ++c) {
    EXPECT_TRUE(memory.insert(nonce(c), t, t + base::seconds(99)));
    EXPECT_LE(memory.size(), 3u);
  }
}

}  // namespace
}  // namespace gw::auth
