// Submissions on their way to the site's program and back: what comes of its answers, and what nobody waits for.
#include "ctld/shell/scripts/submit_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "tests/unit/ctld_shell/fake_gscriptd.h"

namespace gw::ctld {
namespace {

using testing::HasSubstr;

class SubmitHookTest : public testing::Test {
 protected:
  static config::Config config(const std::string& dir) {
    config::Config c;
    c.run_dir = dir;
    c.submit_program = "/etc/gangway/submit";
    return c;
  }
  SubmitHookTest() { std::filesystem::create_directories(dir_); }
  ~SubmitHookTest() override { std::filesystem::remove_all(dir_); }

  void ask(uint32_t uid = 1000, const std::string& name = "train") {
    wire::ApiRequest request;
    request.mutable_submit()->mutable_spec()->set_name(name);
    request.mutable_submit()->mutable_spec()->mutable_request()->set_tasks(1);
    request.mutable_submit()->set_script("#!/bin/sh\n");
    Caller caller;
    caller.uid = uid;
    caller.gid = 100;
    caller.user = "ann";
    caller.group = "users";
    hook_.ask(caller, request, [this](base::Result<wire::ApiRequest> seen) { results_.push_back(std::move(seen)); });
  }
  void wait_for_questions(size_t count) {
    ASSERT_TRUE(loop_.run_until([&] { return gscriptd_.got.size() >= count; }, base::seconds(20)));
  }
  const base::Result<wire::ApiRequest>& result() {
    loop_.run_until([&] { return !results_.empty(); }, base::seconds(20));
    return results_.at(0);
  }
  /// Asks, and has gscriptd answer with it.
  const base::Result<wire::ApiRequest>& after(const wire::FromScripts& answer) {
    ask();
    wait_for_questions(1);
    gscriptd_.answer(gscriptd_.got.at(0), answer);
    return result();
  }

  std::string dir_ = testing::TempDir() + "submit_hook." + std::to_string(::getpid());
  io::Loop loop_;
  config::Config config_ = config(dir_);
  std::vector<base::Result<wire::ApiRequest>> results_;
  FakeGscriptd gscriptd_{loop_, (std::filesystem::create_directories(dir_), config::script_socket(config_))};
  SubmitHook hook_{loop_, config_};
};

TEST_F(SubmitHookTest, AsksAboutWhoSubmitsAndTakesItAsItCame) {
  const auto& seen = after({});
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_EQ(seen->submit().spec().name(), "train");
  EXPECT_EQ(seen->submit().script(), "#!/bin/sh\n");
  const wire::ScriptSubmit& question = gscriptd_.got[0].submit();
  EXPECT_EQ(question.user(), "ann");
  EXPECT_EQ(question.jobs(0).uid(), 1000u) << "from the credential";
  EXPECT_TRUE(question.script_is_whole());
}

TEST_F(SubmitHookTest, TakesWhatTheAnswerMadeOfIt) {
  wire::FromScripts answer;
  answer.mutable_verdict()->add_jobs()->set_qos("low");
  answer.mutable_verdict()->set_tell("on the slow nodes");
  const auto& seen = after(answer);
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_EQ(seen->submit().spec().qos(), "low");
  EXPECT_EQ(seen->submit().site_note(), "on the slow nodes");
  EXPECT_EQ(seen->submit().script(), "#!/bin/sh\n");
}

TEST_F(SubmitHookTest, RefusesInTheProgramsWords) {
  wire::FromScripts answer;
  answer.mutable_verdict()->set_refusal("ask for fewer GPUs");
  const auto& seen = after(answer);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, base::ErrorCode::kDenied);
  EXPECT_EQ(seen.error().what, "ask for fewer GPUs");
}

TEST_F(SubmitHookTest, AProgramThatFailsRefusesUnlessTheConfigurationSaysOtherwise) {
  wire::FromScripts answer;
  answer.set_exit_code(3);
  answer.set_output("boom");
  const auto& seen = after(answer);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, base::ErrorCode::kInternal) << "to come again does not help";
  EXPECT_THAT(seen.error().what, HasSubstr("cannot look at it: boom"));
}

TEST_F(SubmitHookTest, AProgramThatFailsIsPassedByWhereThatIsWanted) {
  config_.submit_on_failure = "accept";
  hook_.set(config_);
  wire::FromScripts answer;
  answer.set_exit_code(3);
  const auto& seen = after(answer);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->submit().spec().name(), "train");
}

TEST_F(SubmitHookTest, WhatIsBeyondTheBoundsOfARequestIsNotTaken) {
  wire::FromScripts answer;
  answer.mutable_verdict()->add_jobs()->set_qos(std::string(1 << 20, 'x'));
  EXPECT_FALSE(after(answer));
}

TEST_F(SubmitHookTest, AnAnswerForAnotherNumberOfJobsIsNotTaken) {
  wire::FromScripts answer;
  answer.mutable_verdict()->add_jobs();
  answer.mutable_verdict()->add_jobs();
  EXPECT_FALSE(after(answer));
}

TEST_F(SubmitHookTest, WhatWasUnderWayWhenGscriptdEndedIsAskedAgainInItsOrder) {
  ask(1, "first");
  ask(1, "second");
  wait_for_questions(2);
  gscriptd_.leave();
  wait_for_questions(4);
  ASSERT_GE(gscriptd_.got.size(), 4u);
  EXPECT_EQ(gscriptd_.got[2].submit().jobs(0).name(), "first");
  EXPECT_EQ(gscriptd_.got[3].submit().jobs(0).name(), "second");
  gscriptd_.answer(gscriptd_.got[2]);
  EXPECT_TRUE(result());
}

TEST_F(SubmitHookTest, WhatIsTooLongIsNeitherAskedAboutNorLetBy) {
  wire::ApiRequest request;
  for (int i = 0; i < 128; ++i) request.mutable_submit()->add_components()->set_comment(std::string(120'000, 'x'));
  hook_.ask({}, request, [this](base::Result<wire::ApiRequest> seen) { results_.push_back(std::move(seen)); });
  ASSERT_FALSE(result());
  EXPECT_EQ(result().error().code, base::ErrorCode::kInvalid);
  EXPECT_TRUE(gscriptd_.got.empty());
}

TEST_F(SubmitHookTest, AProgramThatIsTakenAwayHoldsUpNothing) {
  ask();
  wait_for_questions(1);
  config_.submit_program.clear();
  hook_.set(config_);
  wire::FromScripts answer;
  answer.set_exit_code(-1);
  gscriptd_.answer(gscriptd_.got[0], answer);
  EXPECT_TRUE(result());
}

TEST_F(SubmitHookTest, OneUserHasFourLookedAtAtOnceAndOthersDoNotWaitForHim) {
  for (int i = 0; i < 20; ++i) ask(1);
  ask(2);
  wait_for_questions(5);
  loop_.run_until([] { return false; }, base::milliseconds(50));
  EXPECT_EQ(gscriptd_.got.size(), 5u);
  EXPECT_EQ(std::count_if(gscriptd_.got.begin(), gscriptd_.got.end(),
                          [](const wire::ToScripts& m) { return m.submit().uid() == 2; }),
            1);
}

TEST_F(SubmitHookTest, WhatAUserHasWaitingIsBounded) {
  for (size_t i = 0; i < SubmitHook::kMostOfUser + 10; ++i) ask(1);
  const auto& seen = result();
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, base::ErrorCode::kUnavailable) << "the client comes again by itself";
}

TEST(SubmitHookAlone, WithoutGscriptdTheAskerIsToldInTime) {
  io::Loop loop;
  config::Config config;
  config.run_dir = "/nonexistent";
  ScriptQueue::Bounds bounds;
  bounds.patience = base::milliseconds(10);
  ScriptQueue queue(loop, config::script_socket(config), "submission", bounds);
  std::optional<base::Error> error;
  ASSERT_TRUE(queue.add(1, {}, [&](const base::Result<wire::FromScripts>& answer) {
    if (!answer) error = answer.error();
  }));
  ASSERT_TRUE(loop.run_until([&] { return error.has_value(); }, base::seconds(20)));
  EXPECT_EQ(error->code, base::ErrorCode::kUnavailable);
  wire::ToScripts longest;
  longest.mutable_submit()->set_script(std::string(ScriptQueue::kMostBytes, 'x'));
  EXPECT_FALSE(queue.add(1, longest, [](const auto&) {})) << "no frame holds it";
  EXPECT_TRUE(queue.has_room_for(1));
}

}  // namespace
}  // namespace gw::ctld
