// The auction of GPUs among whole gangs, against trying all sets of winners.
#include "plugins/order/auction.h"

#include <gtest/gtest.h>

#include <random>

namespace gw::sched {
namespace {

/// The most that any set of bids, but for those of `without`, gains on so many GPUs.
double best_of_all_sets(const std::vector<Bid>& bids, uint64_t offered, size_t without = SIZE_MAX) {
  double best = 0;
  for (size_t set = 0; set < size_t{1} << bids.size(); ++set) {
    uint64_t gpus = 0;
    double gain = 0;
    for (size_t i = 0; i < bids.size(); ++i)
      if ((set >> i & 1) != 0 && i != without) gpus += bids[i].gpu_milli, gain += bids[i].gain;
    if (gpus <= offered) best = std::max(best, gain);
  }
  return best;
}

double gain_of_winners(const std::vector<Bid>& bids, const std::vector<Award>& awards, size_t without = SIZE_MAX) {
  double gain = 0;
  for (size_t i = 0; i < bids.size(); ++i) gain += awards[i].has_won && i != without ? bids[i].gain : 0;
  return gain;
}

class Auctions : public ::testing::TestWithParam<uint32_t> {
 protected:
  std::mt19937 random{GetParam()};
  uint64_t offered = 0;

  uint32_t pick(uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); }
  std::vector<Bid> draw() {
    offered = 250 * pick(96);
    std::vector<Bid> bids(pick(8));
    for (Bid& bid : bids) bid = {250 * (1 + pick(28)), 0.05 * (1 + pick(60))};
    return bids;
  }
};

TEST_P(Auctions, GiveTheMostAndTakeWhatItKeptFromTheOthers) {
  for (int round = 0; round < 200; ++round) {
    const std::vector<Bid> bids = draw();
    const std::vector<Award> awards = Auction(bids, offered).awards();
    ASSERT_EQ(awards.size(), bids.size());
    uint64_t gpus = 0;
    for (size_t i = 0; i < bids.size(); ++i) gpus += awards[i].has_won ? bids[i].gpu_milli : 0;
    EXPECT_LE(gpus, offered);
    EXPECT_NEAR(gain_of_winners(bids, awards), best_of_all_sets(bids, offered), 1e-9);
    for (size_t i = 0; i < bids.size(); ++i) {
      const double kept_back = best_of_all_sets(bids, offered, i) - gain_of_winners(bids, awards, i);
      EXPECT_NEAR(awards[i].part, awards[i].has_won ? std::exp(-kept_back) : 0, 1e-9);
    }
  }
}

/// What somebody has of a lie is what he won, for the part of the time that is left to him, in truth.
TEST_P(Auctions, NobodyGainsByALie) {
  for (int round = 0; round < 100; ++round) {
    const std::vector<Bid> bids = draw();
    if (bids.empty()) continue;
    const size_t liar = pick(static_cast<uint32_t>(bids.size() - 1));
    const auto use = [&](const std::vector<Bid>& told) {
      const Award award = Auction(told, offered).awards()[liar];
      return award.has_won ? award.part * std::exp(bids[liar].gain) : 1;
    };
    std::vector<Bid> lie = bids;
    lie[liar].gain = 0.1 * pick(100);
    EXPECT_LE(use(lie), use(bids) + 1e-9) << "told " << lie[liar].gain << " for " << bids[liar].gain;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Auctions, ::testing::Range(1U, 9U));

TEST(Auction, HasBounds) {
  EXPECT_TRUE(Auction({}, 8'000).awards().empty());
  EXPECT_FALSE(Auction({{1'000, 1}}, 0).awards()[0].has_won);
  EXPECT_FALSE(Auction({{1'000, NAN}, {1'000, -1}}, 8'000).awards()[0].has_won);
  EXPECT_TRUE(Auction({{0, 1}}, 0).awards()[0].has_won) << "it needs none";
  const std::vector<Award> parts = Auction({{250, 1}, {250, 1}, {500, 1}, {250, 0.5}}, 1'000).awards();
  EXPECT_TRUE(parts[0].has_won && parts[1].has_won && parts[2].has_won && !parts[3].has_won) << "of one GPU";
  const std::vector<Award> all =
      Auction({{100'000'000, 1}, {50'000'000, 0.7}, {50'000'000, 0.7}}, 120'000'000).awards();
  EXPECT_FALSE(all[0].has_won) << "in units of several GPUs";
  EXPECT_TRUE(all[1].has_won && all[2].has_won);
  EXPECT_NEAR(all[1].part, std::exp(-0.3), 1e-9) << "without it the first would have won, which gains 0.3 more";
}

}  // namespace
}  // namespace gw::sched
