// Wildcards in addresses: which hosts are one, and what others are told instead.
#include "base/reach.h"

#include <gtest/gtest.h>

namespace gw::base {
namespace {

TEST(Reach, WildcardsAreReplacedWhateverTheirSpelling) {
  for (const char* said : {"*:7", "0.0.0.0:7", "[::]:7", "[0:0::0]:7", "[0:0:0:0:0:0:0:0]:7", "[::ffff:0.0.0.0]:7"}) {
    EXPECT_EQ(reachable_address(said, "10.0.0.1"), "10.0.0.1:7") << said;
    EXPECT_EQ(reachable_address(said, "fd00::1"), "[fd00::1]:7") << said;
    EXPECT_EQ(reachable_address(said, "n1.example.org"), "n1.example.org:7") << said;
  }
}

TEST(Reach, OtherAddressesStay) {
  for (const char* said : {"127.0.0.1:7", "10.0.0.9:7", "[::1]:7", "[fd00::]:7", "n1:7", "0.0.0.1:7", "", "*", ":7"})
    EXPECT_EQ(reachable_address(said, "10.0.0.1"), said);
}

TEST(Reach, HostOfAnAddress) {
  EXPECT_EQ(host_of_address("10.0.0.1:7"), "10.0.0.1");
  EXPECT_EQ(host_of_address("[fd00::1]:7"), "fd00::1");
  EXPECT_EQ(host_of_address("n1:7"), "n1");
  EXPECT_EQ(host_of_address("n1"), "");
}

TEST(Reach, WhatMeansNothingElsewhere) {
  for (const char* host : {"", "*", "localhost", "127.0.0.1", "127.0.1.1", "0.0.0.0", "::", "::1", "[::1]", "fe80::1",
                           "fe80::1%eth0", "169.254.1.2", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_local_host(host)) << host;
  for (const char* host : {"10.0.0.1", "128.0.0.1", "fd00::1", "2001:db8::1", "n1", "::ffff:10.0.0.1", "169.253.1.2"})
    EXPECT_FALSE(is_local_host(host)) << host;
}

}  // namespace
}  // namespace gw::base
