// One pass of the scheduler: order, classes, what is told, and that the view stays as it was.
#include "sched/cycle/plan.h"

#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/snapshot.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::pending;

std::vector<uint32_t> started(const Plan& plan) {
  std::vector<uint32_t> out;
  for (const Group& g : plan.groups)
    for (const Decision& d : g.decisions)
      if (const auto* s = std::get_if<Start>(&d)) out.push_back(s->job.value);
  return out;
}

std::vector<Wait> waits(const Plan& plan) {
  std::vector<Wait> out;
  for (const Group& g : plan.groups)
    for (const Decision& d : g.decisions)
      if (const auto* w = std::get_if<Wait>(&d)) out.push_back(*w);
  return out;
}

TEST(Plan, PriorityThenAge) {
  Cluster c(1, machine(16, 8, 64'000));
  c.apply(JobQueued{pending(1, gang(1, 8))});
  c.apply(JobQueued{pending(2, gang(1, 8))});
  c.apply(JobQueued{pending(3, gang(1, 8), 10)});
  EXPECT_EQ(started(plan(c.view, {}, {})), (std::vector<uint32_t>{3}));
}

TEST(Plan, EachComponentHasALocalityOfItsOwn) {
  const auto start_of = [](bool leader, bool component) {
    Cluster c(2, machine(16, 8, 64'000));  // two GPUs to a switch
    PendingJob job = pending(1, gang(1, 2));
    model::Request other = gang(1, 4);
    if (leader) job.request.locality = {{model::Locality::kPcie}};
    if (component) other.locality = {{model::Locality::kPcie}};
    job.components = {{JobId(2), other, {"main"}}};
    c.apply(JobQueued{job});
    return started(plan(c.view, {}, {}));
  };
  EXPECT_EQ(start_of(true, false), (std::vector<uint32_t>{1, 2})) << "what the first wants close need not be for both";
  EXPECT_TRUE(start_of(false, true).empty()) << "no switch has four GPUs";
}

TEST(Plan, ViewIsUnchanged) {
  Cluster c(1, machine(16, 8, 64'000));
  c.apply(JobQueued{pending(1, gang(1, 8))});
  plan(c.view, {}, {});
  EXPECT_EQ(c.view.capacity().node(NodeId(1))->free.gpus.size(), 8U);
  EXPECT_EQ(c.view.queue().size(), 1U);
  EXPECT_TRUE(c.view.capacity().audit());
}

TEST(Plan, NothingIsGivenTwiceInOnePass) {
  Cluster c(2, machine(16, 8, 64'000));
  for (uint32_t id = 1; id <= 10; ++id) c.apply(JobQueued{pending(id, gang(1, 3))});
  const Plan p = plan(c.view, {}, {});
  EXPECT_EQ(started(p), (std::vector<uint32_t>{1, 2, 3, 4}));  // two of three GPUs a node
  Cluster fresh(2, machine(16, 8, 64'000));
  Capacity& check_against = fresh.view.capacity();
  for (const Group& g : p.groups) {
    for (const Decision& d : g.decisions) {
      const auto* s = std::get_if<Start>(&d);
      if (s == nullptr) continue;
      EXPECT_TRUE(check_against.allocate(s->job, s->partition, s->allocation, {}, base::Time::never()));
    }
  }
}

TEST(Plan, BlockedClassIsToldOnceAndPassedBy) {
  Cluster c(1, machine(16, 8, 64'000));
  c.apply(JobQueued{pending(1, gang(2, 8), 5)});
  c.apply(JobQueued{pending(2, gang(1, 4))});
  const Plan first = plan(c.view, {}, {});
  EXPECT_EQ(started(first), (std::vector<uint32_t>{2}));
  ASSERT_EQ(waits(first).size(), 1U);
  EXPECT_EQ(waits(first)[0].reason, model::WaitReason::kResources);
  EXPECT_NE(model::words(waits(first)[0].blockers).find("needs 2 nodes; of 1 in partition main"), std::string::npos);
  EXPECT_TRUE(waits(plan(c.view, {}, {})).empty());
}

TEST(Plan, BehindABlockedJobTheReasonIsPriority) {
  Cluster c(1, machine(16, 8, 64'000));
  c.apply(JobQueued{pending(1, gang(2, 8), 5)});
  c.apply(JobQueued{pending(2, gang(2, 7))});
  const auto told = waits(plan(c.view, {}, {}));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].reason, model::WaitReason::kPriority);
}

TEST(Plan, WhoseLimitNoPartitionThatIsUpAllowsIsToldSo) {
  Cluster c(1, machine(16, 8, 64'000));
  PartitionFacts shorter = c.partition();
  shorter.max_time = base::minutes(10);
  c.apply(PartitionSet{shorter});
  PartitionFacts longer = shorter;
  longer.name = "long";
  longer.max_time = base::hours(10);
  longer.is_up = false;
  c.apply(PartitionSet{longer});
  PendingJob job = pending(1, gang(1, 8));
  job.partitions = {"main", "long"};
  job.time_limit = base::hours(1);
  c.apply(JobQueued{job});
  const auto told = waits(plan(c.view, {}, {}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].reason, model::WaitReason::kPartitionTimeLimit);
  EXPECT_EQ(model::words(told[0].blockers),
            "its time limit is longer than partition main allows; partition long is down");
}

TEST(Plan, WhatIsToldOfAThousandPartitionsIsBounded) {
  Cluster c(1, machine(16, 8, 64'000));
  PendingJob job = pending(1, gang(2, 8));
  job.partitions.clear();
  for (int i = 0; i < 1000; ++i) {
    PartitionFacts p = c.partition();
    p.name = "p" + std::to_string(i);
    c.apply(PartitionSet{p});
    job.partitions.push_back(p.name);
  }
  c.apply(JobQueued{job});
  const auto told = waits(plan(c.view, {}, {}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_GE(told[0].blockers.size(), 64U);
  EXPECT_LE(told[0].blockers.size(), 80U);
}

TEST(Plan, BudgetOfStartsIsKept) {
  Cluster c(2, machine(16, 8, 64'000));
  for (uint32_t id = 1; id <= 10; ++id) c.apply(JobQueued{pending(id, gang(1, 1))});
  Budget budget;
  budget.starts = 3;
  const Plan p = plan(c.view, {}, budget);
  EXPECT_EQ(started(p).size(), 3U);
  EXPECT_TRUE(p.exhausted);
}

TEST(Plan, SecondPartitionIsTried) {
  Cluster c(1, machine(16, 4, 64'000));
  c.apply(NodeSet{testing::node_facts(2, machine(16, 8, 64'000))});
  PartitionFacts big;
  big.name = "big";
  big.nodes = {"n2"};
  c.apply(PartitionSet{big});
  PendingJob job = pending(1, gang(1, 8));
  job.partitions = {"main", "big"};
  c.apply(JobQueued{job});
  const Plan p = plan(c.view, {}, {});
  ASSERT_EQ(started(p).size(), 1U);
  EXPECT_EQ(std::get<Start>(p.groups[0].decisions[0]).partition, "big");
}

TEST(Plan, DownPartitionStartsNothing) {
  Cluster c(1, machine(16, 8, 64'000));
  PartitionFacts down = c.partition();
  down.is_up = false;
  c.apply(PartitionSet{down});
  c.apply(JobQueued{pending(1, gang(1, 1))});
  const auto told = waits(plan(c.view, {}, {}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].reason, model::WaitReason::kPartitionDown);
}

TEST(Check, DropsWhatNoLongerHolds) {
  Cluster c(1, machine(16, 8, 64'000));
  const PendingJob job = pending(1, gang(1, 8));
  c.apply(JobQueued{job});
  const Plan p = plan(c.view, {}, {});
  const Start start = std::get<Start>(p.groups[0].decisions[0]);
  EXPECT_TRUE(check(c.view.capacity(), job, start));
  PendingJob grown = job;
  grown.request.min_nodes = 2;
  EXPECT_FALSE(check(c.view.capacity(), grown, start));
  PendingJob averse = job;
  averse.request.exclude = {"n1"};
  EXPECT_FALSE(check(c.view.capacity(), averse, start));
  NodeFacts drained = c.view.capacity().node(NodeId(1))->facts;
  drained.usable = false;
  c.apply(NodeSet{drained});
  EXPECT_FALSE(check(c.view.capacity(), job, start));
}

TEST(Demand, IsNoLongerThatOfAJobThatLeftTheQueue) {
  Cluster c(1, machine(16, 8, 64'000));
  model::Qos q;
  q.name = "q";
  c.apply(QosSet{{q}});
  const auto before = c.view.quota().waiting();
  PendingJob job = pending(1, gang(1, 8));
  job.qos = "q";
  c.apply(JobQueued{job});
  EXPECT_NE(c.view.quota().waiting(), before);
  c.apply(JobUnqueued{job.id});
  EXPECT_EQ(c.view.quota().waiting(), before);
}

TEST(Queue, EqualRequestsShareAClass) {
  Queue q;
  q.put(pending(1, gang(1, 8)));
  q.put(pending(2, gang(1, 8)));
  q.put(pending(3, gang(1, 4)));
  EXPECT_EQ(q.classes().size(), 2U);
  q.put(pending(2, gang(1, 4)));
  q.remove(JobId(1));
  EXPECT_EQ(q.classes().size(), 1U);
  EXPECT_EQ(q.size(), 2U);
}

std::vector<uint32_t> nominated(const ClusterView& view) {
  std::vector<uint32_t> out;
  for (const Nomination& nomination : take_input(view, base::Time{1}, {}).nominations)
    out.push_back(nomination.job.value);
  return out;
}

TEST(Nominations, StayInTheOrderInWhichTheyWereMade) {
  Cluster c(1, machine(16, 8, 64'000));
  for (uint32_t id : {1, 2, 3}) c.apply(JobQueued{pending(id, gang(1, 1))});
  for (uint32_t id : {3, 1, 2}) c.apply(NominationSet{{JobId(id), "main", {}, base::Time{9}}});
  EXPECT_EQ(nominated(c.view), (std::vector<uint32_t>{3, 1, 2}));
  c.apply(JobQueued{pending(3, gang(1, 1), 7)});  // changed, but not in what it asks for
  c.apply(NominationSet{{JobId(3), "main", {}, base::Time{9}}});
  EXPECT_EQ(nominated(c.view), (std::vector<uint32_t>{3, 1, 2}));
  const auto restored = restore_view(take_input(c.view, base::Time{1}, {}));
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(nominated(**restored), (std::vector<uint32_t>{3, 1, 2}));
  c.apply(JobQueued{pending(3, gang(1, 2))});  // it asks for something else: the nomination falls
  EXPECT_EQ(nominated(c.view), (std::vector<uint32_t>{1, 2}));
  c.apply(NominationSet{{JobId(3), "main", {}, base::Time{9}}});
  c.apply(JobUnqueued{JobId(1)});
  EXPECT_EQ(nominated(c.view), (std::vector<uint32_t>{2, 3}));
}

}  // namespace
}  // namespace gw::sched
