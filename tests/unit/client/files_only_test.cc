// What a statically linked command can find out by files alone. It sets the process's name service: each case is a
// process.
#include "client/conn/files_only.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace gw::client {
namespace {

// Ends the process: 0 if the controller of this configuration is known by files.
[[noreturn]] void ask(const std::string& text) {
  const std::string path = testing::TempDir() + "files_only." + std::to_string(getpid());
  std::ofstream(path) << text;
  setenv("GANGWAY_CONF", path.c_str(), 1);
  const bool is_known = is_controller_known_by_files();
  unlink(path.c_str());
  std::_Exit(is_known ? 0 : 1);
}

struct Case {
  const char* text;
  int exit_code;
};
class FilesOnly : public testing::TestWithParam<Case> {};
TEST_P(FilesOnly, KnowsOrDoesNot) {
  EXPECT_EXIT(ask(GetParam().text), testing::ExitedWithCode(GetParam().exit_code), "");
}
INSTANTIATE_TEST_SUITE_P(Configurations, FilesOnly,
                         testing::Values(Case{"controller:\n  host: 127.0.0.1\n  user: 0\n", 0},
                                         Case{"controller:\n  host: \"::1\"\n  user: root\nnodes: [a, b]\n", 0},
                                         Case{"controller:\n  host: 127.0.0.1\n  user: no-such-user\n", 1},
                                         Case{"controller:\n  host: no-such-host.invalid\n  user: 0\n", 1},
                                         Case{"controller: {host: 127.0.0.1, user: 0}\n", 1},
                                         Case{"controller:\n  port: 0\n  user: 0\n", 1}));

TEST(FilesOnlyTest, NoFileIsNotKnown) {
  setenv("GANGWAY_CONF", "/nonexistent/gangway.yaml", 1);
  EXPECT_EXIT(std::_Exit(is_controller_known_by_files() ? 0 : 1), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace gw::client
