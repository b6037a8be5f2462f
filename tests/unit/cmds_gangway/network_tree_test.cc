// The network, as the configuration shows it and as it is drawn.
#include "cmds/gangway/topo/network_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gw::cmds {
namespace {

using testing::HasSubstr;

const std::vector<std::pair<std::string, std::string>> kEntries = {
    {"cluster", "c"},
    {"network.leaf.0.nodes", "n[0-1]"},  // a name may hold a dot
    {"network.leaf.0.switches", ""},
    {"network.leaf1.nodes", "n[2-3]"},
    {"network.leaf1.switches", ""},
    {"network.block0.nodes", ""},
    {"network.block0.switches", "leaf.0,leaf1"},
    {"partitions.p.nodes", "n[0-9]"},
};

NetworkView view() {
  auto network = network_of(kEntries);
  EXPECT_TRUE(network.has_value()) << network.error().text();
  NetworkView v{*network, {}};
  for (const char* node : {"n0", "n1", "n2", "n3", "x10", "x9"}) v.nodes[node] = {6, 1, 1};
  return v;
}

TEST(NetworkTree, IsReadFromTheConfiguration) {
  const auto network = network_of(kEntries);
  ASSERT_TRUE(network.has_value());
  ASSERT_EQ(network->switches.size(), 3u);
  EXPECT_EQ(network->switches[0].name, "leaf.0");
  EXPECT_EQ(network->switches[2].name, "block0");
  EXPECT_TRUE(network_of({{"cluster", "c"}})->empty());
  EXPECT_FALSE(network_of({{"network.a.nodes", "n["}}).has_value());
}

TEST(NetworkTree, IsDrawnWithItsNodes) {
  EXPECT_EQ(draw_network(view(), true),
            "block0                      4 nodes       32 GPUs       24 free\n"
            "├─ leaf.0  n[0-1]           2 nodes       16 GPUs       12 free\n"
            "└─ leaf1  n[2-3]            2 nodes       16 GPUs       12 free\n"
            "at no switch  x[9-10]       2 nodes       16 GPUs       12 free\n");
  EXPECT_THAT(draw_network(view(), false), HasSubstr("|- leaf.0  n[0-1]  "));
  EXPECT_THAT(draw_network(view(), false), HasSubstr("`- leaf1  n[2-3]  "));
}

TEST(NetworkTree, WithoutSwitchesThereAreOnlyNodes) {
  NetworkView v;
  v.nodes["n1"] = {};
  EXPECT_EQ(draw_network(v, true), "no switches  n1       1 node         0 GPUs        0 free\n");
  EXPECT_EQ(draw_network({}, true), "");
}

TEST(NetworkTree, DeeperLevelsKeepTheirBranches) {
  auto network = model::build_network(
      {{"l0", {"n0"}, {}}, {"l1", {"n1"}, {}}, {"b0", {}, {"l0"}}, {"b1", {}, {"l1"}}, {"top", {}, {"b0", "b1"}}}, {});
  const std::string text = draw_network({*network, {}}, false);
  EXPECT_THAT(text, HasSubstr("\n|- b0 "));
  EXPECT_THAT(text, HasSubstr("\n|  `- l0  n0 "));
  EXPECT_THAT(text, HasSubstr("\n`- b1 "));
  EXPECT_THAT(text, HasSubstr("\n   `- l1  n1 "));
}

TEST(NetworkTree, AsJson) {
  const std::string text = network_json(view());
  EXPECT_TRUE(text.starts_with("{\n  \"schema_version\": 1,\n  \"switches\": ["));
  EXPECT_THAT(text, HasSubstr("\"name\": \"leaf.0\",\n      \"level\": 0,\n      \"parent\": \"block0\""));
  EXPECT_THAT(text, HasSubstr("\"parent\": null"));
  EXPECT_THAT(text, HasSubstr("\"gpus_free\": 24"));
  EXPECT_THAT(text, HasSubstr("\"nodes_at_no_switch\": [\n    \"x9\",\n    \"x10\"\n  ]"));
}

}  // namespace
}  // namespace gw::cmds
