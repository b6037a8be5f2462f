// Use that fades: against the closed form, and however it is cut.
#include "sched/quota/usage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gw::sched {
namespace {

using base::Duration;
using base::hours;
using base::minutes;
using base::seconds;
using base::Time;

constexpr Time kT0{1'800'000'000'000'000};
constexpr int64_t kGpu = 1'000'000;

model::NodeShare share(uint32_t gpus, uint32_t milli, uint32_t cpus) {
  model::NodeShare s;
  s.gpus = base::IndexSet::first(gpus);
  s.gpu_milli = milli;
  s.cpus = cpus;
  return s;
}

TEST(Usage, RateOfAShare) {
  EXPECT_EQ(usage_rate(share(2, model::kWholeGpu, 64)), 2 * kGpu);
  EXPECT_EQ(usage_rate(share(1, 250, 8)), kGpu / 4);
  EXPECT_EQ(usage_rate(share(0, model::kWholeGpu, 32)), kGpu);
  EXPECT_EQ(usage_rate(share(0, model::kWholeGpu, 1)), kGpu / 32);
  model::Allocation two;
  two.shares = {share(8, model::kWholeGpu, 8), share(0, model::kWholeGpu, 16)};
  EXPECT_EQ(usage_rate(two), 8 * kGpu + kGpu / 2);
}

TEST(Usage, HalfAfterAHalfLife) {
  const Used used{1'000 * kGpu, 0, kT0};
  EXPECT_EQ(used_by(used, kT0, hours(1)), 1'000 * kGpu);
  EXPECT_EQ(used_by(used, kT0 + hours(1), hours(1)), 500 * kGpu);
  EXPECT_EQ(used_by(used, kT0 + hours(3), hours(1)), 125 * kGpu);
  EXPECT_EQ(used_by(used, kT0 - hours(1), hours(1)), 1'000 * kGpu) << "a clock that went back changes nothing";
  EXPECT_EQ(used_by(used, kT0 + hours(9), base::kUnlimited), 1'000 * kGpu);
}

TEST(Usage, ARateTendsToItsMeanLife) {
  // One GPU for one half-life: h / ln 2 * 1/2; for ever: h / ln 2.
  const double mean_life = 3600 / std::log(2.0);
  EXPECT_NEAR(gpu_seconds(used_by({0, kGpu, kT0}, kT0 + hours(1), hours(1))), mean_life / 2, 1e-6);
  EXPECT_NEAR(gpu_seconds(used_by({0, kGpu, kT0}, kT0 + hours(100), hours(1))), mean_life, 1e-6);
  EXPECT_NEAR(gpu_seconds(used_by({0, kGpu, kT0}, kT0 + seconds(1), hours(24 * 366))), 1, 1e-6);
  EXPECT_EQ(used_by({0, kGpu, kT0}, kT0 + hours(1), base::kUnlimited), 3600 * kGpu);
}

/// The closed form in long doubles: every stretch by itself, faded to the end.
long double closed_form(const std::vector<std::pair<Time, int64_t>>& rates, Time end, Duration half_life) {
  const long double h = static_cast<long double>(half_life.us) / 1e6L, ln2 = std::log(2.0L);
  const auto kept = [&](Time from) { return std::exp2(-static_cast<long double>((end - from).us) / 1e6L / h); };
  long double sum = 0;
  int64_t rate = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    rate += rates[i].second;
    const Time to = i + 1 < rates.size() ? rates[i + 1].first : end;
    sum += static_cast<long double>(rate) / kGpu * h / ln2 * (kept(to) - kept(rates[i].first));
  }
  return sum;
}

TEST(Usage, EveryCutGivesTheClosedForm) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const Duration half_life = seconds(60 + static_cast<int64_t>(random() % 1'000'000));
    UsageMeter<uint32_t> meter(half_life), cut(half_life);
    std::vector<std::pair<Time, int64_t>> rates;
    Time t = kT0;
    int64_t rate = 0;
    for (int i = 0; i < 40; ++i) {
      const int64_t by = static_cast<int64_t>(random() % 64) * kGpu - std::min<int64_t>(rate, 20 * kGpu);
      rates.emplace_back(t, by);
      rate += by;
      meter.change_rate(1, by, t);
      cut.change_rate(1, by, t);
      const Time next = t + base::microseconds(static_cast<int64_t>(random() % 7'200'000'000));
      for (Time tick = t; tick < next; tick = tick + seconds(977)) cut.change_rate(1, 0, tick);
      t = next;
    }
    const auto expected = static_cast<double>(closed_form(rates, t, half_life));
    EXPECT_NEAR(meter.at(t).at(1), expected, 40 * 0.6e-6 + expected * 1e-12);
    EXPECT_NEAR(cut.at(t).at(1), expected, 1000 * 0.6e-6 + expected * 1e-12);
  }
}

TEST(Usage, ARestoredMeterGoesOnToTheLastDigit) {
  UsageMeter<uint32_t> live(hours(5)), again(hours(5));
  live.change_rate(1, 3 * kGpu, kT0);
  live.change_rate(2, kGpu / 32, kT0 + seconds(1));
  live.change_rate(1, 5 * kGpu, kT0 + seconds(12'345));
  EXPECT_EQ(live.take_changed(), (std::set<uint32_t>{1, 2}));
  for (const auto& [uid, used] : live.holders()) again.restore(uid, used.amount, used.at);
  (void)live.at(kT0 + hours(7));  // asking changes nothing
  // Two jobs of user 1 are found again one by one, later.
  again.resume_rate(1, 3 * kGpu, kT0 + hours(8));
  again.resume_rate(1, 5 * kGpu, kT0 + hours(8));
  again.resume_rate(2, kGpu / 32, kT0 + hours(8));
  EXPECT_EQ(live.at(kT0 + hours(9)), again.at(kT0 + hours(9)));
  live.change_rate(1, -8 * kGpu, kT0 + hours(10));
  again.change_rate(1, -8 * kGpu, kT0 + hours(10));
  EXPECT_EQ(live.holders().at(1).amount, again.holders().at(1).amount);
}

TEST(Usage, ANewHalfLifeCountsFromNowOn) {
  UsageMeter<uint32_t> meter(hours(1));
  meter.restore(1, 800 * kGpu, kT0);
  meter.set_half_life(hours(2), kT0 + hours(1));
  EXPECT_NEAR(meter.at(kT0 + hours(3)).at(1), 200, 1e-5);
}

TEST(Usage, WhatIsSmallIsForgotten) {
  UsageMeter<uint32_t> meter(hours(1));
  meter.restore(1, 4 * kGpu, kT0);
  meter.restore(2, 4 * kGpu, kT0);
  meter.change_rate(2, 1, kT0);
  (void)meter.take_changed();
  meter.forget_small(kT0 + hours(2));
  EXPECT_TRUE(meter.holders().contains(1)) << "a GPU-second is still something";
  meter.forget_small(kT0 + hours(2) + seconds(1));
  EXPECT_FALSE(meter.holders().contains(1));
  EXPECT_TRUE(meter.holders().contains(2)) << "it holds something";
  EXPECT_EQ(meter.take_changed(), (std::set<uint32_t>{1}));
}

TEST(Usage, PeriodsStartAtMultiplesOfFiveMinutes) {
  EXPECT_EQ(usage_period_start(kT0 + seconds(299)), kT0);
  EXPECT_EQ(usage_period_start(kT0 + seconds(300)), kT0 + minutes(5));
}

}  // namespace
}  // namespace gw::sched
