// What a job tells of its progress, and what follows from it.
#include "model/progress.h"

#include <gtest/gtest.h>

namespace gw::model {
namespace {

using base::minutes;
using base::seconds;
using base::Time;

constexpr Time at(int64_t s) { return Time{(1'000'000 + s) * 1'000'000}; }

TEST(Progress, TheRateFollowsTheStepsAndForgetsHalfOfWhatItWasInAMinute) {
  Progress p = with_report({}, {10, 1000, {}}, at(0));
  EXPECT_EQ(p.rate_milli, 0U) << "one report tells none";
  EXPECT_EQ(rest_of(p), base::kUnlimited);
  p = with_report(p, {40, {}, {}}, at(10));
  EXPECT_EQ(p.rate_milli, 3'000U);
  EXPECT_EQ(p.of, 1000U) << "told once";
  EXPECT_EQ(rest_of(p), seconds(320));
  p = with_report(p, {100, {}, {}}, at(70));
  EXPECT_EQ(p.rate_milli, 2'000U) << "one a second in the last minute, three before";
  p = with_report(p, {90, {}, {}}, at(80));
  EXPECT_EQ(p.rate_milli, 2'000U) << "it went back, which says nothing of how fast it is";
  EXPECT_EQ(p.step, 90U);
  p = with_report(p, {90, {}, {}}, at(140));
  EXPECT_EQ(p.rate_milli, 1'000U) << "it does nothing";
}

TEST(Progress, ARateThatIsToldCounts) {
  Progress p = with_report({}, {{}, 100, 500}, at(0));
  EXPECT_EQ(rest_of(p), seconds(200));
  p = with_report(p, {10, {}, 250}, at(10));
  EXPECT_EQ(p.rate_milli, 250U);
  EXPECT_EQ(rest_of(p), seconds(360));
  p = with_report(p, {200, {}, {}}, at(20));
  EXPECT_EQ(rest_of(p), seconds(0)) << "more than all";
}

TEST(Progress, WhatNobodyLivesToSeeIsNotKnown) {
  EXPECT_EQ(rest_of(with_report({}, {0, kMostSteps, 1}, at(0))), base::kUnlimited);
  EXPECT_LT(rest_of(with_report({}, {0, 1'000'000, 1}, at(0))), base::hours(24 * 366 * 100));
}

TEST(Progress, TheEndMovesByWholeMinutesAndByLessOfARestThatIsLong) {
  const auto end = [](uint64_t left_s) { return expected_end(with_report({}, {0, left_s, 1'000}, at(0))); };
  EXPECT_EQ(expected_end({}), Time::never());
  EXPECT_EQ(end(200).us % minutes(1).us, 0);
  EXPECT_GE(end(200), at(200));
  EXPECT_LE(end(200), at(260));
  EXPECT_EQ(end(10'000), end(10'001));
  for (const uint64_t left : {1'000ULL, 10'000ULL, 1'000'000ULL}) {
    EXPECT_GE(end(left), at(static_cast<int64_t>(left)));
    EXPECT_LE(end(left), at(static_cast<int64_t>(left + left / 8)));
  }
  Progress old = with_report({}, {0, 100, 1'000}, at(0));
  old.told = {};
  EXPECT_EQ(expected_end(old), Time::never()) << "of a run before";
}

}  // namespace
}  // namespace gw::model
