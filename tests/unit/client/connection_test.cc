// Retries over a scripted channel, with a clock that only sleep() moves.
#include "client/conn/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace gw::client {
namespace {

using base::Duration;
using base::ErrorCode;

/// A controller that follows a script: each step answers one dial or one request.
struct Script {
  Duration now{};
  std::deque<bool> dials;  ///< Does the next dial succeed? Empty: yes.
  std::deque<std::function<base::Result<std::string>(const wire::ApiRequest&)>> answers;
  std::vector<wire::ApiRequest> seen;
  int dialled = 0;
};

class FakeChannel final : public Channel {
 public:
  explicit FakeChannel(Script& script) : script_(script) {}
  base::Status send(std::string_view message, Duration) override {
    wire::ApiRequest request;
    EXPECT_TRUE(request.ParseFromArray(message.data(), static_cast<int>(message.size())));
    script_.seen.push_back(request);
    return {};
  }
  base::Result<std::string> receive(Duration patience) override {
    if (script_.answers.empty()) {
      script_.now = script_.now + patience;
      return base::fail(ErrorCode::kTimeout, "nothing came");
    }
    auto answer = script_.answers.front();
    script_.answers.pop_front();
    return answer(script_.seen.back());
  }

 private:
  Script& script_;
};

Connection make(Script& script, Duration timeout, uint32_t verbose = 0) {
  Dialer dialer = [&script](Duration) -> base::Result<std::unique_ptr<Channel>> {
    ++script.dialled;
    bool up = true;
    if (!script.dials.empty()) {
      up = script.dials.front();
      script.dials.pop_front();
    }
    if (!up) return base::fail(ErrorCode::kUnavailable, "connection refused");
    return std::make_unique<FakeChannel>(script);
  };
  return Connection({"gtest", false, verbose}, "host:1", timeout, dialer,
                    {[&script] { return script.now; }, [&script](Duration d) { script.now = script.now + d; }});
}

base::Result<std::string> ok(const wire::ApiRequest& request) {
  wire::ApiReply reply;
  reply.set_id(request.id());
  reply.mutable_submit()->set_job_id(5);
  return reply.SerializeAsString();
}
base::Result<std::string> lost(const wire::ApiRequest&) {
  return base::fail(ErrorCode::kUnavailable, "the controller closed the connection");
}
base::Result<std::string> denied(const wire::ApiRequest& request) {
  wire::ApiReply reply;
  reply.set_id(request.id());
  reply.mutable_error()->set_code(static_cast<uint32_t>(ErrorCode::kUnavailable));
  reply.mutable_error()->set_what("the disk is full");
  return reply.SerializeAsString();
}

wire::ApiRequest submit() {
  wire::ApiRequest request;
  request.mutable_submit();
  return request;
}

TEST(Connection, ARetryAfterALostAnswerKeepsTheClientId) {
  Script script;
  script.answers = {lost, ok};
  Connection connection = make(script, base::seconds(10));
  auto reply = connection.call(submit());
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(reply->submit().job_id(), 5u);
  ASSERT_EQ(script.seen.size(), 2u);
  EXPECT_EQ(script.dialled, 2);
  EXPECT_FALSE(script.seen[0].client_id().empty());
  EXPECT_EQ(script.seen[0].client_id(), script.seen[1].client_id());
}

TEST(Connection, TwoRequestsHaveTwoClientIds) {
  Script script;
  script.answers = {ok, ok};
  Connection connection = make(script, base::seconds(10));
  ASSERT_TRUE(connection.call(submit()).has_value());
  ASSERT_TRUE(connection.call(submit()).has_value());
  EXPECT_NE(script.seen[0].client_id(), script.seen[1].client_id());
  EXPECT_EQ(script.dialled, 1);
}

/// It was in contact all the time: the controller is started anew after an hour.
TEST(Connection, WhoHasWaitedForLongIsPatientOnceTheConnectionIsLost) {
  Script script;
  script.answers = {[&script](const wire::ApiRequest& request) {
                      script.now = script.now + base::hours(1);
                      return lost(request);
                    },
                    ok};
  script.dials = {true, false, false, true};
  Connection connection = make(script, base::seconds(10));
  wire::ApiRequest request;
  request.mutable_wait_job()->set_id(5);
  auto reply = connection.call(request);
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(script.dialled, 4);
  script.answers.assign(1, [&script](const wire::ApiRequest& asked) {
    script.now = script.now + base::hours(1);
    return lost(asked);
  });
  script.dials.assign(1'000, false);
  const Duration before = script.now;
  EXPECT_FALSE(connection.call(request).has_value()) << "it stays away";
  EXPECT_GE(script.now - before, base::hours(1) + base::seconds(10));
}

TEST(Connection, WhoseConnectionIsLostAtOnceIsNotPatientForEver) {
  Script script;
  script.answers.assign(10'000, lost);
  Connection connection = make(script, base::seconds(10));
  wire::ApiRequest request;
  request.mutable_wait_job()->set_id(5);
  EXPECT_FALSE(connection.call(request).has_value());
}

TEST(Connection, WhatTheControllerRefusesIsNotTriedAgain) {
  Script script;
  script.answers = {denied, ok};
  Connection connection = make(script, base::seconds(10));
  auto reply = connection.call(submit());
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().what, "the disk is full");
  EXPECT_EQ(script.seen.size(), 1u);
}

TEST(Connection, RequestsAreToldOnlyToThoseWhoAskTwice) {
  for (const uint32_t verbose : {1U, 2U}) {
    Script script;
    script.answers = {ok, denied};
    Connection connection = make(script, base::seconds(10), verbose);
    testing::internal::CaptureStderr();
    ASSERT_TRUE(connection.call(submit()).has_value());
    ASSERT_FALSE(connection.call(submit()).has_value());
    const std::string said = testing::internal::GetCapturedStderr();
    if (verbose == 1) EXPECT_EQ(said, "");
    if (verbose == 2)
      EXPECT_THAT(said, testing::MatchesRegex("(gtest: debug:  asking host:1: submit, [0-9]+ bytes\n"
                                              "gtest: debug:  host:1: submit was answered by [0-9]+ bytes after "
                                              "0\\.0 ms\n){2}"));
  }
}

TEST(Connection, SaysAfterASecondThatItWaitsAndGivesUpInTheEnd) {
  Script script;
  script.dials.assign(1000, false);
  Connection connection = make(script, base::seconds(10));
  testing::internal::CaptureStderr();
  auto reply = connection.call(submit());
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(said, "gtest: waiting for controller host:1: connection refused\n");
  EXPECT_EQ(reply.error().what, "Unable to contact the controller at host:1: connection refused");
  EXPECT_EQ(script.now, base::seconds(10));
}

TEST(Connection, ASilentControllerIsWaitedForToTheEnd) {
  Script script;
  Connection connection = make(script, base::seconds(5));
  testing::internal::CaptureStderr();
  auto reply = connection.call(submit());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "gtest: waiting for controller host:1: no answer yet\n");
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, ErrorCode::kTimeout);
}

TEST(Connection, AnswersToEarlierRequestsArePassedOver) {
  Script script;
  script.answers = {[](const wire::ApiRequest& r) -> base::Result<std::string> {
                      wire::ApiReply reply;
                      reply.set_id(r.id() + 100);
                      return reply.SerializeAsString();
                    },
                    ok};
  Connection connection = make(script, base::seconds(5));
  auto reply = connection.call(submit());
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->submit().job_id(), 5u);
}

TEST(Connection, GarbageEndsIt) {
  Script script;
  script.answers = {[](const wire::ApiRequest&) -> base::Result<std::string> { return "\xff\xff"; }};
  Connection connection = make(script, base::seconds(5));
  auto reply = connection.call(submit());
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, ErrorCode::kProtocol);
}

TEST(Uuid, IsRandomAndWellFormed) {
  const std::string a = make_uuid(), b = make_uuid();
  EXPECT_NE(a, b);
  EXPECT_EQ(a.size(), 36u);
  EXPECT_EQ(a[14], '4');
}

base::Result<std::string> not_now(const wire::ApiRequest& request) {
  wire::ApiReply reply;
  reply.set_id(request.id());
  reply.mutable_error()->set_code(static_cast<uint32_t>(ErrorCode::kUnavailable));
  reply.mutable_error()->set_what("too many requests");
  reply.mutable_error()->set_hint("retry after 2 s");
  reply.mutable_error()->set_retry_after_ms(1500);
  return reply.SerializeAsString();
}

TEST(Connection, WhoIsToldWhenToComeAgainWaitsAndKeepsTheClientId) {
  Script script;
  script.answers = {not_now, not_now, ok};
  Connection connection = make(script, base::seconds(10));
  testing::internal::CaptureStderr();
  auto reply = connection.call(submit());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gtest: waiting for controller host:1: too many requests (retry after 2 s)\n");
  ASSERT_TRUE(reply.has_value()) << reply.error().text();
  EXPECT_EQ(script.now, base::seconds(3));
  EXPECT_EQ(script.dialled, 1) << "the connection stays";
  ASSERT_EQ(script.seen.size(), 3u);
  EXPECT_EQ(script.seen[0].client_id(), script.seen[2].client_id());
}

TEST(Connection, WaitingAsToldEndsWithThePatience) {
  Script script;
  script.answers.assign(100, not_now);
  Connection connection = make(script, base::seconds(10));
  testing::internal::CaptureStderr();
  auto reply = connection.call(submit());
  testing::internal::GetCapturedStderr();
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().text(), "too many requests (retry after 2 s)");
  EXPECT_LT(script.now, base::seconds(10));
}

TEST(Connection, AListWithAPieceMissingIsAnError) {
  const auto piece = [](uint32_t number, bool more) {
    return [=](const wire::ApiRequest& request) -> base::Result<std::string> {
      wire::ApiReply reply;
      reply.set_id(request.id());
      reply.set_piece(number);
      reply.set_more(more);
      reply.mutable_list_jobs()->add_jobs()->set_id(number);
      return reply.SerializeAsString();
    };
  };
  wire::ApiRequest list;
  list.mutable_list_jobs();
  {
    Script script;
    script.answers = {piece(1, true), piece(2, true), piece(3, false)};
    auto reply = make(script, base::seconds(10)).call(list);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->list_jobs().jobs_size(), 3);
  }
  Script script;
  script.answers = {piece(1, true), piece(3, false)};
  auto reply = make(script, base::seconds(10)).call(list);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, ErrorCode::kProtocol);
}

}  // namespace
}  // namespace gw::client
