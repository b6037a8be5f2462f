// What is said when there is no configuration: a private cluster that runs is named.
#include "client/conn/private_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gw::client {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(NoConfig, IsNoAnswerOfTheController) {
  const base::Error error{base::ErrorCode::kNotFound, "cannot read it", ""};
  EXPECT_EQ(explain_no_config(error, "/nowhere/gangway.yaml").code, base::ErrorCode::kUnavailable);
}

std::string hint(const std::string& path) {
  return explain_no_config({base::ErrorCode::kNotFound, "cannot read " + path, "old"}, path).hint;
}

/// The runtime folder of a private cluster whose controller runs, where commands look for it.
struct PrivateCluster {
  std::string runtime = "/tmp/gw-test-XXXXXX";
  fs::path state;

  PrivateCluster() {
    EXPECT_NE(::mkdtemp(runtime.data()), nullptr);
    state = runtime + " state";  // tests run beside each other
    fs::create_directories(state / "gangway/dev");
    fs::create_symlink(runtime, state / "gangway/dev/run");
    ::setenv("XDG_STATE_HOME", state.c_str(), 1);
    has_pid(::getpid());
  }
  ~PrivateCluster() {
    fs::remove_all(runtime);
    fs::remove_all(state);
  }
  PrivateCluster(const PrivateCluster&) = delete;
  PrivateCluster& operator=(const PrivateCluster&) = delete;
  void has_pid(int pid) const { std::ofstream(fs::path(runtime) / "gctld.pid") << pid << '\n'; }
};

TEST(NoConfig, NamesAPrivateClusterThatRuns) {
  const PrivateCluster cluster;
  EXPECT_EQ(hint("/nowhere/gangway.yaml"), "your private cluster runs: eval \"$(gangway dev env)\"");
  EXPECT_EQ(hint(cluster.runtime), "old") << "that is there: something else is wrong with it";
  cluster.has_pid(999999999);
  EXPECT_THAT(hint("/nowhere/gangway.yaml"), ::testing::Not(HasSubstr("your private cluster runs")));
}

/// Whoever can write to /tmp could have others pointed at a cluster of his.
TEST(NoConfig, NamesNoneOfSomebodyElse) {
  constexpr uid_t kNobody = 65534;
  const PrivateCluster cluster;
  const bool is_given_away = ::chown(cluster.runtime.c_str(), kNobody, kNobody) == 0;  // by root alone
  EXPECT_EQ(hint("/nowhere/gangway.yaml").find("your private cluster runs") == std::string::npos, is_given_away);
}

}  // namespace
}  // namespace gw::client
