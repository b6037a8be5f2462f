// Versions of programs as numbers.
#include "model/version.h"

#include <gtest/gtest.h>

namespace gw::model {
namespace {

TEST(Version, OrdersAsVersionsDo) {
  EXPECT_EQ(parse_version("0.1.0"), kFirstVersion);
  EXPECT_LT(parse_version("0.9.12"), parse_version("0.10.0"));
  EXPECT_LT(parse_version("0.10.999"), parse_version("1.0.0"));
  EXPECT_EQ(parse_version("999.999.999"), version(999, 999, 999));
}

TEST(Version, WhatIsNoneIsNotKnown) {
  for (const char* text : {"", "1", "1.2", "1.2.", "1.2.3.4", "1.2.x", "v1.2.3", "1.2.3-rc1", "-1.2.3", "1.1000.0",
                           " 1.2.3", "99999999999.0.0", "1..2"})
    EXPECT_EQ(parse_version(text), 0U) << text;
}

}  // namespace
}  // namespace gw::model
