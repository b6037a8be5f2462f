// Where the controller listens.
#include "ctld/shell/listen_host.h"

#include <gtest/gtest.h>

namespace gw::ctld {
namespace {

TEST(ListenHost, LetsInWhomTheNameSends) {
  struct Row {
    const char* what;
    std::string host;
    std::vector<std::string> here;
    std::string chosen;
  };
  const Row rows[] = {
      {"the name's address", "head", {"10.0.0.1"}, "10.0.0.1"},
      {"likewise", "head", {"fd00::1"}, "fd00::1"},
      {"Debian's /etc/hosts gives the host's own name this address", "head", {"127.0.1.1"}, "*"},
      {"and may give it another one, too", "head", {"127.0.1.1", "10.0.0.1"}, "10.0.0.1"},
      {"a name of two addresses", "head", {"10.0.0.1", "fd00::1"}, "*"},
      {"one that is not here, but forwarded to it", "head", {}, "*"},
      {"likewise", "203.0.113.5", {}, "*"},
      {"for this machine alone", "localhost", {"::1", "127.0.0.1"}, "localhost"},
      {"likewise", "127.0.0.1", {"127.0.0.1"}, "127.0.0.1"},
      {"likewise", "::1", {"::1"}, "::1"},
      {"an address", "fd00::1", {"fd00::1"}, "fd00::1"},
  };
  for (const Row& row : rows) EXPECT_EQ(choose_listen_host(row.host, row.here), row.chosen) << row.what;
}

TEST(ListenHost, KnowsWhatIsHere) {
  EXPECT_EQ(listen_host("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(listen_host("192.0.2.77"), "*");
}

}  // namespace
}  // namespace gw::ctld
