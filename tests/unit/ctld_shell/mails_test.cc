// Mails on their way to gscriptd: their order, whose turn it is, how many wait, and what becomes of them when it goes.
#include "ctld/shell/scripts/mails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/ctld_shell/fake_gscriptd.h"

namespace gw::ctld {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MailsTest : public testing::Test {
 protected:
  void send(uint32_t uid, const std::string& subject) {
    mails.send({uid, "ann", subject, "text", {{"SLURM_JOB_ID", "7"}}}, base::Time{1'000'000'000});
  }
  void wait_for(size_t count) {
    ASSERT_TRUE(loop.run_until([&] { return gscriptd.got.size() >= count; }, base::seconds(20))) << gscriptd.got.size();
  }
  /// Answers each that comes, until there have been `count`; their subjects.
  std::vector<std::string> answer_all(size_t count) {
    std::vector<std::string> subjects;
    for (size_t i = 0; i < count; ++i) {
      wait_for(i + 1);
      if (i >= gscriptd.got.size()) break;
      subjects.push_back(gscriptd.got[i].mail().subject());
      gscriptd.answer(gscriptd.got[i]);
    }
    return subjects;
  }
  ~MailsTest() override { std::filesystem::remove(path); }

  std::string path = testing::TempDir() + "mails." + std::to_string(::getpid());
  io::Loop loop;
  FakeGscriptd gscriptd{loop, path};
  Mails mails{loop, path};
};

TEST_F(MailsTest, OfOneUserComeInTheirOrderAndUsersInTurn) {
  for (const char* subject : {"a1", "a2", "a3"}) send(1, subject);
  for (const char* subject : {"b1", "b2"}) send(2, subject);
  wait_for(2);
  EXPECT_EQ(gscriptd.got.size(), 2u) << "one of each user is under way";
  EXPECT_THAT(answer_all(5), ElementsAre("a1", "b1", "a2", "b2", "a3"));
}

TEST_F(MailsTest, WhatAUserHasWaitingIsBounded) {
  for (size_t i = 0; i < 3 * Mails::kMostOfUser; ++i) send(1, "flood");
  send(2, "other");
  answer_all(Mails::kMostOfUser + 1);
  loop.run_until([] { return false; }, base::milliseconds(50));
  EXPECT_EQ(gscriptd.got.size(), Mails::kMostOfUser + 1);
  EXPECT_EQ(gscriptd.got[1].mail().subject(), "other");
}

TEST_F(MailsTest, FewAreUnderWayAtOnce) {
  for (uint32_t uid = 1; uid <= 3 * Mails::kMostUnderWay; ++uid) send(uid, "one");
  wait_for(Mails::kMostUnderWay);
  loop.run_until([] { return false; }, base::milliseconds(50));
  EXPECT_EQ(gscriptd.got.size(), Mails::kMostUnderWay);
  answer_all(3 * Mails::kMostUnderWay);
}

TEST_F(MailsTest, AReloadComesBeforeThem) {
  mails.reload();
  send(1, "later");
  wait_for(2);
  EXPECT_TRUE(gscriptd.got[0].reload());
  EXPECT_EQ(gscriptd.got[1].mail().subject(), "later");
}

// One that may have been sent is not sent again; the next one is.
TEST_F(MailsTest, AreHandedOnOnce) {
  send(1, "first");
  send(1, "second");
  wait_for(1);
  gscriptd.leave();
  wait_for(2);
  EXPECT_EQ(gscriptd.got[1].mail().subject(), "second");
}

}  // namespace
}  // namespace gw::ctld
