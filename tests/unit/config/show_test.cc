// dump(), entries(), diff() and restart_needed().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "config/config.h"

namespace gw::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Config parsed(const std::string& text) {
  auto config = parse(text, "f");
  EXPECT_TRUE(config) << config.error().text();
  return config ? *config : Config{};
}

const char kRich[] = R"(
cluster: abc
controller: {user: root, host: "::1", port: 7000}
jobs: {max_script_bytes: 1500, kill_wait: 90s, default_qos: "no"}
links: {fence_program: "/a b\"c\\d"}
admins: [root, "@root", "12"]
nodes:
  - {name: "n[1-4]", address: "127.0.1.[1-4]", features: [a, "true"], reserved_memory: 1537}
  - {name: "m[1-2]", address: ["fe80::1", x]}
  - {name: [z9, a1], gpus: 8, topology: "/t: x.xml"}
network:
  - {switch: leaf0, nodes: "n[1-4]"}
  - {switch: leaf1, nodes: "m[1-2],z9"}
  - {switch: top, switches: "leaf[0-1]"}
scheduler: {order: multifactor, order_weights: {age: 0.5, nice: 3}, fit: worst, usage_half_life: 36h,
            fairness_over_time: 1.5}
partitions:
  - {name: p, nodes: ALL, default: true, default_for: aux, state: down, default_time: 1:30, max_time: 3-0, lease: 1m,
     fit: spread, cores_per_gpu_kept: 3, allow_shared_gpus: true}
  - {name: q, nodes: [], unlimited: true, allow_users: ["DOM\\u", v]}
qos:
  - {name: "no"}
  - {name: low, description: "say \"hi\" # now", priority: -4, order: las2d, order_weights: {queue_1: 2}}
)";

TEST(Show, DumpParsesToTheSameConfig) {
  for (const char* text : {kRich, "controller: {user: root}"}) {
    Config before = parsed(text);
    Config after = parsed(dump(before));
    EXPECT_THAT(diff(before, after), IsEmpty());
    EXPECT_EQ(before.nodes, after.nodes);
    EXPECT_EQ(before.partitions, after.partitions);
    EXPECT_EQ(before.qos, after.qos);
    EXPECT_EQ(before.qos_orders.size(), after.qos_orders.size());
    EXPECT_EQ(before.switches, after.switches);
    EXPECT_EQ(before.network, after.network);
    EXPECT_EQ(before.order_weights, after.order_weights);
    EXPECT_EQ(before.fit, after.fit);
    EXPECT_EQ(before.fairness_over_time, after.fairness_over_time);
    EXPECT_EQ(dump(before), dump(after));
  }
}

TEST(Show, DumpOfDefaultsDocumentsEveryKey) {
  std::string text = dump({});
  EXPECT_THAT(text, HasSubstr("# Its TCP port. (number, 1 to 65535)\n  port: 6920\n"));
  EXPECT_THAT(text, HasSubstr("nodes: []\n"));
  EXPECT_THAT(text, HasSubstr("reserved_cores:"));
}

TEST(Show, EntriesAreFlatAndGroupNodes) {
  auto pairs = entries(parsed(kRich));
  EXPECT_THAT(pairs, Contains(Pair("cluster", "abc")));
  EXPECT_THAT(pairs, Contains(Pair("jobs.kill_wait", "1m30s")));
  EXPECT_THAT(pairs, Contains(Pair("jobs.max_script_bytes", "1500")));
  EXPECT_THAT(pairs, Contains(Pair("nodes.n[1-4].address", "127.0.1.[1-4]")));
  EXPECT_THAT(pairs, Contains(Pair("nodes.n[1-4].reserved_memory", "1537M")));
  EXPECT_THAT(pairs, Contains(Pair("nodes.m[1-2].address", "fe80::1,x")));
  EXPECT_THAT(pairs, Contains(Pair("partitions.p.default_for", "aux")));
  EXPECT_THAT(pairs, Contains(Pair("partitions.p.max_time", "3d")));
  EXPECT_THAT(pairs, Contains(Pair("qos.low.priority", "-4")));
  EXPECT_THAT(pairs, Contains(Pair("qos.low.order", "las2d")));
  EXPECT_THAT(pairs, Contains(Pair("qos.low.order_weights", "queue_1=2")));
  EXPECT_THAT(pairs, Contains(Pair("jobs.max_jobs", "1000000")));
  EXPECT_THAT(pairs, Contains(Pair("network.leaf0.nodes", "n[1-4]")));
  EXPECT_THAT(pairs, Contains(Pair("network.top.switches", "leaf[0-1]")));
  EXPECT_THAT(pairs, Contains(Pair("scheduler.fit", "worst")));
  EXPECT_THAT(pairs, Contains(Pair("scheduler.order_weights", "age=0.5,nice=3")));
  EXPECT_THAT(pairs, Contains(Pair("partitions.p.fit", "spread")));
}

TEST(Show, WeightsAreQuotedWhereYamlNeedsIt) {
  const Config before = parsed("controller: {user: root}\nscheduler: {order_weights: {\"null\": 1.5}}\n");
  EXPECT_EQ(parsed(dump(before)).order_weights, before.order_weights);
}

TEST(Show, DiffOfEqualsIsEmpty) { EXPECT_THAT(diff(parsed(kRich), parsed(kRich)), IsEmpty()); }

TEST(Show, DiffNamesKeysWithOldAndNew) {
  Config before = parsed(kRich);
  Config after = before;
  after.controller_port = 8000;
  after.kill_wait = base::minutes(1);
  after.munge_socket = "/m";
  after.constrain_devices = false;
  for (auto& node : after.nodes) node.weight = 7;
  after.nodes[0].topology = "dgx-h100";
  after.nodes.pop_back();
  model::NodeConfig added;
  added.name = "new1";
  after.nodes.push_back(added);
  after.partitions[0].max_time = base::hours(100);
  after.partitions.pop_back();
  after.qos[1].priority = 5;
  after.qos_orders["low"].order = "srsf";
  after.qos_orders["low"].weights.clear();
  after.order_weights["age"] = 2;
  after.fit = model::Fit::kBest;
  after.partitions[0].fit = model::Fit::kDefault;
  after.switches[1].nodes.pop_back();
  after.switches[2].name = "roof";
  EXPECT_THAT(
      diff(before, after),
      UnorderedElementsAre("controller.port: 7000 -> 8000", "auth.munge_socket: (none) -> /m",
                           "node_daemon.constrain_devices: true -> false", "jobs.kill_wait: 1m30s -> 1m",
                           "nodes.n[1-4],m[1-2],z9.weight: 1 -> 7", "nodes.n1.topology: (none) -> dgx-h100",
                           "nodes.new1: added", "nodes.a1: removed", "partitions.p.max_time: 3d -> 4d4h",
                           "partitions.q: removed", "qos.low.priority: -4 -> 5", "qos.low.order: las2d -> srsf",
                           "qos.low.order_weights: queue_1=2 -> (none)",
                           "scheduler.order_weights: age=0.5,nice=3 -> age=2,nice=3", "scheduler.fit: worst -> best",
                           "partitions.p.fit: spread -> default", "network.leaf1.nodes: m[1-2],z9 -> m[1-2]",
                           "network.roof: added", "network.top: removed"));
  EXPECT_THAT(restart_needed(before, after),
              UnorderedElementsAre("controller.port", "auth.munge_socket", "node_daemon.constrain_devices",
                                   "nodes.n1.topology"));
  EXPECT_THAT(restart_needed(before, before), IsEmpty());
}

TEST(Show, PathAndWarningsAreNoDifference) {
  Config before = parsed(kRich), after = before;
  after.path = "elsewhere";
  after.warnings = {"x"};
  EXPECT_THAT(diff(before, after), IsEmpty());
}

}  // namespace
}  // namespace gw::config
