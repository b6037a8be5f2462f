// Sweeps: what is a range of sizes, and which nodes a smaller or larger cluster has.
#include "sim/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/scenario.h"
#include "small.h"

namespace gw::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SweepRange, IsTwoSizesAndAStep) {
  EXPECT_THAT(parse_sweep("nodes=3..5")->sizes(), ElementsAre(3, 4, 5));
  EXPECT_THAT(parse_sweep("nodes=7..7")->sizes(), ElementsAre(7));
  EXPECT_THAT(parse_sweep("nodes=1..8:3")->sizes(), ElementsAre(1, 4, 7));
  EXPECT_EQ(parse_sweep("nodes=1..1000")->sizes().size(), kMostSizes);
}

TEST(SweepRange, IsRefusedWithTheWayToWriteIt) {
  for (const char* text : {"", "nodes", "nodes=", "nodes=4", "4..5", "gpus=4..5", "nodes=0..3", "nodes=1..3:0",
                           "nodes=-1..3", "nodes=1..3:", "nodes=1:3..5", "nodes=1..2..3", "nodes=1..99999999999"})
    EXPECT_THAT(parse_sweep(text).error().text(), HasSubstr("write nodes=40..60")) << text;
  EXPECT_THAT(parse_sweep("nodes=5..4").error().text(), HasSubstr("5 nodes are more than 4"));
  EXPECT_THAT(parse_sweep("nodes=1..1001").error().text(), HasSubstr("nodes=1..1001:2"));
}

config::ScenarioCluster cluster_of(const std::string& text) {
  auto file = config::parse_cluster(text, "c");
  EXPECT_TRUE(file) << (file ? "" : file.error().text());
  return file ? file->cluster : config::ScenarioCluster{};
}

std::vector<std::string> names_of(const config::ScenarioCluster& cluster) {
  std::vector<std::string> names;
  for (const config::ScenarioNode& node : cluster.nodes) names.push_back(node.name);
  return names;
}

constexpr const char* kTree = R"(
nodes: [{name: "n[0-5]", gpus: 8}]
network:
  - {switch: leaf0, nodes: "n[0-1]"}
  - {switch: leaf1, nodes: "n[2-3]"}
  - {switch: leaf2, nodes: "n[4-5]"}
  - {switch: block0, switches: leaf0}
  - {switch: block1, switches: "leaf[1-2]"}
  - {switch: top, switches: "block[0-1]"}
partitions: [{name: all, nodes: ALL}, {name: last, nodes: "n[3-5]"}]
reservations: [{name: r, nodes: "n[2-5]", duration: 1h, maintenance: true}, {name: gone, nodes: n5, duration: 1h, maintenance: true}]
)";

TEST(SweepCluster, OfFewerNodesHasTheFirst) {
  const auto small = with_nodes(cluster_of(kTree), 4);
  ASSERT_TRUE(small);
  EXPECT_THAT(names_of(*small), ElementsAre("n0", "n1", "n2", "n3"));
  EXPECT_THAT(small->partitions[1].nodes, ElementsAre("n3"));
  ASSERT_EQ(small->reservations.size(), 1u);
  EXPECT_THAT(small->reservations[0].nodes, ElementsAre("n2", "n3"));
  const model::Network& network = small->network;
  EXPECT_THAT(network.order, ElementsAre("n0", "n1", "n2", "n3"));
  ASSERT_EQ(network.switches.size(), 5u) << "leaf2 has no node";
  for (const model::Switch& s : network.switches) {
    if (s.name == "leaf1") {
      EXPECT_EQ(network.switches[s.parent].name, "block1");
    }
    if (s.name == "block1") {
      EXPECT_EQ(s.first, 2u);
      EXPECT_EQ(s.last, 4u);
      EXPECT_EQ(network.switches[s.parent].name, "top");
    }
  }
}

TEST(SweepCluster, WithoutANetworkGrowsByNodesLikeTheLast) {
  const auto large = with_nodes(cluster_of("nodes: [{name: \"n[08-09]\", gpus: 8}, {name: n11, gpus: 4}]\n"
                                           "partitions: [{name: all, nodes: ALL}, {name: old, nodes: n08}]\n"),
                                5);
  ASSERT_TRUE(large);
  EXPECT_THAT(names_of(*large), ElementsAre("n08", "n09", "n11", "n12", "n13"));
  EXPECT_EQ(large->nodes[4].gpus, 4u);
  EXPECT_THAT(large->partitions[0].nodes, ElementsAre("n08", "n09", "n11", "n12", "n13"));
  EXPECT_THAT(large->partitions[1].nodes, ElementsAre("n08"));
  EXPECT_THAT(names_of(*with_nodes(cluster_of("nodes: [b-2, b-1, a]"), 4)), ElementsAre("b-2", "b-1", "a", "a-1"));
  EXPECT_THAT(names_of(*with_nodes(cluster_of("nodes: [n10, n9]"), 4)), ElementsAre("n10", "n9", "n11", "n12"));
}

TEST(SweepCluster, WithANetworkDoesNotGrow) {
  EXPECT_THAT(with_nodes(cluster_of(kTree), 7).error().text(),
              HasSubstr("write the nodes and switches of the largest"));
}

TEST(SweepOutput, HasALineForEachSize) {
  testing::Replayed r;
  r.trace = "job_id,submit_s,duration_s,gpus\na,0,100,8\nb,0,100,8\n";
  std::vector<SweepPoint> points;
  for (const char* nodes : {"n0", "\"n[0-1]\""}) {
    r.cluster = std::string("nodes: [{gpus: 8, name: ") + nodes + "}]";
    points.push_back(point_of(r.result()));
  }
  EXPECT_EQ(points[0].summary.max_wait_s, 100);
  EXPECT_EQ(points[1].summary.max_wait_s, 0);
  EXPECT_EQ(points[1].gpus, 16);
  EXPECT_THAT(sweep_text(points), HasSubstr("\n      2       16"));
  EXPECT_THAT(sweep_json(points), HasSubstr("\"max_wait_s\": 100.0"));
}

}  // namespace
}  // namespace gw::sim
