// How long jobs have waited for what: one clock for each class, whoever comes and goes.
#include "sched/queue/wait_clocks.h"

#include <gtest/gtest.h>

namespace gw::sched {
namespace {

using model::WaitCause;
using model::WaitSplit;

Time at_second(int64_t seconds) { return Time{seconds * 1'000'000}; }

WaitSplit split_of(std::initializer_list<std::pair<WaitCause, int64_t>> parts) {
  WaitSplit out;
  for (const auto& [cause, seconds] : parts) out.add(cause, base::seconds(seconds));
  return out;
}

TEST(WaitClocksTest, AClassCountsForAllWhoAreInIt) {
  WaitClocks clocks;
  clocks.wait_in(JobId(1), "a", Time::never(), at_second(100));
  clocks.tell("a", WaitCause::kResources, at_second(110));
  clocks.wait_in(JobId(2), "a", Time::never(), at_second(120));
  clocks.tell("a", WaitCause::kQuota, at_second(130));
  EXPECT_EQ(clocks.split(JobId(1), at_second(135)),
            split_of({{WaitCause::kScheduler, 10}, {WaitCause::kQuota, 5}, {WaitCause::kResources, 20}}));
  EXPECT_EQ(clocks.split(JobId(2), at_second(135)), split_of({{WaitCause::kQuota, 5}, {WaitCause::kResources, 10}}));
}

TEST(WaitClocksTest, WhatAJobWaitedBeforeGoesWithIt) {
  WaitClocks clocks;
  clocks.wait_for(JobId(1), WaitCause::kHeld, at_second(0));
  clocks.wait_for(JobId(2), WaitCause::kHeld, at_second(5));
  clocks.wait_in(JobId(1), "a", Time::never(), at_second(10));
  clocks.tell("a", WaitCause::kPriority, at_second(10));
  clocks.wait_in(JobId(1), "b", Time::never(), at_second(17));
  clocks.tell("b", WaitCause::kLocality, at_second(18));
  EXPECT_EQ(
      clocks.leave(JobId(1), at_second(20)),
      split_of(
          {{WaitCause::kScheduler, 1}, {WaitCause::kHeld, 10}, {WaitCause::kPriority, 7}, {WaitCause::kLocality, 2}}));
  EXPECT_EQ(clocks.split(JobId(2), at_second(20)), split_of({{WaitCause::kHeld, 15}}));
  EXPECT_FALSE(clocks.knows(JobId(1)));
}

TEST(WaitClocksTest, AClockIsThereAsLongAsAJobWaitsByIt) {
  WaitClocks clocks;
  clocks.wait_in(JobId(1), "a", Time::never(), at_second(0));
  clocks.tell("a", WaitCause::kQuota, at_second(0));
  EXPECT_EQ(clocks.clocks(), 1U);
  clocks.wait_in(JobId(1), "a", Time::never(), at_second(5));  // told again of the same
  EXPECT_EQ(clocks.leave(JobId(1), at_second(9)), split_of({{WaitCause::kQuota, 9}}));
  EXPECT_EQ(clocks.clocks(), 0U);
  clocks.tell("a", WaitCause::kQuota, at_second(10));  // nobody is in it
  clocks.wait_in(JobId(2), "a", Time::never(), at_second(10));
  EXPECT_EQ(clocks.split(JobId(2), at_second(12)), split_of({{WaitCause::kScheduler, 2}})) << "the class is a new one";
}

TEST(WaitClocksTest, ATaskHasWaitedWithItsArray) {
  WaitClocks clocks;
  clocks.wait_for(JobId(1), WaitCause::kDependency, at_second(0));
  clocks.bring(JobId(2), clocks.split(JobId(1), at_second(7)));
  clocks.wait_in(JobId(2), "a", Time::never(), at_second(7));
  EXPECT_EQ(clocks.leave(JobId(2), at_second(8)), split_of({{WaitCause::kScheduler, 1}, {WaitCause::kDependency, 7}}));
  clocks.bring(JobId(1), split_of({{WaitCause::kHeld, 100}}));
  EXPECT_EQ(clocks.leave(JobId(1), at_second(8)), split_of({{WaitCause::kDependency, 8}})) << "it was known";
}

TEST(WaitClocksTest, SaysWhoseClassIsAnotherByNow) {
  WaitClocks clocks;
  clocks.wait_in(JobId(1), "near", at_second(50), at_second(0));
  clocks.wait_in(JobId(2), "near", at_second(40), at_second(0));
  clocks.wait_in(JobId(3), "near", at_second(30), at_second(0));
  (void)clocks.leave(JobId(3), at_second(1));
  EXPECT_EQ(clocks.due(at_second(39)), std::nullopt);
  EXPECT_EQ(clocks.due(at_second(45)), JobId(2));
  clocks.wait_in(JobId(2), "far", Time::never(), at_second(45));
  EXPECT_EQ(clocks.due(at_second(45)), std::nullopt);
  EXPECT_EQ(clocks.due(at_second(50)), JobId(1));
  EXPECT_EQ(clocks.in_classes(), (std::vector{JobId(1), JobId(2)}));
}

TEST(WaitClocksTest, AClockThatIsSetBackCountsNothingTwice) {
  WaitClocks clocks;
  clocks.wait_in(JobId(1), "a", Time::never(), at_second(100));
  clocks.tell("a", WaitCause::kQuota, at_second(90));
  clocks.wait_in(JobId(2), "a", Time::never(), at_second(95));
  EXPECT_EQ(clocks.split(JobId(1), at_second(97)), WaitSplit());
  EXPECT_EQ(clocks.split(JobId(2), at_second(110)), split_of({{WaitCause::kQuota, 10}}));
}

}  // namespace
}  // namespace gw::sched
