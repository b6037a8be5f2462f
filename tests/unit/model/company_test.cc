// What a job's pace says of those with whom it shares a GPU.
#include "model/company.h"

#include <gtest/gtest.h>

#include "model/progress.h"

namespace gw::model {
namespace {

constexpr base::Time kStart{base::hours(1).us};

/// A job that tells its pace in a partition that asks for 60 percent.
struct Told {
  Company c = {};
  base::Time now = kStart;

  void tell(uint64_t pace_milli, bool has_others, int64_t after_s = 10) {
    now = now + base::seconds(after_s);
    c = with_pace(c, {pace_milli, {}, has_others}, 60, now);
  }
  /// Alone for long enough.
  void measure(uint64_t pace_milli) {
    tell(pace_milli, false);
    tell(pace_milli, false, 60);
  }
};

TEST(Company, OnlyAMinuteAloneIsItsOwn) {
  Told job;
  job.tell(500, true), job.tell(500, true, 3'600);
  EXPECT_EQ(job.c.own_rate_milli, 0U);
  job.tell(10, true, 3'600);
  EXPECT_FALSE(job.c.needs_own_gpu) << "it was never alone";
  job.tell(1'000, false), job.tell(1'000, false, 59);
  EXPECT_EQ(job.c.own_rate_milli, 0U) << "not for a minute yet";
  job.tell(1'000, false, 1);
  EXPECT_EQ(job.c.own_rate_milli, 1'000U);
  job.tell(2'000, true), job.tell(2'000, true, 3'600);
  EXPECT_EQ(job.c.own_rate_milli, 1'000U);
  job.measure(700);
  EXPECT_EQ(job.c.own_rate_milli, 700U) << "the last minute, slower or faster";
}

TEST(Company, AMinuteInterruptedByOthersIsNone) {
  Told job;
  job.tell(1'000, false), job.tell(900, true, 50), job.tell(1'000, false, 20), job.tell(1'000, false, 50);
  EXPECT_EQ(job.c.own_rate_milli, 0U);
}

TEST(Company, AMinuteBelowTheBoundIsNeeded) {
  Told job;
  job.measure(1'000);
  job.tell(599, true), job.tell(599, true, 59);
  EXPECT_FALSE(job.c.needs_own_gpu);
  job.tell(600, true);
  EXPECT_FALSE(job.c.slow_since);
  job.tell(599, true), job.tell(599, true, 59);
  EXPECT_FALSE(job.c.needs_own_gpu) << "it begins anew";
  job.tell(100, true, 1);
  EXPECT_TRUE(job.c.needs_own_gpu);
  job.tell(1'000, false, 3'600);
  EXPECT_TRUE(job.c.needs_own_gpu) << "for good";
}

TEST(Company, AloneNobodyIsSlow) {
  Told job;
  job.measure(1'000);
  job.tell(10, true), job.tell(10, false, 59), job.tell(10, true, 59), job.tell(10, true, 59);
  EXPECT_FALSE(job.c.needs_own_gpu);
}

TEST(Company, AnUnknownPaceOrAClockThatGoesBackSaysNothing) {
  Told job;
  job.measure(1'000);
  const Company before = job.c;
  job.tell(0, true), job.tell(0, true, 3'600);
  EXPECT_EQ(job.c, before);
  job.tell(10, true), job.tell(10, true, -30);
  EXPECT_EQ(job.c.slow_since, job.now);
  job.tell(10, true, 59);
  EXPECT_FALSE(job.c.needs_own_gpu);
}

/// A job that tells its steps.
struct Stepping : Told {
  Progress p;
  uint64_t step = 0;
  void go(uint64_t steps, int64_t seconds, bool has_others) {
    now = now + base::seconds(seconds);
    step += steps;
    const ProgressReport report{step, {}, {}};
    c = with_pace(c, {pace_of(p, report, now), step, has_others}, 60, now);
    p = with_report(p, report, now);
  }
};

TEST(Company, WhatItDidInTheMinuteIsItsOwnRate) {
  Stepping job;
  job.go(0, 0, false), job.go(50'000, 5, false);  // it goes on from a checkpoint
  EXPECT_EQ(job.c.own_rate_milli, 0U);
  job.go(10, 10, false), job.go(0, 30, false), job.go(20, 20, false);  // an evaluation between
  EXPECT_EQ(job.c.own_rate_milli, 500U) << "30 steps in a minute";
}

TEST(Company, OneStopHoweverLongShowsOnce) {
  Stepping job;
  job.go(0, 0, false), job.go(10, 10, false), job.go(60, 60, false);
  ASSERT_EQ(job.c.own_rate_milli, 1'000U);
  for (const int64_t stop : {55, 300}) {
    job.go(10, 10 + stop, true);
    EXPECT_EQ(job.c.slow_since, job.now);
    job.go(60, 60, true);
    EXPECT_FALSE(job.c.slow_since) << stop;
  }
  job.go(5, 10, true), job.go(30, 60, true);
  EXPECT_TRUE(job.c.needs_own_gpu);
}

}  // namespace
}  // namespace gw::model
