// When a list is shown again (-i): at a rhythm of its own, however long an answer takes.
#include <gtest/gtest.h>

#include <chrono>

#include "cmds/shared/listing_options.h"

namespace gw::cmds {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ListingTurns, KeepTheirRhythm) {
  const std::chrono::steady_clock::time_point start{seconds(1000)};
  EXPECT_EQ(next_turn(start, seconds(2), start + milliseconds(1)), start + seconds(2));
  EXPECT_EQ(next_turn(start, seconds(2), start + milliseconds(1999)), start + seconds(2));
}

TEST(ListingTurns, ThatAreMissedAreLeftOut) {
  const std::chrono::steady_clock::time_point start{seconds(1000)};
  EXPECT_EQ(next_turn(start, seconds(2), start + milliseconds(2001)), start + seconds(4));
  EXPECT_EQ(next_turn(start, seconds(2), start + milliseconds(7300)), start + seconds(8));
}

TEST(ListingTurns, LieAheadHoweverLongTheMachineSlept) {
  const std::chrono::steady_clock::time_point start{seconds(1000)};
  const auto now = start + std::chrono::hours(1000) + milliseconds(500);
  EXPECT_EQ(next_turn(start, seconds(1), now), now + milliseconds(500));
}

}  // namespace
}  // namespace gw::cmds
