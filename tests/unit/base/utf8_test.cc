// Well-formed and broken UTF-8.
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace gw::base {
namespace {

TEST(Utf8, TellsGoodFromBad) {
  for (const char* good : {"", "abc", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

TEST(Utf8, LengthIsOfTheFirstCharacter) {
  EXPECT_EQ(utf8_length(""), 0u);
  EXPECT_EQ(utf8_length("a\xc3\xa4"), 1u);
  EXPECT_EQ(utf8_length("\xc3\xa4z"), 2u);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80\xff"), 4u);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98"), 0u);
}

}  // namespace
}  // namespace gw::base
