// Nodes with their links, steps with their places, who is placed where, and what was used.
#include <gtest/gtest.h>

#include "ctld/core/tables/node_table.h"
#include "ctld/core/tables/placements.h"
#include "ctld/core/tables/step_table.h"
#include "ctld/core/tables/usage_table.h"

namespace gw::ctld {
namespace {

using base::JobId;
using base::NodeId;

TEST(NodeTable, ANodeHasOneLinkAndALinkOneNode) {
  NodeTable nodes;
  const NodeId a = nodes.add("a").id, b = nodes.add("b").id;
  nodes.connect(a, 10);
  nodes.connect(b, 11);
  EXPECT_EQ(nodes.node_of(10), a);
  EXPECT_EQ(nodes.link_of(b), std::optional<LinkId>(11));
  EXPECT_EQ(nodes.connected(), 2U);
  nodes.disconnect(10);
  EXPECT_FALSE(nodes.has_link(a));
  EXPECT_FALSE(nodes.node_of(10));
  nodes.erase(b);
  EXPECT_EQ(nodes.connected(), 0U);
  EXPECT_FALSE(nodes.contains("b"));
  EXPECT_FALSE(nodes.id_of("b"));
  EXPECT_EQ(nodes.name_of(a), "a");
  EXPECT_GT(nodes.add("b").id.value, b.value) << "ids are never used again";
}

TEST(NodeTable, ANodeIsWrittenWhenItsStateIsAnother) {
  NodeTable nodes;
  model::Node& node = nodes.add("a");
  const auto told = [&] {
    nodes.changed(node);
    return nodes.take_rows().size();
  };
  const auto two = model::flat_topology(8, 1024, 2, "t4");
  node.topology = std::make_shared<const model::NodeTopology>(two);
  EXPECT_EQ(told(), 1U);
  EXPECT_EQ(told(), 0U);
  node.last_seen.us = 7;
  node.topology = std::make_shared<const model::NodeTopology>(two);
  EXPECT_EQ(told(), 0U) << "it came back as it was";
  node.boot_id = "another";
  EXPECT_EQ(told(), 1U);
  node.topology = std::make_shared<const model::NodeTopology>(model::flat_topology(8, 1024, 1, "t4"));
  EXPECT_EQ(told(), 1U);
  node.topology.reset();
  EXPECT_EQ(told(), 1U);
}

TEST(NodeTable, ARowIsWrittenWhenItDiffers) {
  NodeTable nodes;
  model::Node& node = nodes.add("a");
  nodes.changed(node);
  EXPECT_EQ(nodes.take_rows().size(), 1U) << "it is new";
  node.last_seen = {5};
  node.connected = true;
  nodes.changed(node);
  EXPECT_TRUE(nodes.take_rows().empty()) << "when it was heard of is no part of the state";
  node.reason = "disk";
  nodes.changed(node);
  nodes.changed(node);
  EXPECT_EQ(nodes.take_rows().size(), 1U);
  node.reason = "fan";
  nodes.is_stored(node);
  nodes.changed(node);
  EXPECT_TRUE(nodes.take_rows().empty());
}

model::Step step_on(uint32_t number, std::initializer_list<uint32_t> nodes) {
  model::Step step;
  step.job = JobId(1);
  step.number = number;
  step.attempt = 2;
  for (const uint32_t id : nodes) step.nodes.emplace_back().share.node = NodeId(id);
  return step;
}

TEST(StepTable, KnowsWhatIsOnANode) {
  StepTable steps;
  steps.keep(step_on(0, {1, 2}));
  steps.keep(step_on(1, {2}));
  EXPECT_EQ(steps.of(JobId(1)).size(), 2U);
  EXPECT_EQ(steps.count_of(JobId(1)), 2U);
  EXPECT_EQ(steps.count_of(JobId(2)), 0U);
  EXPECT_EQ(steps.on(NodeId(2)), (std::vector<StepKey>{{JobId(1), 0}, {JobId(1), 1}}));
  EXPECT_TRUE(steps.on(NodeId(2), JobId(7)).empty());
  EXPECT_EQ(steps.at(NodeId(2), 1, 1, 1).step, nullptr) << "of another attempt";
  const StepAt at = steps.at(NodeId(2), 1, 2, 1);
  ASSERT_NE(at.node, nullptr);
  steps.left(*at.step, *at.node);
  EXPECT_EQ(at.step->gone_nodes, 1U);
  EXPECT_EQ(steps.on(NodeId(2)), (std::vector<StepKey>{{JobId(1), 1}}));
  steps.drop({JobId(1), 0});
  EXPECT_TRUE(steps.on(NodeId(1)).empty());
  EXPECT_EQ(steps.find({JobId(1), 0}), nullptr);
}

TEST(StepTable, WhatTheStoreHadIsCountedAnew) {
  StepTable steps;
  model::Step stored = step_on(0, {1, 2});
  stored.nodes[0].is_gone = true;
  stored.gone_nodes = 7;
  stored.ready_nodes = 7;
  const model::Step& kept = steps.keep(std::move(stored));
  EXPECT_EQ(kept.gone_nodes, 1U);
  EXPECT_EQ(kept.ready_nodes, 0U);
  EXPECT_TRUE(steps.on(NodeId(1)).empty());
}

TEST(Placements, AJobIsWhereItWasPut) {
  Placements placements;
  placements.put(NodeId(1), JobId(5));
  EXPECT_TRUE(placements.is_on(NodeId(1), JobId(5)));
  const base::Time at{7'000'000}, later{9'000'000};
  EXPECT_EQ(placements.last_busy(NodeId(1), later), later) << "it is";
  EXPECT_EQ(placements.last_busy(NodeId(2), later), base::Time{});
  EXPECT_FALSE(placements.take(NodeId(2), JobId(5), at));
  EXPECT_TRUE(placements.take(NodeId(1), JobId(5), at));
  EXPECT_FALSE(placements.take(NodeId(1), JobId(5), at)) << "once";
  EXPECT_TRUE(placements.by_node().empty());
  EXPECT_EQ(placements.last_busy(NodeId(1), later), at);
  placements.set_holding(JobId(100), JobId(5));
  EXPECT_EQ(placements.job_of(JobId(100)), JobId(5));
  placements.drop_holding(JobId(100));
  EXPECT_FALSE(placements.job_of(JobId(100)));
}

TEST(UsageTable, UsersAndQosAreChargedForTheSame) {
  UsageTable usage{base::hours(1)};
  usage.change_rate({0}, 7, "x", 1'000);
  EXPECT_EQ(usage.users().at(7).rate, usage.qos().at("x").rate);
  EXPECT_EQ(usage.take_rows().size(), 2U);
  const auto news = usage.news(base::Time{} + base::hours(1), true, false);
  ASSERT_TRUE(news);
  EXPECT_TRUE(news->qos.empty()) << "it does not count";
  EXPECT_GT(news->usage.at(7), 0);
  EXPECT_EQ(usage.last_sent_users(), news->usage);
  EXPECT_FALSE(usage.news(base::Time{} + base::hours(1), true, false)) << "known already";
  EXPECT_FALSE(usage.restore({"user", "nobody", 1, {}}));
  EXPECT_FALSE(usage.restore({"user", "8", -1, {}}));
  EXPECT_TRUE(usage.restore({"qos", "y", 5, {}}));
}

}  // namespace
}  // namespace gw::ctld
