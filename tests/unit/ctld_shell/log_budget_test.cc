// A storm of events leaves few lines in the log, and says so.
#include "ctld/shell/log_budget.h"

#include <gtest/gtest.h>

namespace gw::ctld {
namespace {

TEST(LogBudget, AStormIsCutAndCounted) {
  LogBudget budget;
  const base::Time now{1'000'000'000};
  uint64_t taken = 0;
  for (int i = 0; i < 10'000; ++i) taken += budget.take(now, false).has_value() ? 1 : 0;
  EXPECT_EQ(taken, LogBudget::kAtOnce);
  EXPECT_EQ(budget.take(now, true), 0U) << "a warning does not go down among the others";
  const auto next = budget.take(now + base::seconds(1), false);
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, 10'000 - LogBudget::kAtOnce);
  EXPECT_EQ(budget.take(now + base::seconds(1), false), 0U) << "it is said once";
}

TEST(LogBudget, AUsualRateIsNeverCut) {
  LogBudget budget;
  base::Time now{1'000'000'000};
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(budget.take(now, false), 0U);
    now = now + base::milliseconds(6);
  }
}

}  // namespace
}  // namespace gw::ctld
