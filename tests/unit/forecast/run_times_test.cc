// How long jobs are thought to run.
#include "forecast/run_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/sched/cluster_builder.h"

namespace gw::forecast {
namespace {

using base::hours;
using base::minutes;

const Time kHere{1'000'000'000'000};

std::vector<Duration> draws_of(const RunTimeDraws& draws, uint32_t uid, Duration limit, Duration ran = {}) {
  Random random(7);
  std::vector<Duration> out;
  for (int i = 0; i < 400; ++i) out.push_back(draws.draw(uid, limit, ran, random));
  std::sort(out.begin(), out.end());
  return out;
}

TEST(RunTimes, AreThoseOfJobsWithLimitsLikeIt) {
  RunTimes known;
  for (int i = 0; i < 100; ++i) known.add({1, hours(1), minutes(30)});
  for (int i = 0; i < 100; ++i) known.add({1, hours(100), hours(10)});
  const RunTimeDraws draws(known, {}, kHere);
  EXPECT_THAT(draws_of(draws, 1, hours(1)), testing::Each(minutes(30)));
  EXPECT_THAT(draws_of(draws, 1, hours(2)), testing::Contains(hours(1)));
  EXPECT_EQ(draws_of(draws, 1, hours(200))[200], hours(20)) << "a tenth of the limit, as those did";
}

TEST(RunTimes, AreHisOwnWhereEnoughAreKnown) {
  RunTimes known;
  for (int i = 0; i < 100; ++i) known.add({1, hours(1), minutes(30)});
  for (int i = 0; i < 30; ++i) known.add({2, hours(1), minutes(6)});
  for (int i = 0; i < 3; ++i) known.add({3, hours(1), minutes(1)});
  const RunTimeDraws draws(known, {}, kHere);
  EXPECT_THAT(draws_of(draws, 2, hours(1)), testing::Each(minutes(6)));
  EXPECT_EQ(draws_of(draws, 3, hours(1))[200], minutes(30)) << "three are too few to learn from";
}

TEST(RunTimes, WhatHasRunForLongIsOneOfTheLongOnes) {
  RunTimes known;
  for (int i = 0; i < 40; ++i) known.add({1, hours(10), i % 2 == 0 ? hours(1) : hours(8)});
  const RunTimeDraws draws(known, {}, kHere);
  EXPECT_EQ(draws_of(draws, 1, hours(10))[100], hours(1));
  EXPECT_THAT(draws_of(draws, 1, hours(10), hours(2)), testing::Each(hours(8)));
  for (const Duration d : draws_of(draws, 1, hours(10), hours(9))) {
    EXPECT_GT(d, hours(9)) << "longer than any before";
    EXPECT_LE(d, hours(10));
  }
}

/// A job that has run for so long of its limit.
sched::RunningJob running(uint32_t id, Duration ran, Duration limit) {
  sched::RunningJob r;
  r.id = base::JobId(id);
  r.started = kHere - ran;
  r.expected_end = r.started + limit;
  auto job = std::make_shared<sched::PendingJob>(sched::testing::pending(id, sched::testing::gang(1, 1)));
  job->uid = 1;
  r.job = std::move(job);
  return r;
}

TEST(RunTimes, ThoseThatStillRunCountAsLongerThanSoFar) {
  RunTimes known;
  for (int i = 0; i < 20; ++i) known.add({1, hours(10), hours(1)});
  std::vector<sched::RunningJob> still;
  for (uint32_t id = 1; id <= 20; ++id) still.push_back(running(id, hours(5), hours(10)));
  const auto drawn = draws_of(RunTimeDraws(known, still, kHere), 1, hours(10));
  const auto longer = std::count_if(drawn.begin(), drawn.end(), [](Duration d) { return d > hours(5); });
  EXPECT_NEAR(static_cast<double>(longer) / 400, 0.5, 0.1) << "half of those like it last longer than five hours";
}

TEST(RunTimes, WithoutALimitTheyAreThoseOfOthersWithoutOne) {
  RunTimes known;
  for (int i = 0; i < 50; ++i) known.add({1, base::kUnlimited, hours(3)});
  known.add({1, hours(1), minutes(1)});
  const RunTimeDraws draws(known, {}, kHere);
  EXPECT_THAT(draws_of(draws, 1, base::kUnlimited), testing::Each(hours(3)));
  EXPECT_THAT(draws_of(draws, 1, base::kUnlimited, hours(4)), testing::Each(base::kUnlimited));
}

TEST(RunTimes, OfNothingKnownAreAnywhereWithinTheLimit) {
  const auto drawn = draws_of(RunTimeDraws({}, {}, kHere), 1, hours(10));
  EXPECT_LT(drawn[40], hours(2));
  EXPECT_GT(drawn[360], hours(8));
  EXPECT_LE(drawn.back(), hours(10));
  EXPECT_THAT(draws_of(RunTimeDraws({}, {}, kHere), 1, base::kUnlimited), testing::Each(base::kUnlimited));
}

TEST(RunTimes, WhatSomebodyEndedWouldHaveRunLonger) {
  RunTimes known;
  for (int i = 0; i < 20; ++i) known.add({1, hours(10), hours(1), false});
  for (int i = 0; i < 20; ++i) known.add({1, hours(10), hours(4)});
  EXPECT_THAT(draws_of(RunTimeDraws(known, {}, kHere), 1, hours(10)), testing::Each(hours(4)));
}

TEST(RunTimes, OneUserIsNotAllThatIsKnown) {
  RunTimes known;
  for (int i = 0; i < 100; ++i) known.add({1, hours(10), hours(4)});
  for (int i = 0; i < 5'000; ++i) known.add({2, hours(1), minutes(1)});
  EXPECT_EQ(known.latest().size(), RunTimes::kMostOfUser + 100);
  EXPECT_THAT(draws_of(RunTimeDraws(known, {}, kHere), 1, hours(10)), testing::Each(hours(4)));
}

TEST(RunTimes, RememberTheLatestOnly) {
  RunTimes known;
  for (size_t i = 0; i < RunTimes::kMost + 10; ++i) known.add({static_cast<uint32_t>(i), hours(1), minutes(1)});
  known.add({1, hours(1), Duration{}});
  EXPECT_EQ(known.latest().size(), RunTimes::kMost) << "a run that took no time tells nothing";
  EXPECT_EQ(known.latest().front().uid, 10U);
}

}  // namespace
}  // namespace gw::forecast
