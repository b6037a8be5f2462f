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

TEST(Progress, TheEndIsALittleLateAndMovesOnlyWithAChangeThatMatters) {
  Progress p = with_report({}, {0, 16'000, 1'000}, at(0));
  EXPECT_EQ(p.expected, at(16'000 + 1'000 + 60));
  int changes = 0;
  for (int64_t t = 100; t < 15'000; t += 100) {
    const Time before = p.expected;
    p = with_report(p, {static_cast<uint64_t>(t + t % 300 - 100), {}, 1'000}, at(t));
    changes += p.expected == before ? 0 : 1;
    EXPECT_GE(p.expected, at(16'000 - t % 300 + 100)) << t;
  }
  EXPECT_LE(changes, 5) << "of 149 reports, by a job that goes as it told, up to a hundred steps";
  p = with_report(p, {8'000, {}, 1'000}, at(15'000));
  EXPECT_EQ(p.expected, at(23'000 + 500 + 60)) << "later";
  p = with_report(p, {15'900, {}, 1'000}, at(15'100));
  EXPECT_EQ(p.expected, at(15'200 + 6 + 60) + base::Duration{250'000}) << "sooner";
  EXPECT_FALSE(with_report(p, {{}, kMostSteps, 1}, at(15'200)).expected) << "it is not known any more";
  EXPECT_FALSE(with_report({}, {5, {}, {}}, at(0)).expected);
}

}  // namespace
}  // namespace gw::model
