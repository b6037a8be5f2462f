// What the time of a waiting class counts for: what would have to be otherwise for it to start.
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"
#include "sched/place/enough.h"

namespace gw::sched {
namespace {

using model::WaitCause;
using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::pending;
using testing::run_on;

/// The last that was said of each class, whatever passes it took.
class Told {
 public:
  explicit Told(Cluster& cluster) : cluster_(cluster) {}
  /// What the job's time counts for after a pass; nullopt: nothing was said of its class.
  std::optional<WaitCause> after_a_pass(uint32_t job, Time now = {}) {
    const Plan made = plan(cluster_.view, now, {});
    for (const Group& group : made.groups)
      for (const Decision& d : group.decisions)
        if (const auto* wait = std::get_if<Wait>(&d)) said_[wait->job_class] = wait->cause;
    const PendingJob* asked = cluster_.view.queue().find(JobId(job));
    if (asked == nullptr) return std::nullopt;
    const auto it = said_.find(class_key(*asked, false, now));
    return it == said_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  Cluster& cluster_;
  std::map<ClassKey, WaitCause> said_;
};

TEST(WaitCauseTest, FewerFreeThanAskedIsALackAndScatteredOnesAreFragmentation) {
  Cluster c(2, machine(16, 8, 64'000));
  Told told(c);
  run_on(c, 11, 1, 7, 7);
  run_on(c, 12, 2, 6, 6);
  c.apply(JobQueued{pending(1, gang(1, 4))});
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kResources) << "3 are free, 4 are asked for";
  c.apply(ShareReleased{JobId(12), NodeId(2)});
  run_on(c, 13, 2, 5, 5);
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kFragmentation) << "1 and 3 are free; nothing else has changed";
  c.apply(ShareReleased{JobId(13), NodeId(2)});
  run_on(c, 14, 2, 8, 8);
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kResources) << "one is left";
}

TEST(WaitCauseTest, NodesThatAreDownAreToldFromThoseThatAreFull) {
  Cluster c(2, machine(16, 8, 64'000));
  Told told(c);
  NodeFacts lost = testing::node_facts(2, machine(16, 8, 64'000));
  lost.usable = false;
  lost.unusable_why = "drained: disk";
  c.apply(NodeSet{lost});
  c.apply(JobQueued{pending(1, gang(2, 8))});
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kNodesDown);
  lost.usable = true;
  c.apply(NodeSet{lost});
  run_on(c, 11, 1, 8, 8);
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kResources);
}

TEST(WaitCauseTest, WhatIsKeptForOthersIsPriority) {
  Cluster c(2, machine(16, 8, 64'000));
  Told told(c);
  run_on(c, 11, 1, 8, 8);
  PendingJob first = pending(1, gang(2, 8), 10);
  first.time_limit = base::hours(1);
  c.apply(JobQueued{first});
  PendingJob second = pending(2, gang(1, 8));
  second.time_limit = base::hours(100);
  c.apply(JobQueued{second});
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kResources);
  c.apply(EndExpected{JobId(11), Time{} + base::hours(2)});
  EXPECT_EQ(told.after_a_pass(2, Time{1}), WaitCause::kPriority) << "node 2 is free, and kept for job 1";
}

TEST(WaitCauseTest, AReservationInTheWayIsNoPriority) {
  Cluster c(1, machine(16, 8, 64'000));
  Told told(c);
  c.apply(ReservationSet{{"course", {"n1"}, Time{} + base::hours(1), Time{} + base::hours(2), {7}, false}});
  PendingJob job = pending(1, gang(1, 8));
  job.time_limit = base::hours(3);
  c.apply(JobQueued{job});
  EXPECT_EQ(told.after_a_pass(1, Time{1}), WaitCause::kReservation);
}

TEST(WaitCauseTest, WhoCouldStartFartherApartHasChosenToWait) {
  Cluster c(1, machine(16, 8, 64'000));
  Told told(c);
  run_on(c, 11, 1, 1, 1);  // of each switch but the first both GPUs are free
  run_on(c, 12, 1, 2, 2);
  run_on(c, 13, 1, 2, 2);
  model::Request close = gang(1, 3);
  close.locality = {{model::Locality::kPcie, base::hours(1)}, {model::Locality::kAny, base::kUnlimited}};
  c.apply(JobQueued{pending(1, close)});
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kLocality);
}

TEST(WaitCauseTest, APartitionThatIsDownOrTooShort) {
  Cluster c(1, machine(16, 8, 64'000));
  Told told(c);
  PartitionFacts facts = c.partition();
  facts.is_up = false;
  c.apply(PartitionSet{facts});
  c.apply(JobQueued{pending(1, gang(1, 8))});
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kPartition);
}

TEST(WaitCauseTest, OfSeveralPartitionsTheNearestCounts) {
  Cluster c(2, machine(16, 8, 64'000));
  Told told(c);
  PartitionFacts down = c.partition();
  down.name = "down";
  down.is_up = false;
  c.apply(PartitionSet{down});
  run_on(c, 11, 1, 4, 4);
  run_on(c, 12, 2, 4, 4);
  PendingJob job = pending(1, gang(1, 8));
  job.partitions = {"main", "down"};
  c.apply(JobQueued{job});
  EXPECT_EQ(told.after_a_pass(1), WaitCause::kFragmentation);
}

Enough enough(const Cluster& c, const model::Request& request) {
  uint64_t steps = 0;
  return enough_in_all(c.view.capacity(), c.partition(), request, steps);
}

TEST(EnoughInAll, CountsWhatTheGangMayUse) {
  Cluster c(2, machine(16, 8, 64'000));
  c.apply(NodeSet{testing::node_facts(3, machine(16, 8, 64'000, "l40s"))});
  PartitionFacts p = c.partition();
  p.nodes = {"n1", "n2", "n3"};
  c.apply(PartitionSet{p});
  run_on(c, 11, 1, 8, 8);
  run_on(c, 12, 2, 4, 4);
  model::Request r = gang(2, 4);
  EXPECT_EQ(enough(c, r), Enough::kFree) << "4 and 8";
  r.gpu_type = "h100";
  EXPECT_EQ(enough(c, r), Enough::kNotFree);
  r.gpu_type = "l40s";
  EXPECT_EQ(enough(c, r), Enough::kNotThere) << "two nodes of them are asked for";
  r = gang(1, 8);
  r.exclude = {"n3"};
  EXPECT_EQ(enough(c, r), Enough::kNotFree);
  r.exclude = {"n1", "n3"};
  EXPECT_EQ(enough(c, r), Enough::kNotFree);
  r.exclude = {"n1", "n2"};
  EXPECT_EQ(enough(c, r), Enough::kFree);
  r.exclude.clear();
  r.nodelist = {"n1"};
  EXPECT_EQ(enough(c, r), Enough::kNotFree) << "that node is full";
}

TEST(EnoughInAll, OfANodeWithTwoKindsOneCounts) {
  model::NodeTopology both = machine(16, 8, 64'000);
  for (uint32_t g = 0; g < 4; ++g) both.gpus[g].type = "l40s";
  Cluster c(1, both);
  model::Request r = gang(1, 4);
  r.gpu_type = "l40s";
  EXPECT_EQ(enough(c, r), Enough::kFree);
  run_on(c, 11, 1, 1, 1);
  EXPECT_EQ(enough(c, r), Enough::kNotFree) << "3 of them and 4 others are left";
  r.gpus = 5;
  EXPECT_EQ(enough(c, r), Enough::kNotThere);
}

TEST(EnoughInAll, WithoutGpusCpusCount) {
  Cluster c(2, machine(16, 8, 64'000));
  EXPECT_EQ(enough(c, testing::tasks(64)), Enough::kFree);
  EXPECT_EQ(enough(c, testing::tasks(65)), Enough::kNotThere);
  run_on(c, 11, 1, 1, 1);
  EXPECT_EQ(enough(c, testing::tasks(64)), Enough::kNotFree);
  EXPECT_EQ(enough(c, testing::tasks(62)), Enough::kFree);
  EXPECT_EQ(enough(c, testing::tasks(1, 33)), Enough::kNotThere) << "no node has so many";
}

TEST(EnoughInAll, AllThatItAsksForCounts) {
  Cluster c(2, machine(16, 8, 64'000));
  run_on(c, 11, 1, 1, 1);
  model::Request r = gang(1, 8);
  EXPECT_EQ(enough(c, r), Enough::kFree);
  r.exclusive = true;
  EXPECT_EQ(enough(c, r), Enough::kFree) << "one node is idle";
  r = gang(2, 1);
  EXPECT_EQ(enough(c, r), Enough::kFree);
  r.exclusive = true;
  EXPECT_EQ(enough(c, r), Enough::kNotFree) << "two nodes are asked for, and one is not idle";
  r = gang(1, 1);
  r.mem_per_node_mb = 65'000;
  EXPECT_EQ(enough(c, r), Enough::kNotThere) << "128,000 in two halves are no memory of one node";
  r = gang(2, 1);
  r.mem_per_node_mb = 60'000;
  EXPECT_EQ(enough(c, r), Enough::kFree);
  model::NodeShare share;
  share.node = NodeId(2);
  share.name = "n2";
  share.mem_mb = 10'000;
  model::Allocation a;
  a.shares.push_back(share);
  c.apply(JobPlaced{JobId(12), "main", a, Time{1}, Time::never(), nullptr});
  EXPECT_EQ(enough(c, r), Enough::kNotFree) << "of memory 118,000 are left";
}

}  // namespace
}  // namespace gw::sched
