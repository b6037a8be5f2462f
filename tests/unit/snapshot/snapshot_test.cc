// Snapshots as bytes: what is refused, and what changes the hashes.
#include "snapshot/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sched/cluster_builder.h"
#include "wire/snapshot.pb.h"

namespace gw::snapshot {
namespace {

using sched::testing::Cluster;
using testing::HasSubstr;

const base::Time kNow{1'000'000'000};

/// Two nodes of four GPUs, one of them full; two jobs that wait.
struct Scene {
  Scene() : cluster(2, sched::testing::machine(8, 4, 32'000)) {
    model::NodeShare share;
    share.node = base::NodeId(1);
    share.name = "n1";
    share.gpus = base::IndexSet::first(4);
    share.cores = base::IndexSet::first(8);
    share.cpus = 16;
    share.tasks = 1;
    cluster.apply(sched::JobPlaced{base::JobId(9), "main", {{share}}, kNow, kNow + base::hours(1), nullptr});
    for (uint32_t id : {1, 2}) {
      sched::PendingJob job = sched::testing::pending(id, sched::testing::gang(2, 4));
      job.time_limit = base::hours(1);
      cluster.apply(sched::JobQueued{job});
    }
    input = sched::take_input(cluster.view, kNow, {});
    plan = sched::plan(cluster.view, kNow, {});
    bytes = *encode(input, plan, "0.1", "demo");
  }

  Cluster cluster;
  sched::PassInput input;
  sched::Plan plan;
  std::string bytes;
};

/// The scene's input as a message, changed, and written with the right hash.
template <typename Change>
base::Result<std::unique_ptr<sched::ClusterView>> restored(const Change& change) {
  Scene scene;
  change(scene.input);
  auto snapshot = decode(*encode(scene.input, scene.plan, "0.1", "demo"));
  if (!snapshot) return tl::unexpected(snapshot.error());
  return sched::restore_view(snapshot->input);
}

TEST(Snapshot, SaysWhereItComesFrom) {
  const Scene scene;
  const auto s = decode(scene.bytes);
  ASSERT_TRUE(s.has_value()) << s.error().text();
  EXPECT_EQ(s->version, "0.1");
  EXPECT_EQ(s->cluster, "demo");
  EXPECT_EQ(s->input.order, "fifo_skip");
  EXPECT_EQ(s->input.queue.size(), 2);
  EXPECT_EQ(s->input.running.size(), 1);
  EXPECT_EQ(s->plan_hash, plan_hash(scene.plan));
}

TEST(Snapshot, DecisionsAsLines) {
  const Scene scene;
  const std::vector<std::string> lines = decision_lines(scene.input, scene.plan);
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(lines[0], "wait 1 (Resources)");
  EXPECT_THAT(lines[1], HasSubstr("planned start 1 in main at "));
  EXPECT_THAT(lines[2], HasSubstr("planned start 2 in main at "));
}

TEST(Snapshot, EveryByteCounts) {
  const Scene scene;
  const auto sound = decode(scene.bytes);
  for (size_t i = 0; i < scene.bytes.size(); ++i) {
    std::string changed = scene.bytes;
    changed[i] ^= 4;
    const auto s = decode(changed);
    if (!s) continue;
    // The version and the cluster's name are for people, and so are the words of a decision.
    EXPECT_EQ(s->input_hash, sound->input_hash) << i;
    EXPECT_EQ(plan_hash(s->plan), sound->plan_hash) << i;
  }
}

TEST(Snapshot, DamageIsToldByTheErrorAlone) {
  const Scene scene;
  testing::internal::CaptureStderr();
  for (size_t i = 0; i < scene.bytes.size(); ++i) {
    std::string changed = scene.bytes;
    changed[i] = '\xff';  // in a name that is no UTF-8
    (void)decode(changed);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Snapshot, TheHashIsOfDecisionsNotOfWords) {
  Scene scene;
  const std::string before = plan_hash(scene.plan);
  std::get<sched::Wait>(scene.plan.groups[0].decisions[0]).blockers.clear();
  EXPECT_EQ(plan_hash(scene.plan), before);
  std::get<sched::Wait>(scene.plan.groups[0].decisions[0]).reason = model::WaitReason::kPriority;
  EXPECT_NE(plan_hash(scene.plan), before);
}

TEST(Snapshot, WhatIsNoneIsRefused) {
  EXPECT_THAT(decode("").error().text(), HasSubstr("no snapshot"));
  EXPECT_THAT(decode("name: a scenario\n").error().text(), HasSubstr("no snapshot"));
  wire::Snapshot file;
  ASSERT_TRUE(file.ParseFromString(Scene().bytes));
  file.set_schema_version(kSchemaVersion + 1);
  EXPECT_THAT(decode(file.SerializeAsString()).error().text(), HasSubstr("schema version"));
  ASSERT_TRUE(file.ParseFromString(Scene().bytes));
  file.mutable_input()->back() ^= 1;
  EXPECT_THAT(decode(file.SerializeAsString()).error().text(), HasSubstr("changed after it was written"));
}

TEST(Snapshot, WhatIsNoClusterIsRefused) {
  using Input = sched::PassInput;
  const std::pair<const char*, std::function<void(Input&)>> cases[] = {
      {"a node is there twice", [](Input& i) { i.nodes.push_back(i.nodes[0]); }},
      {"number", [](Input& i) { i.nodes[0].id = base::NodeId(4'000'000'000); }},
      {"more cores or GPUs", [](Input& i) { i.nodes[0].gpus.insert(4); }},
      {"partition is there twice", [](Input& i) { i.partitions.push_back(i.partitions[0]); }},
      {"has a node twice", [](Input& i) { i.partitions[0].nodes.push_back("n1"); }},
      {"no tree",
       [](Input& i) {
         i.network.switches.push_back({"s", 0, 0, 0, 0});
       }},
      {"no tree",
       [](Input& i) {
         i.network.switches.push_back({"s", UINT32_MAX, 0, 0, 5});
       }},
      {"a job is there twice", [](Input& i) { i.queue.push_back(i.queue[0]); }},
      {"a job is there twice", [](Input& i) { i.running.push_back(i.running[0]); }},
      {"not there, or twice", [](Input& i) { i.running[0].allocation.shares[0].node = base::NodeId(7); }},
      {"held twice",
       [](Input& i) {
         i.running.push_back(i.running[0]);
         i.running.back().id = base::JobId(10);
       }},
      {"no job can ask for", [](Input& i) { i.queue[0].request.min_nodes = 0; }},
      {"no part of a GPU", [](Input& i) { i.queue[0].request.gpu_milli = 0; }},
      {"time is out of range", [](Input& i) { i.queue[0].submitted.us = INT64_MIN; }},
      {"length of time", [](Input& i) { i.queue[0].time_limit.us = -1; }},
      {"at no time", [](Input& i) { i.now = base::Time::never(); }},
      {"is no amount", [](Input& i) { i.qos_usage["a"] = -1; }},
      {"past use is out of range",
       [](Input& i) { i.policy.fairness_over_time = std::numeric_limits<double>::infinity(); }},
      {"is no amount", [](Input& i) { i.usage[0] = std::numeric_limits<double>::quiet_NaN(); }},
      {"unknown", [](Input& i) { i.policy.fit = static_cast<model::Fit>(9); }},
      {"count of recent jobs", [](Input& i) { i.workload.resize(100); }},
  };
  for (const auto& [what, change] : cases) {
    const auto view = restored(change);
    ASSERT_FALSE(view.has_value()) << what;
    EXPECT_THAT(view.error().text(), HasSubstr(what));
  }
  EXPECT_TRUE(restored([](Input&) {}).has_value());
}

}  // namespace
}  // namespace gw::snapshot
