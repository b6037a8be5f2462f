// Names, paths and the configuration of private clusters.
#include <gtest/gtest.h>

#include <set>

#include "cmds/gangway/dev_config.h"
#include "cmds/gangway/dev_layout.h"
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

TEST(DevConfig, RefusesAnUnknownTopologyByName) {
  DevOptions options;
  options.topologies = {"dgx-h10"};
  const auto status = check_topologies(options);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find("dgx-h100"), std::string::npos);
}

}  // namespace
}  // namespace gw::cmds
