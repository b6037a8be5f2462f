// What QOS borrowed and lent in a time.
#include "sched/quota/lending.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::sched {
namespace {

constexpr int64_t kSecond = 1'000'000;

base::Time second(int64_t seconds) { return base::Time{seconds * kSecond}; }

model::Qos qos_below(const std::string& name, const std::string& parent, uint64_t gpus) {
  model::Qos q;
  q.name = name;
  q.parent = parent;
  if (gpus > 0) q.guaranteed["gpu"] = gpus * 1000;
  return q;
}

/// "a: held 20 borrowed 10 lent 0", in GPU-seconds.
std::string told(Lending& lending) {
  std::string out;
  for (const LendingSum& s : lending.sums())
    out += fmt::format("{}: {} held {} borrowed {} lent {}; ", s.qos, s.guaranteed / 1'000'000, s.held / 1'000'000,
                       s.borrowed / 1'000'000, s.lent / 1'000'000);
  return out;
}

TEST(Lending, WhoHoldsMoreThanItsGuaranteeBorrowsOfThoseWhoHoldLess) {
  Lending lending({qos_below("a", "", 4), qos_below("b", "", 2)}, second(100), second(200));
  ASSERT_TRUE(lending.add("a", second(100), second(150), 6'000));  // two of b's, fifty seconds
  ASSERT_TRUE(lending.add("b", second(120), second(140), 1'000));  // meanwhile one of them is wanted for twenty
  EXPECT_EQ(told(lending), "a: 400 held 300 borrowed 100 lent 0; b: 200 held 20 borrowed 0 lent 80; ");
}

TEST(Lending, OnlyWhatLiesWithinTheTimeCounts) {
  Lending lending({qos_below("a", "", 1), qos_below("b", "", 1)}, second(100), second(200));
  ASSERT_TRUE(lending.add("a", second(0), second(110), 2'000));
  ASSERT_TRUE(lending.add("a", second(190), second(900), 2'000));
  ASSERT_TRUE(lending.add("a", second(10), second(90), 2'000));
  ASSERT_TRUE(lending.add("gone", second(100), second(200), 2'000));
  ASSERT_TRUE(lending.add("a", second(150), second(150), 2'000));
  EXPECT_EQ(told(lending), "a: 100 held 40 borrowed 20 lent 0; b: 100 held 0 borrowed 0 lent 20; ");
}

TEST(Lending, SoManyRunsAreKept) {
  Lending lending({qos_below("a", "", 4)}, second(0), second(10));
  for (size_t i = 0; i < Lending::kMostRuns; ++i) ASSERT_TRUE(lending.add("a", second(0), second(10), 1));
  const base::Status more = lending.add("a", second(0), second(10), 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().hint, "name a shorter time");
  EXPECT_EQ(lending.sums().at(0).held, Lending::kMostRuns * 10'000);
}

TEST(Lending, WhoLeavesTwiceAsMuchLendsTwiceAsMuch) {
  Lending lending({qos_below("a", "", 4), qos_below("b", "", 2), qos_below("c", "", 0)}, second(0), second(10));
  ASSERT_TRUE(lending.add("c", second(0), second(10), 3'000));
  EXPECT_EQ(told(lending),
            "a: 40 held 0 borrowed 0 lent 20; b: 20 held 0 borrowed 0 lent 10; c: 0 held 30 borrowed 30 lent 0; ");
}

// Below a parent its QOS lend to each other, and the parent to those beside it.
TEST(Lending, EachLevelForItself) {
  Lending lending({qos_below("a1", "a", 2), qos_below("a2", "a", 2), qos_below("a", "", 4), qos_below("b", "", 4)},
                  second(0), second(10));
  ASSERT_TRUE(lending.add("a1", second(0), second(10), 4'000));
  EXPECT_EQ(told(lending),
            "a: 40 held 40 borrowed 0 lent 0; a1: 20 held 40 borrowed 20 lent 0; a2: 20 held 0 borrowed 0 lent 20; "
            "b: 40 held 0 borrowed 0 lent 0; ");
  ASSERT_TRUE(lending.add("a2", second(0), second(10), 2'000));
  EXPECT_EQ(told(lending),
            "a: 40 held 60 borrowed 20 lent 0; a1: 20 held 40 borrowed 20 lent 0; a2: 20 held 20 borrowed 0 lent 0; "
            "b: 40 held 0 borrowed 0 lent 20; ");
}

TEST(Lending, WhereNobodyIsGuaranteedAnythingNobodyBorrows) {
  Lending lending({qos_below("a", "", 0), qos_below("b", "", 0)}, second(0), second(10));
  ASSERT_TRUE(lending.add("a", second(0), second(10), 4'000));
  EXPECT_EQ(told(lending), "a: 0 held 40 borrowed 0 lent 0; b: 0 held 0 borrowed 0 lent 0; ");
}

TEST(Lending, PartsOfGpusAndTypes) {
  model::Qos typed = qos_below("typed", "", 0);
  typed.guaranteed["gpu:h100"] = 2'000;
  typed.guaranteed["gpu:a100"] = 1'000;
  Lending lending({typed, qos_below("other", "", 0)}, second(0), second(10));
  ASSERT_TRUE(lending.add("other", second(0), second(10), 500));
  ASSERT_TRUE(lending.add("other", second(0), second(10), 500));
  EXPECT_EQ(told(lending), "typed: 30 held 0 borrowed 0 lent 10; other: 0 held 10 borrowed 10 lent 0; ");
}

TEST(Lending, IdleTimeCountsForAllAbove) {
  Lending lending({qos_below("a1", "a", 0), qos_below("a", "", 1)}, second(0), second(10));
  lending.add_idle("a1", 7);
  lending.add_idle("gone", 7);
  const auto sums = lending.sums();
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0].qos + sums[1].qos, "aa1");
  EXPECT_EQ(sums[0].idle_ms, 7u);
  EXPECT_EQ(sums[1].idle_ms, 7u);
  EXPECT_EQ(sums[1].parent, "a");
}

// Sums are those of a sweep second by second.
TEST(Lending, OrderOfRunsDoesNotMatter) {
  const std::vector<model::Qos> tree = {qos_below("a", "", 3), qos_below("b", "", 2), qos_below("c", "", 0)};
  Lending forth(tree, second(0), second(60)), back(tree, second(0), second(60));
  struct Run {
    const char* qos;
    int64_t from, to;
    uint64_t gpus;
  };
  const std::vector<Run> runs = {
      {"a", 0, 30, 5}, {"b", 10, 40, 1}, {"c", 5, 55, 2}, {"a", 20, 50, 1}, {"c", 30, 60, 4}};
  uint64_t borrowed = 0, lent = 0;
  for (int64_t t = 0; t < 60; ++t) {
    uint64_t held[3] = {0, 0, 0}, over = 0, spare = 0;
    for (const Run& r : runs)
      if (r.from <= t && t < r.to) held[r.qos[0] - 'a'] += r.gpus;
    const uint64_t guaranteed[3] = {3, 2, 0};
    for (int i = 0; i < 3; ++i) {
      over += held[i] > guaranteed[i] ? held[i] - guaranteed[i] : 0;
      spare += held[i] < guaranteed[i] ? guaranteed[i] - held[i] : 0;
    }
    borrowed += over;
    lent += std::min(over, spare);
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& f = runs[i];
    const Run& b = runs[runs.size() - 1 - i];
    ASSERT_TRUE(forth.add(f.qos, second(f.from), second(f.to), f.gpus * 1000));
    ASSERT_TRUE(back.add(b.qos, second(b.from), second(b.to), b.gpus * 1000));
  }
  EXPECT_EQ(told(forth), told(back));
  uint64_t all_borrowed = 0, all_lent = 0;
  for (const LendingSum& s : forth.sums()) all_borrowed += s.borrowed, all_lent += s.lent;
  EXPECT_EQ(all_borrowed, borrowed * 1'000'000);
  EXPECT_EQ(all_lent, lent * 1'000'000);
}

}  // namespace
}  // namespace gw::sched
