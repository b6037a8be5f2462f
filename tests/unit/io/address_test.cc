// Addresses: what users write, and what is refused.
#include "io/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::io {
namespace {

using ::testing::HasSubstr;

TEST(Address, ReadsAndWritesEveryForm) {
  for (const std::string text : {"ctl1:6817", "10.0.0.7:0", "[::1]:65535", "*:6817", "unix:/run/g/s"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(parse_address("/run/s")->path, "/run/s");
  EXPECT_EQ(parse_address("[::1]:5")->host, "::1");
}

TEST(Address, RefusesWhatIsNone) {
  for (const std::string text :
       {"", "host", ":80", "host:", "host:x", "host:65536", "host:-1", "::1:80", "unix:relative", "unix:", "[]:80"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
  EXPECT_THAT(parse_address("/" + std::string(107, 'x')).error().what, HasSubstr("at most 107"));
  EXPECT_TRUE(parse_address("/" + std::string(106, 'x')));
}

TEST(Address, ResolvesNumericOnesWithoutALookUp) {
  EXPECT_FALSE(needs_lookup(*parse_address("127.0.0.1:1")));
  EXPECT_FALSE(needs_lookup(*parse_address("[::1]:1")));
  EXPECT_FALSE(needs_lookup(*parse_address("/s")));
  EXPECT_TRUE(needs_lookup(*parse_address("localhost:1")));
  EXPECT_EQ(resolve(*parse_address("127.0.0.1:80"))->front().text(), "127.0.0.1:80");
  EXPECT_EQ(resolve(*parse_address("[::ffff:10.1.2.3]:80"))->front().text(), "10.1.2.3:80");
}

}  // namespace
}  // namespace gw::io
