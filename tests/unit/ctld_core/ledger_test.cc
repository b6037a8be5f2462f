// The ledger and the scheduler's copy of it are changed by the same calls.
#include "ctld/core/tables/ledger.h"

#include <gtest/gtest.h>

#include "model/cluster.h"

namespace gw::ctld {
namespace {

using base::JobId;
using base::NodeId;
using base::Time;

constexpr JobId kJob{7}, kOther{8};

/// Two nodes of four cores and two GPUs, and a scheduler that hears of what happens to them.
struct LedgerScene {
  LedgerScene() {
    sched::PartitionFacts partition;
    partition.name = "main";
    partition.nodes = {"n1", "n2"};
    ledger.set_partition(partition);
    for (uint32_t id : {1U, 2U}) ledger.set_node(node(id));
    hear();
  }
  static sched::NodeFacts node(uint32_t id, bool is_usable = true) {
    sched::NodeFacts facts;
    facts.id = NodeId(id);
    facts.name = "n" + std::to_string(id);
    facts.topology = std::make_shared<const model::NodeTopology>(model::flat_topology(4, 1'000, 2, "h100"));
    facts.cores = *base::IndexSet::parse("0-3");
    facts.gpus = *base::IndexSet::parse("0-1");
    facts.mem_mb = 1'000;
    facts.usable = is_usable;
    return facts;
  }
  static Placement placement(JobId holder, std::vector<uint32_t> nodes, const std::string& cores) {
    Placement p{holder, "main", {}, Time{1}, Time{1'000}, {}};
    for (const uint32_t id : nodes) {
      model::NodeShare& share = p.allocation.shares.emplace_back();
      share.node = NodeId(id);
      share.name = "n" + std::to_string(id);
      share.cores = *base::IndexSet::parse(cores);
      share.cpus = share.cores.size();
    }
    return p;
  }
  /// The scheduler applies what it was told.
  void hear() {
    for (const sched::Delta& delta : feed.take()) view.apply(delta);
  }
  /// Both know the same.
  void expect_equal() {
    hear();
    const sched::Capacity& own = ledger.capacity();
    EXPECT_TRUE(own.audit().has_value());
    ASSERT_EQ(own.holdings().size(), view.capacity().holdings().size());
    for (const auto& [holder, holding] : own.holdings()) {
      const auto& theirs = view.capacity().holdings().at(holder);
      EXPECT_EQ(holding.nodes, theirs.nodes);
      EXPECT_EQ(holding.started, theirs.started);
      EXPECT_EQ(holding.expected_end, theirs.expected_end);
      EXPECT_EQ(own.allocation_of(holder), view.capacity().allocation_of(holder));
      EXPECT_EQ(holding.own_gpu, theirs.own_gpu);
    }
    for (const uint32_t id : {1U, 2U}) {
      ASSERT_EQ(own.node(NodeId(id)) == nullptr, view.capacity().node(NodeId(id)) == nullptr);
      if (own.node(NodeId(id)) == nullptr) continue;
      EXPECT_EQ(own.node(NodeId(id))->free.cores, view.capacity().node(NodeId(id))->free.cores);
      EXPECT_EQ(own.node(NodeId(id))->facts.usable, view.capacity().node(NodeId(id))->facts.usable);
    }
  }
  SchedulerFeed feed;
  Ledger ledger{feed};
  sched::ClusterView view;
};

TEST(Ledger, EveryChangeIsToldToTheScheduler) {
  LedgerScene s;
  ASSERT_TRUE(s.ledger.place(LedgerScene::placement(kJob, {1, 2}, "0-1")));
  s.expect_equal();
  s.ledger.expect_end(kJob, Time{500}, false);
  s.expect_equal();
  EXPECT_EQ(s.view.capacity().holdings().at(kJob).expected_end, Time{500});
  s.ledger.release(kJob, NodeId(1));
  s.expect_equal();
  s.ledger.set_node(LedgerScene::node(1, false));
  s.expect_equal();
  s.ledger.release(kJob, NodeId(2));
  s.expect_equal();
  EXPECT_TRUE(s.view.capacity().holdings().empty());
  s.ledger.remove_node(NodeId(2));
  s.expect_equal();
  s.ledger.remove_partition("main");
  s.expect_equal();
  EXPECT_EQ(s.view.capacity().partition("main"), nullptr);
}

TEST(Ledger, WhatIsRefusedNobodyIsToldOf) {
  LedgerScene s;
  ASSERT_TRUE(s.ledger.place(LedgerScene::placement(kJob, {1}, "0-3")));
  s.hear();
  EXPECT_FALSE(s.ledger.place(LedgerScene::placement(kOther, {1, 2}, "3")));
  EXPECT_TRUE(s.feed.take().empty());
  EXPECT_FALSE(s.ledger.capacity().holdings().contains(kOther));
}

TEST(Ledger, WhatIsHeldAlreadyIsTakenOverOfADrainedNode) {
  LedgerScene s;
  s.ledger.set_node(LedgerScene::node(1, false));
  EXPECT_TRUE(s.ledger.hold(LedgerScene::placement(kJob, {1}, "0")));
  s.expect_equal();
  EXPECT_FALSE(s.ledger.place(LedgerScene::placement(kOther, {1}, "0"))) << "held by another one";
  s.expect_equal();
}

TEST(Ledger, TheEmptyClusterFollowsTheNodes) {
  LedgerScene s;
  ASSERT_TRUE(s.ledger.place(LedgerScene::placement(kJob, {1}, "0-3")));
  EXPECT_EQ(s.ledger.empty_cluster().node(NodeId(1))->free.cores.size(), 4U);
  s.ledger.remove_node(NodeId(1));
  EXPECT_EQ(s.ledger.empty_cluster().node(NodeId(1)), nullptr);
  EXPECT_NE(s.ledger.empty_cluster().node(NodeId(2)), nullptr);
}

TEST(SchedulerFeed, KnowsWhoIsQueued) {
  SchedulerFeed feed;
  sched::PendingJob job;
  job.id = kJob;
  feed.tell(sched::JobQueued{job});
  EXPECT_TRUE(feed.has_queued(kJob));
  EXPECT_EQ(feed.queue_length(), 1U);
  feed.tell(sched::JobUnqueued{kJob});
  EXPECT_FALSE(feed.has_queued(kJob));
  EXPECT_EQ(feed.epoch(), 2U);
  EXPECT_EQ(feed.take().back().epoch, 2U);
  EXPECT_TRUE(feed.take().empty());
}

/// As after a restart: it has been known for long that it needs one.
TEST(Ledger, AJobThatNeedsAGpuOfItsOwnHasItFromThePlacementOn) {
  LedgerScene scene;
  Placement p = LedgerScene::placement(kJob, {1}, "0");
  p.allocation.shares[0].gpus.insert(0);
  p.allocation.shares[0].gpu_milli = 300;
  sched::PendingJob facts;
  facts.id = kJob;
  facts.request.own_gpu = true;
  p.facts = std::make_shared<const sched::PendingJob>(facts);
  ASSERT_TRUE(scene.ledger.hold(p));
  EXPECT_TRUE(scene.ledger.capacity().holdings().at(kJob).own_gpu);
  EXPECT_TRUE(scene.ledger.capacity().node(NodeId(1))->free.shared.empty());
  scene.expect_equal();
}

}  // namespace
}  // namespace gw::ctld
