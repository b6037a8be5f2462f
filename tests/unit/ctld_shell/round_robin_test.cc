// Whose turn it is.
#include "ctld/shell/round_robin.h"

#include <gtest/gtest.h>

#include <vector>

namespace gw::ctld {
namespace {

std::vector<ConnId> all(RoundRobin& turns) {
  std::vector<ConnId> out;
  while (const auto conn = turns.next()) out.push_back(*conn);
  return out;
}

TEST(RoundRobin, AFloodOfOneUserDelaysTheOthersByOneTurnEach) {
  RoundRobin turns;
  for (ConnId conn = 100; conn < 1100; ++conn) turns.want(1, conn);
  turns.want(2, 7);
  turns.want(3, 8);
  const auto order = all(turns);
  ASSERT_EQ(order.size(), 1002u);
  EXPECT_EQ((std::vector<ConnId>{order[0], order[1], order[2], order[3]}), (std::vector<ConnId>{100, 7, 8, 101}));
}

TEST(RoundRobin, WhoWantsAgainStandsBehindTheOthers) {
  RoundRobin turns;
  turns.want(1, 10);
  turns.want(1, 11);
  turns.want(2, 20);
  std::vector<ConnId> order;
  for (int i = 0; i < 6; ++i) {
    order.push_back(*turns.next());
    turns.want(order.back() / 10, order.back());
  }
  EXPECT_EQ(order, (std::vector<ConnId>{10, 20, 11, 20, 10, 20}));
}

TEST(RoundRobin, WantingTwiceIsOneTurn) {
  RoundRobin turns;
  turns.want(1, 10);
  turns.want(1, 10);
  EXPECT_EQ(all(turns), std::vector<ConnId>{10});
  EXPECT_TRUE(turns.empty());
  turns.want(1, 10);  // after its turn it may want one again
  EXPECT_EQ(all(turns), std::vector<ConnId>{10});
}

}  // namespace
}  // namespace gw::ctld
