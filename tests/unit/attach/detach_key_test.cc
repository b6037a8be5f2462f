// The key that leaves a terminal.
#include "attach/local/detach_key.h"

#include <gtest/gtest.h>

namespace gw::attach {
namespace {

TEST(DetachKey, IsPressedTwice) {
  DetachKey key;
  EXPECT_EQ(key.feed("before\x1c"), "before");
  EXPECT_TRUE(key.is_held());
  EXPECT_FALSE(key.is_found());
  EXPECT_EQ(key.feed("\x1c after"), "");
  EXPECT_TRUE(key.is_found());
  EXPECT_FALSE(key.is_held());
}

TEST(DetachKey, AloneItGoesOnInOrder) {
  DetachKey key;
  EXPECT_EQ(key.feed("a\x1c"
                     "b"),
            "a\x1c"
            "b");
  EXPECT_EQ(key.feed("c\x1c"), "c");
  EXPECT_EQ(key.feed("\x0e"), "\x1c\x0e");
  EXPECT_EQ(key.feed("\x1c"), "");
  EXPECT_EQ(key.give_up(), "\x1c");
  EXPECT_EQ(key.give_up(), "");
  EXPECT_EQ(key.feed("\x1cx\x1c"), "\x1cx");
  EXPECT_FALSE(key.is_found());
}

}  // namespace
}  // namespace gw::attach
