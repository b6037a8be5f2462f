// Ranges of starts, and how they follow from how true those before came.
#include "forecast/estimate.h"

#include <gtest/gtest.h>

#include "forecast/calibration.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::forecast {
namespace {

using base::hours;
using base::JobId;
using base::minutes;
using base::seconds;

const Time kNow{1'000'000'000'000};

/// Of `nodes` nodes with one GPU each: job 1 and so on hold them, each with a limit of ten hours; others wait.
sched::PassInput full(uint32_t nodes, uint32_t waiting) {
  sched::testing::Cluster cluster(nodes, sched::testing::machine(8, 1, 32'000));
  for (uint32_t id = 1; id <= nodes + waiting; ++id) {
    sched::PendingJob job = sched::testing::pending(id, sched::testing::gang(1, 1));
    job.uid = 1;
    job.submitted = job.eligible = kNow + seconds(id);
    job.time_limit = hours(10);
    cluster.apply(sched::JobQueued{job});
    if (id > nodes) continue;
    const auto start = std::get<sched::Start>(sched::plan(cluster.view, kNow, {}).groups.at(0).decisions.at(0));
    cluster.apply(sched::JobPlaced{start.job, "main", start.allocation, kNow, kNow + hours(10),
                                   std::make_shared<const sched::PendingJob>(job)});
  }
  return sched::take_input(cluster.view, kNow + minutes(1), {});
}

RunTimes all_of(Duration ran) {
  RunTimes known;
  for (int i = 0; i < 50; ++i) known.add({1, hours(10), ran});
  return known;
}

std::map<JobId, StartRange> asked(const sched::PassInput& input, const RunTimes& known, Question question = {}) {
  const auto got = estimate_starts(input, known, question);
  EXPECT_TRUE(got) << got.error().what;
  return got ? *got : std::map<JobId, StartRange>{};
}

TEST(Estimate, IsByHowLongJobsReallyRun) {
  const auto ranges = asked(full(1, 2), all_of(hours(2)));
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges.at(JobId(2)).likely, kNow + hours(2)) << "not ten hours, as its limit says";
  EXPECT_EQ(ranges.at(JobId(3)).likely, kNow + hours(4));
  EXPECT_EQ(ranges.at(JobId(2)).low, ranges.at(JobId(2)).high) << "nothing is uncertain";
}

TEST(Estimate, IsAsWideAsRunsDiffer) {
  RunTimes known;
  for (int i = 0; i < 40; ++i) known.add({1, hours(10), hours(1 + i % 9)});
  const StartRange range = asked(full(1, 1), known).at(JobId(2));
  EXPECT_LT(range.low, kNow + hours(4));
  EXPECT_GT(range.high, kNow + hours(6));
  EXPECT_LT(range.low, range.likely);
  EXPECT_LT(range.likely, range.high);
}

TEST(Estimate, TheSameSeedGivesTheSame) {
  RunTimes known;
  for (int i = 0; i < 40; ++i) known.add({1, hours(10), hours(1 + i % 9)});
  const sched::PassInput input = full(3, 5);
  EXPECT_EQ(asked(input, known), asked(input, known));
  Question other;
  other.seed = 1;
  EXPECT_NE(asked(input, known), asked(input, known, other));
}

TEST(Estimate, OnlyOfThoseAskedFor) {
  Question one;
  one.jobs = {JobId(3), JobId(77)};
  const auto ranges = asked(full(1, 4), all_of(hours(2)), one);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges.begin()->second.likely, kNow + hours(4));
}

TEST(Estimate, WhatLiesBehindThePassesLookedAtHasNoEnd) {
  Question few;
  few.most_passes = 3;
  const auto ranges = asked(full(1, 20), all_of(hours(2)), few);
  EXPECT_EQ(ranges.at(JobId(2)).likely, kNow + hours(2));
  EXPECT_EQ(ranges.at(JobId(21)).likely, Time::never());
}

TEST(Estimate, NobodyWhoGivesUpGetsHalfAnAnswer) {
  const sched::PassInput input = full(1, 2);
  bool has_failed = false, has_answered = false;
  for (int enough = 0; enough < 300; enough += 3) {
    Question stopped;
    int asked_on = 0;
    stopped.go_on = [&] { return ++asked_on <= enough; };
    const auto got = estimate_starts(input, all_of(hours(2)), stopped);
    (got ? has_answered : has_failed) = true;
    if (!got)
      EXPECT_EQ(got.error().code, base::ErrorCode::kUnavailable);
    else
      EXPECT_EQ(got->at(JobId(3)).high, kNow + hours(4)) << "of whole samples alone: " << enough;
  }
  EXPECT_TRUE(has_failed && has_answered);
}

TEST(Calibration, FewScoresLeaveTheRangeAsItWasDrawn) {
  Calibration calibration;
  const StartRange drawn{kNow + hours(1), kNow + hours(2), kNow + hours(3)};
  EXPECT_EQ(calibration.widened(drawn, kNow), drawn);
  const StartRange past{kNow - hours(1), kNow - hours(1), kNow + hours(1)};
  EXPECT_EQ(calibration.widened(past, kNow), (StartRange{kNow, kNow, kNow + hours(1)})) << "no start lies in the past";
}

TEST(Calibration, RangesGrowUntilTheStartsBeforeWouldHaveBeenInside) {
  Calibration calibration;
  const StartRange drawn{kNow + hours(1), kNow + hours(2), kNow + hours(3)};
  for (uint32_t id = 1; id <= 100; ++id) {  // from an hour before to nine hours after the likely time
    calibration.told(JobId(id), kNow, drawn);
    calibration.started(JobId(id), drawn.likely + minutes(6 * static_cast<int>(id) - 60));
  }
  const StartRange next = calibration.widened(drawn, kNow);
  EXPECT_LT(next.low, drawn.likely);
  EXPECT_GT(next.high, drawn.likely + hours(7));
  EXPECT_LT(next.high, drawn.likely + hours(9)) << "one of ten may lie behind it";
}

TEST(Calibration, NoSingleStartMakesRangesEndless) {
  Calibration calibration;
  const StartRange drawn{kNow + hours(1), kNow + hours(2), kNow + hours(3)};
  for (uint32_t id = 1; id <= 100; ++id) {
    calibration.told(JobId(id), kNow, drawn);
    calibration.started(JobId(id), kNow + hours(100'000));
  }
  EXPECT_EQ(calibration.widened(drawn, kNow).high, drawn.likely + hours(20)) << "ten widths";
}

TEST(Calibration, OnlyTheFirstEstimateOfAJobIsJudged) {
  Calibration calibration;
  calibration.told(JobId(1), kNow, {kNow, kNow + hours(1), kNow + hours(2)});
  calibration.told(JobId(1), kNow + hours(4), {kNow + hours(4), kNow + hours(5), kNow + hours(6)});
  calibration.told(JobId(2), kNow, {kNow, kNow + hours(1), kNow + hours(2)});
  calibration.gone(JobId(2));
  calibration.told(JobId(3), kNow, {kNow, kNow + hours(1), Time::never()});
  for (const uint32_t id : {1, 2, 3}) calibration.started(JobId(id), kNow + hours(5));
  EXPECT_EQ(calibration.scores(), 1U) << "one was cancelled, of another no end was told";
}

}  // namespace
}  // namespace gw::forecast
