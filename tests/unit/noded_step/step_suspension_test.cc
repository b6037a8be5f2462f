// The suspension of a step, and what a shepherd says, without processes.
#include "noded/step/shepherd/step_suspension.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "fake_containment.h"
#include "harness.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded::step {
namespace {

using Done = std::vector<std::string>;

struct StandingScene {
  std::string dir;
  wire::StepSpec spec;
  FakeContainment* contain = new FakeContainment();  // of `processes`
  StepProcesses processes{std::unique_ptr<Containment>(contain)};
  std::optional<Announcements> announcements;
  std::optional<StepSuspension> suspension;

  StandingScene() {
    char name[] = "/tmp/gwstand.XXXXXX";
    dir = ::mkdtemp(name);
    spec.set_dir(dir);
    auto listener = listen_at(dir + "/sock");
    EXPECT_TRUE(listener);
    announcements.emplace(std::move(*listener), spec);
    suspension.emplace(spec, processes, *announcements);
  }
  ~StandingScene() { std::filesystem::remove_all(dir); }

  /// As the controller orders it; a signal of 0 is none.
  void suspend(uint32_t round, int signo, int64_t grace_us) {
    wire::Stop order;
    order.set_signo(static_cast<uint32_t>(signo));
    EXPECT_TRUE(record_order(dir, order));
    wire::StepSuspend request;
    request.set_round(round);
    request.set_grace_us(grace_us);
    suspension->suspend(request);
  }
  void resume(uint32_t round) {
    wire::StepResume request;
    request.set_round(round);
    suspension->resume(request);
  }
  /// What a daemon that connects now is told of the suspension.
  std::optional<wire::StepSuspended> told() {
    ShepherdPeer peer(dir + "/sock");
    announcements->accept();
    const bool is_helloed = peer.wait([](const wire::FromShepherd& m) { return m.has_hello(); }).has_value();
    EXPECT_TRUE(is_helloed);
    for (const wire::FromShepherd& message : peer.seen())
      if (message.has_suspended()) return message.suspended();
    return std::nullopt;
  }
  Done take_done() { return std::exchange(contain->done, {}); }
};

TEST(StepSuspension, StandsStillAtOnceWhereNobodyIsToBeWarned) {
  StandingScene s;
  s.suspend(1, 0, 60'000'000);
  EXPECT_EQ(s.take_done(), Done{"freeze"});
  const auto told = s.told();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->round(), 1u);
  EXPECT_EQ(told->problem(), "");
  s.suspend(2, 0, 0);
  EXPECT_EQ(s.told()->round(), 2u) << "it says so again";
  s.take_done();
  s.resume(2);
  EXPECT_EQ(s.take_done(), (Done{"thaw", "signal " + std::to_string(SIGCONT)}));
  EXPECT_FALSE(s.told());
}

TEST(StepSuspension, WarnsOnceAndStandsStillAfterTheGrace) {
  StandingScene s;
  s.suspend(1, SIGUSR1, 60'000'000);
  s.suspend(2, SIGUSR1, 60'000'000);
  EXPECT_EQ(s.take_done(), Done{"signal " + std::to_string(SIGUSR1)});
  const int64_t at = s.suspension->freeze_at();
  EXPECT_GT(at, monotonic_us());
  s.suspension->on_timer(at - 1);
  EXPECT_EQ(s.take_done(), Done{});
  EXPECT_FALSE(s.told());
  s.suspension->on_timer(at);
  EXPECT_EQ(s.take_done(), Done{"freeze"});
  EXPECT_EQ(s.suspension->freeze_at(), 0);
  EXPECT_EQ(s.told()->round(), 2u);
}

TEST(StepSuspension, ResumedWithinTheGraceItNeverStandsStill) {
  StandingScene s;
  s.suspend(1, SIGUSR1, 1000);
  const int64_t at = s.suspension->freeze_at();
  s.resume(1);
  s.take_done();
  s.suspension->on_timer(at + 1);
  EXPECT_EQ(s.take_done(), Done{});
}

TEST(StepSuspension, EarlierRoundsChangeNothing) {
  StandingScene s;
  s.suspend(3, 0, 0);
  s.take_done();
  s.resume(2);
  s.suspend(2, SIGUSR1, 1000);
  EXPECT_EQ(s.take_done(), Done{});
  EXPECT_EQ(s.told()->round(), 3u);
  s.resume(3);
  s.take_done();
  s.resume(3);
  EXPECT_EQ(s.take_done(), Done{}) << "it resumes already";
}

TEST(StepSuspension, WhatCannotBeFrozenIsSaidAndTriedAgain) {
  StandingScene s;
  s.contain->freezes = false;
  s.suspend(1, 0, 0);
  EXPECT_NE(s.told()->problem().find("no freezer"), std::string::npos);
  s.contain->freezes = true;
  s.suspend(2, SIGUSR1, 1000);
  EXPECT_FALSE(s.told()) << "it was warned anew, and what was said before holds no longer";
  s.suspension->on_timer(s.suspension->freeze_at());
  EXPECT_EQ(s.told()->problem(), "");
}

}  // namespace
}  // namespace gw::noded::step
