// What a rate says of those with whom a job shares a GPU.
#include <gtest/gtest.h>

#include "model/progress.h"

namespace gw::model {
namespace {

constexpr base::Time kStart{base::hours(1).us};

/// A job that tells its rate in a partition that asks for 60 percent.
struct Told {
  Progress p;
  base::Time now = kStart;

  void tell(uint64_t rate_milli, bool has_others, int64_t after_s = 10) {
    now = now + base::seconds(after_s);
    p.rate_milli = rate_milli;
    p = beside_others(p, has_others, 60, now);
  }
};

TEST(Company, OnlyARateToldAloneIsItsOwn) {
  Told job;
  job.tell(500, true);
  EXPECT_EQ(job.p.own_rate_milli, 0U);
  job.tell(10, true, 3'600);
  EXPECT_FALSE(job.p.needs_own_gpu) << "it was never alone";
  job.tell(900, false), job.tell(1'000, false), job.tell(800, false);
  EXPECT_EQ(job.p.own_rate_milli, 1'000U) << "the highest";
  job.tell(2'000, true);
  EXPECT_EQ(job.p.own_rate_milli, 1'000U);
}

TEST(Company, AMinuteBelowTheBoundIsNeeded) {
  Told job;
  job.tell(1'000, false);
  job.tell(599, true), job.tell(599, true, 59);
  EXPECT_FALSE(job.p.needs_own_gpu);
  job.tell(600, true);
  EXPECT_FALSE(job.p.slow_since);
  job.tell(599, true), job.tell(599, true, 59);
  EXPECT_FALSE(job.p.needs_own_gpu) << "it begins anew";
  job.tell(100, true, 1);
  EXPECT_TRUE(job.p.needs_own_gpu);
  job.tell(1'000, false, 3'600);
  EXPECT_TRUE(job.p.needs_own_gpu) << "for good";
}

TEST(Company, AloneNobodyIsSlow) {
  Told job;
  job.tell(1'000, false);
  job.tell(10, true), job.tell(10, false, 59), job.tell(10, true, 59), job.tell(10, true, 59);
  EXPECT_FALSE(job.p.needs_own_gpu);
  EXPECT_EQ(job.p.own_rate_milli, 1'000U);
}

TEST(Company, AGuessOrAClockThatGoesBackSaysNothing) {
  Told job;
  job.tell(1'000, false);
  job.p.is_guess = true;
  job.tell(10, true), job.tell(10, true, 3'600);
  EXPECT_FALSE(job.p.needs_own_gpu);
  job.p.is_guess = false;
  job.tell(10, true), job.tell(10, true, -30);
  EXPECT_EQ(job.p.slow_since, job.now);
  job.tell(10, true, 59);
  EXPECT_FALSE(job.p.needs_own_gpu);
}

}  // namespace
}  // namespace gw::model
