// Names: what they may hold, and how long they may be.
#include "base/name.h"

#include <gmock/gmock.h>

#include <string>

namespace gw::base {
namespace {

TEST(Names, BeginWithALetterOrDigit) {
  for (const char* good : {"a", "7", "team-a", "v1.2_x"}) EXPECT_TRUE(check_name(good)) << good;
  for (const char* bad : {"", "-a", ".a", "_a", "a b", "a/b", "@a", "\xc3\xa4", "a\n"})
    EXPECT_FALSE(check_name(bad)) << bad;
}

TEST(Names, HaveALargestLength) {
  EXPECT_TRUE(check_name(std::string(kMaxName, 'x')));
  EXPECT_THAT(check_name(std::string(kMaxName + 1, 'x')).error().what, testing::HasSubstr("longer than 64"));
  EXPECT_TRUE(check_name(std::string(200, 'x'), 255));
}

}  // namespace
}  // namespace gw::base
