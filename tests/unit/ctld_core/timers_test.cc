// Timers of the controller's core: which ones replace each other, and that none is left behind.
#include "ctld/core/tables/timers.h"

#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld {
namespace {

base::Time at(int64_t seconds) { return base::Time{} + base::seconds(seconds); }

TEST(Timers, TheLatestOfASingleKindHolds) {
  Timers timers;
  for (int64_t s = 1000; s > 500; --s) timers.set({at(s), TimerKind::kJobLimit, 7, 1});
  timers.set({at(2000), TimerKind::kJobLimit, 7, 2});
  timers.set({at(900), TimerKind::kJobLimit, 8, 1});
  EXPECT_EQ(timers.size(), 2u);
  Timer due;
  ASSERT_TRUE(timers.take_due(at(5000), due));
  EXPECT_EQ(due.id, 8u);
  ASSERT_TRUE(timers.take_due(at(5000), due));
  EXPECT_EQ(due.at, at(2000));
  EXPECT_EQ(due.attempt, 2u);
  EXPECT_FALSE(timers.take_due(at(5000), due));
}

TEST(Timers, ASingleOneThatNeverComesTakesBackTheOneBefore) {
  Timers timers;
  timers.set({at(10), TimerKind::kJobLimit, 7, 1});
  timers.set({base::Time::never(), TimerKind::kJobLimit, 7, 1});
  EXPECT_EQ(timers.next(), base::Time::never());
}

TEST(Timers, OfOtherKindsAJobHasSeveral) {
  Timers timers;
  timers.set({at(10), TimerKind::kExtension, 7, 1});
  timers.set({at(20), TimerKind::kExtension, 7, 1});
  timers.set({at(20), TimerKind::kExtension, 7, 1});
  EXPECT_EQ(timers.size(), 2u);
}

TEST(Timers, OneThatWasTakenCanBeSetAgain) {
  Timers timers;
  timers.set({at(10), TimerKind::kNodeBeat, 7, 0});
  Timer due;
  ASSERT_TRUE(timers.take_due(at(10), due));
  timers.set({at(20), TimerKind::kNodeBeat, 7, 0});
  timers.cancel(TimerKind::kNodeBeat, 7);
  timers.cancel(TimerKind::kNodeBeat, 7);
  EXPECT_EQ(timers.size(), 0u);
}

TEST(Timers, JobsThatCameAndWentLeaveNone) {
  testing::World w(1);
  w.connect_all();
  wire::ApiRequest request = testing::World::submission(testing::gang(1));
  request.mutable_submit()->mutable_spec()->set_time_limit_us(base::hours(24 * 30).us);
  constexpr size_t kOfNoJob = 3;  // such as to forget old answers
  const size_t before = w.core->timers().size() + kOfNoJob;
  for (int i = 0; i < 20; ++i) {
    const base::JobId id(w.ask(1000, request).submit().job_id());
    w.schedule();
    w.prepared("n0", id);
    w.started("n0", id);
    w.exited("n0", id, 0);
    w.done("n0", id);
    ASSERT_EQ(w.state(id), model::JobState::kCompleted);
  }
  EXPECT_LE(w.core->timers().size(), before + 2 * 20) << "of each that it leaves memory, and its environment the disk";
  w.tick(w.settings.min_job_age + base::seconds(1));
  EXPECT_LE(w.core->timers().size(), before);
}

}  // namespace
}  // namespace gw::ctld
