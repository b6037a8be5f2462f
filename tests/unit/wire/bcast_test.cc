// The tree along which a file goes.
#include "wire/bcast.h"

#include <gtest/gtest.h>

namespace gw::wire {
namespace {

TEST(BcastTree, EachNodeHasOneParentAndIsItsChild) {
  for (const uint32_t width : {1u, 2u, 3u, 32u})
    for (uint32_t node = width; node < 500; ++node) {
      const uint32_t parent = bcast_parent(node, width);
      EXPECT_LT(parent, node);
      EXPECT_LE(first_bcast_child(parent, width), node);
      EXPECT_LT(node, first_bcast_child(parent, width) + width);
    }
}

TEST(BcastTree, IsAsDeepAsItsWidthAsksFor) {
  const auto depth = [](uint32_t node, uint32_t width) {
    uint32_t steps = 1;
    for (; !is_fed_by_command(node, width); node = bcast_parent(node, width)) ++steps;
    return steps;
  };
  EXPECT_EQ(depth(31, 32), 1u);
  EXPECT_EQ(depth(32, 32), 2u);
  EXPECT_EQ(depth(32 + 32 * 32 - 1, 32), 2u);
  EXPECT_EQ(depth(32 + 32 * 32, 32), 3u);
  EXPECT_EQ(depth(4, 1), 5u);
}

}  // namespace
}  // namespace gw::wire
