// Names, paths and the configuration of private clusters.
#include "cmds/gangway/dev/dev.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "cmds/gangway/dev/dev_config.h"
#include "cmds/gangway/dev/dev_layout.h"
#include "config/config.h"

namespace gw::cmds {
namespace {

TEST(DevLayout, GivesEachNodeItsOwnLoopbackAddress) {
  std::set<std::string> seen;
  for (uint32_t i = 0; i < kMaxDevNodes; ++i) {
    const std::string address = dev_node_address(i);
    EXPECT_TRUE(address.starts_with("127.0.")) << address;
    EXPECT_FALSE(address.ends_with(".0") || address.ends_with(".255")) << address;
    EXPECT_TRUE(seen.insert(address).second) << address;
  }
  EXPECT_EQ(dev_node_address(0), "127.0.1.2");
  EXPECT_EQ(dev_node_address(250), "127.0.2.2");
  EXPECT_EQ(dev_node_name(12), "n12");
}

TEST(DevLayout, MakesPathsAbsoluteAndClean) {
  const auto layout = dev_layout("/nonexistent/a/../b/");
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->dir, "/nonexistent/b");
  EXPECT_EQ(layout->config(), "/nonexistent/b/gangway.yaml");
  EXPECT_TRUE(layout->runtime.empty());
}

/// A runtime folder of this user, and a D that leads to it.
class RunningCluster : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(runtime_), nullptr);
    ASSERT_NE(::mkdtemp(dir_), nullptr);
    ASSERT_EQ(::symlink(runtime_, (std::string(dir_) + "/run").c_str()), 0);
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(runtime_, ignored);
    std::filesystem::remove_all(dir_, ignored);
  }
  char runtime_[32] = "/tmp/gw-unit-XXXXXX";
  char dir_[32] = "/tmp/gw-unit-dev-XXXXXX";
};

TEST_F(RunningCluster, IsTakenByItsOwner) {
  const auto layout = dev_layout(dir_);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->runtime, runtime_);
  EXPECT_EQ(layout->foreign, "");
}

TEST_F(RunningCluster, IsNotTakenByOthersButTheyHearWhoseItIs) {
  const uint32_t owner = ::geteuid();
  auto layout = dev_layout(dir_, owner + 1);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->runtime, "");
  EXPECT_EQ(layout->foreign, runtime_);
  EXPECT_EQ(layout->owner, owner);
  const std::string text = foreign_cluster(*layout, "hint").text();
  EXPECT_NE(text.find("the cluster in " + std::string(dir_) + " belongs to "), std::string::npos) << text;
  EXPECT_NE(text.find("uid " + std::to_string(owner)), std::string::npos) << text;
  DevOptions options;
  options.config = "/nonexistent";  // should it be taken all the same, nothing gets started
  const auto up = dev_bring_up(options, *layout, [] { return base::Status{}; });
  ASSERT_FALSE(up);
  EXPECT_NE(up.error().text().find("belongs to"), std::string::npos) << up.error().text();
  EXPECT_EQ(std::filesystem::read_symlink(std::string(dir_) + "/run"), runtime_);
}

TEST(DevEnvironment, PathStaysTheSameWhenItIsMadeAgain) {
  const std::vector<std::string> own = {"/g/bin", "/g/slurm"};
  const std::string once = in_front(own, "/usr/bin:/g/slurm:/bin");
  EXPECT_EQ(once, "/g/bin:/g/slurm:/usr/bin:/bin");
  EXPECT_EQ(in_front(own, once), once);
  EXPECT_EQ(in_front(own, "/bin:"), "/g/bin:/g/slurm:/bin:");
}

TEST(DevConfig, IsAGoodConfiguration) {
  DevLayout layout;
  layout.dir = "/some/where/with \"quotes\" and spaces";
  layout.runtime = "/tmp/gw-1000-Ab3dEf";
  DevOptions options;
  options.nodes = 3;
  options.topologies = {"dgx-h100", "l40s"};
  const auto text = dev_config_text(layout, options, 23456);
  ASSERT_TRUE(text);
  const auto config = config::parse(*text, "made.yaml");
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->cluster, "dev-Ab3dEf");
  EXPECT_EQ(config->controller_port, 23456);
  EXPECT_EQ(config->controller_host, "127.0.0.1");
  EXPECT_EQ(config->munge_socket, "/tmp/gw-1000-Ab3dEf/munge.socket");
  EXPECT_EQ(config->state_dir, layout.dir + "/state");
  ASSERT_EQ(config->nodes.size(), 3U);
  EXPECT_EQ(config->nodes[1].topology, "l40s");
  EXPECT_EQ(config->nodes[2].topology, "dgx-h100");
  EXPECT_EQ(config->nodes[2].address, "127.0.1.4");
}

TEST(DevConfig, AFolderIsNoConfiguration) {
  DevOptions options;
  options.config = "/tmp";
  const auto text = dev_config_text(DevLayout{}, options, 1);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().text().find("/tmp: it is a folder"), std::string::npos);
}

TEST(DevConfig, RefusesAnUnknownTopologyByName) {
  DevOptions options;
  options.topologies = {"dgx-h10"};
  const auto status = check_topologies(options);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find("dgx-h100"), std::string::npos);
}

}  // namespace
}  // namespace gw::cmds
