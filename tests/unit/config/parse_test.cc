// What a configuration file may say, and what comes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.h"

namespace gw::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Parses a text after the one line that every test host can resolve.
Config parsed(const std::string& text) {
  auto config = parse("controller: {user: root}\n" + text, "f.yaml");
  EXPECT_TRUE(config) << config.error().text();
  return config ? *config : Config{};
}

std::vector<std::string> node_names(const Config& c) {
  std::vector<std::string> names;
  for (const auto& node : c.nodes) names.push_back(node.name);
  return names;
}

TEST(Qos, TheBuiltInDefaultMayBeWritten) {
  const auto c = parse("controller: {user: root}\nqos: [{name: a}]\njobs: {default_qos: normal}\n", "f");
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->default_qos, "normal");
  EXPECT_TRUE(c->default_qos_implied);
  EXPECT_EQ(c->qos.back().name, "normal");
}

TEST(Parse, EmptyFileHasDefaultsAndOneWarning) {
  Config c = parsed("");
  EXPECT_EQ(c.cluster, "gangway");
  EXPECT_EQ(c.controller_port, 6920);
  EXPECT_EQ(c.controller_uid, 0u);
  EXPECT_EQ(c.path, "f.yaml");
  EXPECT_EQ(c.kill_wait, base::seconds(30));
  ASSERT_EQ(c.qos.size(), 1u);
  EXPECT_EQ(c.qos[0].name, "normal");
  ASSERT_EQ(c.warnings.size(), 1u);
  EXPECT_THAT(c.warnings[0], HasSubstr("no nodes"));
}

TEST(Parse, EverySection) {
  auto config = parse(R"(
cluster: {name: aurora}
controller:
  host: "::1"
  port: 7000
  listen: 10.0.0.1
  user: 4242
  state_dir: /s
  log_dir: /l
  run_dir: /r
auth: {munge_socket: /m}
node_daemon: {spool_dir: /sp, containment: cgroup_v2, constrain_devices: false, max_processes: 99, step_ports: 7000-7999}
jobs:
  allow_root_jobs: true
  max_jobs: 5
  max_script_bytes: 64K
  kill_wait: 10s
  min_job_age: 2m
  start_timeout: 1h
  max_launch_failures: 3
  requeue: false
  default_qos: low
links: {heartbeat: 2s, node_timeout: 1m30s, fence_program: /f}
scheduler:
  order: my_order
  order_weights: {age: 1000, fair-share: 2.5, nice: -1e3}
  fit: SPREAD
  reservations: 5
  candidates: 0
  usage_half_life: 1d
  fairness_over_time: 0.25
admins: root, 77
plugin_dirs: [/a, /b]
)",
                      "f");
  ASSERT_TRUE(config) << config.error().text();
  const Config& c = *config;
  EXPECT_EQ(c.cluster, "aurora");
  EXPECT_EQ(c.controller_host, "::1");
  EXPECT_EQ(c.controller_port, 7000);
  EXPECT_EQ(c.listen, "10.0.0.1");
  EXPECT_EQ(c.controller_uid, 4242u);
  EXPECT_EQ(c.state_dir + c.log_dir + c.run_dir + c.munge_socket + c.spool_dir + c.step_ports, "/s/l/r/m/sp7000-7999");
  EXPECT_EQ(c.containment, "cgroup_v2");
  EXPECT_FALSE(c.constrain_devices);
  EXPECT_EQ(c.max_processes, 99u);
  EXPECT_TRUE(c.allow_root_jobs);
  EXPECT_EQ(c.max_jobs, 5u);
  EXPECT_EQ(c.max_script_bytes, 65536u);
  EXPECT_EQ(c.kill_wait, base::seconds(10));
  EXPECT_EQ(c.min_job_age, base::minutes(2));
  EXPECT_EQ(c.start_timeout, base::hours(1));
  EXPECT_EQ(c.max_launch_failures, 3u);
  EXPECT_FALSE(c.requeue);
  EXPECT_EQ(c.default_qos, "low");
  EXPECT_EQ(c.qos.back().name, "low");
  EXPECT_EQ(c.heartbeat, base::seconds(2));
  EXPECT_EQ(c.node_timeout, base::seconds(90));
  EXPECT_EQ(c.fence_program, "/f");
  EXPECT_EQ(c.order, "my_order") << "may come from plugin_dirs";
  EXPECT_THAT(c.order_weights, ElementsAre(Pair("age", 1000), Pair("fair-share", 2.5), Pair("nice", -1000)));
  EXPECT_EQ(c.fit, model::Fit::kSpread);
  EXPECT_EQ(c.reservations, 5u);
  EXPECT_EQ(c.candidates, 0u);
  EXPECT_EQ(c.usage_half_life, base::hours(24));
  EXPECT_EQ(c.fairness_over_time, 0.25);
  EXPECT_THAT(c.admins, ElementsAre("root", "77"));
  EXPECT_THAT(c.plugin_dirs, ElementsAre("/a", "/b"));
}

TEST(Parse, WhatAUserMayTake) {
  const Config c = parsed(R"(
users:
  requests_per_second: 0
  request_burst: 9
  max_jobs: 6
  max_stored_bytes: 2M
  kept_replies: 7
  kept_reply_bytes: 128K
)");
  EXPECT_EQ(c.user_requests_per_second, 0u);
  EXPECT_EQ(c.user_request_burst, 9u);
  EXPECT_EQ(c.user_max_jobs, 6u);
  EXPECT_EQ(c.user_max_stored_bytes, 2u << 20);
  EXPECT_EQ(c.user_kept_replies, 7u);
  EXPECT_EQ(c.user_kept_reply_bytes, 128u << 10);
}

TEST(Parse, NodesAreExpandedWithTheirAddresses) {
  Config c = parsed(R"(
nodes:
  - name: n[08-10]
    address: 127.0.1.[1-3]
    features: [a100, ib]
    weight: 5
    gpus: 8
    reserved_memory: 2G
    reserved_cores: 1
    topology: dgx-h100
  - {name: "x1,x3", address: 10.0.0.1}
  - {names: [y1, "z[1-2]"], address: ["fe80::1%eth0", h2.example.org, 10.0.0.9], features: "a, b", topology: /t.xml}
  - w
)");
  EXPECT_THAT(node_names(c), ElementsAre("n08", "n09", "n10", "x1", "x3", "y1", "z1", "z2", "w"));
  EXPECT_EQ(c.nodes[1].address, "127.0.1.2");
  EXPECT_THAT(c.nodes[2].features, ElementsAre("a100", "ib"));
  EXPECT_EQ(c.nodes[2].weight, 5u);
  EXPECT_EQ(c.nodes[2].expected_gpus, 8u);
  EXPECT_EQ(c.nodes[2].reserved_mem_mb, 2048u);
  EXPECT_EQ(c.nodes[2].reserved_cores, 1u);
  EXPECT_EQ(c.nodes[2].topology, "dgx-h100");
  EXPECT_EQ(c.nodes[3].address, "10.0.0.1");
  EXPECT_EQ(c.nodes[4].address, "10.0.0.1");
  EXPECT_EQ(c.nodes[5].address, "fe80::1%eth0");
  EXPECT_EQ(c.nodes[7].address, "10.0.0.9");
  EXPECT_THAT(c.nodes[6].features, ElementsAre("a", "b"));
  EXPECT_EQ(c.nodes[6].topology, "/t.xml");
  EXPECT_EQ(c.nodes[8].address, "");
  EXPECT_EQ(c.nodes[8].weight, 1u);
}

TEST(Parse, TheNetworkBecomesATree) {
  Config c = parsed(R"(
nodes: ["n[0-5]"]
network:
  - {switch: leaf0, nodes: "n[0-1]"}
  - {switch: leaf1, nodes: [n2, n3]}
  - {switch: block0, switches: "leaf[0-1]"}
)");
  ASSERT_EQ(c.switches.size(), 3u);
  EXPECT_EQ(c.switches[1].name, "leaf1");
  EXPECT_THAT(c.switches[1].nodes, ElementsAre("n2", "n3"));
  EXPECT_THAT(c.switches[2].switches, ElementsAre("leaf0", "leaf1"));
  EXPECT_THAT(c.network.order, ElementsAre("n0", "n1", "n2", "n3"));
  ASSERT_EQ(c.network.switches.size(), 3u);
  EXPECT_EQ(c.network.switches[2].name, "block0");
  EXPECT_EQ(c.network.switches[1].parent, 2u);
  EXPECT_TRUE(parsed("nodes: [n]\nnetwork: []\n").network.empty());
}

TEST(Parse, WithoutPartitionsThereIsOneOfAllNodes) {
  Config c = parsed("nodes: [\"n[1-3]\"]\n");
  ASSERT_EQ(c.partitions.size(), 1u);
  EXPECT_EQ(c.partitions[0].name, "default");
  EXPECT_TRUE(c.partitions[0].is_default);
  EXPECT_TRUE(c.partitions[0].unlimited);
  EXPECT_EQ(c.partitions[0].nodes, node_names(c));
  EXPECT_THAT(c.warnings, IsEmpty());
}

TEST(Parse, EveryPartitionKey) {
  Config c = parsed(R"(
nodes: ["n[1-4]"]
qos: [{name: high, priority: 10, description: "x: y"}, {name: higher, parent: high}]
partitions:
  - name: gpu
    nodes: [n2, "n[1-2]"]
    default: true
    default_for: [compute, aux]
    state: DRAIN
    tier: -3
    default_time: 30
    max_time: 1-12
    max_nodes: 2
    default_mem_per_cpu: 1G
    default_mem_per_gpu: 1.5G
    default_cpus_per_gpu: 6
    fit: worst
    cores_per_gpu_kept: 0
    allow_shared_gpus: true
    allow_users: [u, v]
    allow_groups: g
    allow_qos: high
    deny_users: w
    exclusive: true
    lease: 5m
    grace: 0s
  - {name: all, nodes: all, unlimited: true}
)");
  ASSERT_EQ(c.partitions.size(), 2u);
  const model::Partition& p = c.partitions[0];
  EXPECT_THAT(p.nodes, ElementsAre("n2", "n1")) << "in the order written, without repetition";
  EXPECT_TRUE(p.is_default && p.default_for_compute && p.default_for_aux && p.exclusive);
  EXPECT_EQ(p.state, model::PartitionState::kDrain);
  EXPECT_EQ(p.tier, -3);
  EXPECT_EQ(p.default_time, base::minutes(30));
  EXPECT_EQ(p.max_time, base::hours(36));
  EXPECT_EQ(p.max_nodes, 2u);
  EXPECT_EQ(p.default_mem_per_cpu_mb, 1024u);
  EXPECT_EQ(p.default_mem_per_gpu_mb, 1536u);
  EXPECT_EQ(p.default_cpus_per_gpu, 6u);
  EXPECT_EQ(p.fit, model::Fit::kWorst);
  EXPECT_EQ(p.cores_per_gpu_kept, 0u);
  EXPECT_TRUE(p.allow_shared_gpus);
  EXPECT_EQ(c.partitions[1].fit, model::Fit::kDefault);
  EXPECT_EQ(c.partitions[1].cores_per_gpu_kept, 1u);
  EXPECT_FALSE(c.partitions[1].allow_shared_gpus);
  EXPECT_THAT(p.allow_users, ElementsAre("u", "v"));
  EXPECT_THAT(p.allow_groups, ElementsAre("g"));
  EXPECT_THAT(p.allow_qos, ElementsAre("high"));
  EXPECT_THAT(p.deny_users, ElementsAre("w"));
  EXPECT_EQ(p.lease, base::minutes(5));
  EXPECT_EQ(p.grace, base::seconds(0));
  EXPECT_EQ(c.partitions[1].nodes.size(), 4u);
  EXPECT_TRUE(c.partitions[1].unlimited);
  EXPECT_EQ(c.partitions[1].default_time, base::kUnlimited);
  ASSERT_EQ(c.qos.size(), 3u);
  EXPECT_EQ(c.qos[0].priority, 10);
  EXPECT_EQ(c.qos[0].description, "x: y");
  EXPECT_EQ(c.qos[1].parent, "high");
  EXPECT_EQ(c.qos[2].name, "normal");
}

TEST(Parse, APartitionThatIsAloneIsTheDefault) {
  Config one = parsed("nodes: [n]\npartitions: [{name: p, nodes: n, unlimited: true}]\n");
  EXPECT_TRUE(one.partitions[0].is_default);
  Config two =
      parsed("nodes: [n]\npartitions: [{name: p, nodes: n, unlimited: true}, {name: q, nodes: n, unlimited: true}]\n");
  EXPECT_FALSE(two.partitions[0].is_default);
  ASSERT_EQ(two.warnings.size(), 1u);
  EXPECT_THAT(two.warnings[0], HasSubstr("no partition is the default"));
}

TEST(Parse, GuaranteesThatMayNotBeMeantSoAreTold) {
  Config c = parsed(
      "nodes: [n]\npartitions: [{name: p, nodes: n, unlimited: true}]\nqos:\n"
      "  - {name: d, guaranteed: {gpu: 8, cpu: 64}}\n  - {name: t, parent: d, guaranteed: {gpu: 4}}\n");
  ASSERT_EQ(c.warnings.size(), 1u);
  EXPECT_THAT(c.warnings[0], HasSubstr("QOS t is guaranteed no cpu, QOS d above it is"));
  EXPECT_THAT(c.warnings[0], HasSubstr("give it a part, or take cpu away from d"));
}

TEST(Parse, TextIsTextWhateverItLooksLike) {
  Config c = parsed("cluster: 0123\nnodes: [no, 1e3]\n");
  EXPECT_EQ(c.cluster, "0123");
  EXPECT_THAT(node_names(c), ElementsAre("no", "1e3"));
}

TEST(Parse, BomAndCarriageReturns) {
  auto c = parse(
      "\xEF\xBB\xBF"
      "cluster: abc\r\ncontroller:\r\n  user: 0\r\n",
      "f");
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->cluster, "abc");
}

TEST(Parse, EmptySectionsAndLists) {
  Config c = parsed("jobs:\nnodes:\npartitions: []\nqos: ~\nadmins: []\n");
  EXPECT_TRUE(c.nodes.empty());
  EXPECT_EQ(c.partitions.size(), 1u);
}

TEST(Parse, UnknownAdminsAreWarnedOf) {
  Config c = parsed("nodes: [n]\nadmins: [root, no-such-user-here, \"@no-such-group-here\", 12345]\n");
  ASSERT_EQ(c.warnings.size(), 2u);
  EXPECT_THAT(c.warnings[0], HasSubstr("f.yaml:3:9: "));
  EXPECT_THAT(c.warnings[0], HasSubstr("user no-such-user-here"));
  EXPECT_THAT(c.warnings[1], HasSubstr("group no-such-group-here"));
}

}  // namespace
}  // namespace gw::config
