// Which of a host's addresses others are told.
#include "noded/shell/own_address.h"

#include <gtest/gtest.h>

namespace gw::noded {
namespace {

TEST(OwnAddress, IsOneThatOthersCanReach) {
  struct Row {
    const char* what;
    HostAddresses host;
    std::string chosen;
  };
  const std::vector<std::string> two = {"127.0.0.1", "10.1.0.5", "192.168.7.5", "::1", "fe80::1", "fd00::5"};
  const Row rows[] = {
      {"the name's, of several", {two, {"192.168.7.5"}, {"10.1.0.5"}}, "192.168.7.5"},
      {"not the loopback address that Debian gives the name", {two, {"127.0.1.1"}, {"10.1.0.5"}}, "10.1.0.5"},
      {"not what no interface has", {two, {"203.0.113.9"}, {"10.1.0.5"}}, "10.1.0.5"},
      {"the name's, after one that does not serve", {two, {"127.0.1.1", "fd00::5"}, {"10.1.0.5"}}, "fd00::5"},
      {"any interface's without a way out", {two, {}, {}}, "10.1.0.5"},
      {"never a cable's own", {{"::1", "fe80::1", "169.254.3.4"}, {"fe80::1"}, {}}, ""},
      {"none", {{"127.0.0.1", "::1"}, {"127.0.1.1"}, {"127.0.0.1"}}, ""},
  };
  for (const Row& row : rows) EXPECT_EQ(choose_address(row.host), row.chosen) << row.what;
}

}  // namespace
}  // namespace gw::noded
