// How an elastic gang scales, by the rates that it tells at its sizes.
#include <gtest/gtest.h>

#include "model/progress.h"

namespace gw::model {
namespace {

using base::Time;

constexpr Time moment(int64_t s) { return Time{(1'000'000 + s) * 1'000'000}; }

TEST(Scaling, FollowsFromTwoSizesAndIsInProportionBeforeThat) {
  Progress p = with_report({}, {0, 10'000, {}}, moment(0), 2);
  p = with_report(p, {100, {}, {}}, moment(100), 2);
  EXPECT_EQ(p.rate_milli, 1'000U);
  EXPECT_EQ(p.scaling, 100U);
  p = with_report(p, {250, {}, {}}, moment(200), 8);
  EXPECT_EQ(p.rate_milli, 4'000U) << "what was done before was done at both sizes: a guess";
  EXPECT_EQ(p.scaling, 100U);
  p = with_report(p, {450, {}, {}}, moment(300), 8);
  EXPECT_EQ(p.rate_milli, 2'000U) << "four times the tasks, twice as fast";
  EXPECT_EQ(p.scaling, 50U);
  p = with_report(p, {460, {}, {}}, moment(310), 2);
  EXPECT_EQ(p.rate_milli, 1'000U) << "by how it scales";
  EXPECT_EQ(p.other_tasks, 8U);
  p = with_report(p, {470, {}, {}}, moment(320), 2);
  EXPECT_EQ(p.scaling, 50U);
}

TEST(Scaling, IsNotReadOutOfTheNoiseBetweenNeighbours) {
  Progress p = with_report({}, {{}, {}, 10'000}, moment(0), 64);
  p = with_report(p, {{}, {}, 9'900}, moment(10), 65);
  EXPECT_EQ(p.scaling, 100U);
  p = with_report(p, {{}, {}, 10'100}, moment(20), 66);
  EXPECT_EQ(p.scaling, 100U);
  p = with_report(p, {{}, {}, 20'000}, moment(30), 128);
  EXPECT_EQ(p.other_tasks, 66U);
  EXPECT_EQ(p.scaling, 100U);
  p = with_report(p, {{}, {}, 20'100}, moment(40), 129);
  EXPECT_EQ(p.other_tasks, 66U) << "what is further off tells more";
}

TEST(Scaling, IsNeverMoreThanTheSizeNorLessThanNothing) {
  for (const auto& [rate, scaling] : {std::pair(9'000ULL, 100U), std::pair(500ULL, 0U)}) {
    Progress p = with_report({}, {{}, {}, 1'000}, moment(0), 1);
    p = with_report(p, {{}, {}, rate}, moment(10), 2);
    EXPECT_EQ(p.scaling, scaling) << rate;
  }
}

TEST(Scaling, OfARigidJobNothingIsKnown) {
  Progress p = with_report({}, {0, {}, 1'000}, moment(0));
  p = with_report(p, {10, {}, 2'000}, moment(10));
  EXPECT_EQ(p.tasks, 0U);
  EXPECT_EQ(p.scaling, 100U);
}

TEST(Scaling, OfSeveralResizesWithoutAReportNothingIsTaken) {
  Progress p = with_report({}, {{}, {}, 1'000}, moment(0), 1);
  p = with_report(p, {5, {}, {}}, moment(10), 4);
  p = with_report(p, {9, {}, {}}, moment(20), 2);
  EXPECT_EQ(p.other_tasks, 1U) << "of four tasks there is a guess alone";
  EXPECT_EQ(p.rate_milli, 2'000U);
  EXPECT_EQ(p.scaling, 100U);
}

}  // namespace
}  // namespace gw::model
