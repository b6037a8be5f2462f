// Suspension in the scheduler: who is suspended instead of being ended, and where a suspended job resumes.
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "model/suspension.h"
#include "sched/cycle/plan.h"
#include "sched/place/resume.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::pending;

/// Two nodes of eight GPUs; on the first one runs that would rather be suspended. Higher priorities take from lower.
struct Scene : Cluster {
  static constexpr uint32_t kRuns = 1, kOther = 9;
  PendingJob runs = pending(kRuns, gang(1, 8));
  model::Allocation place;

  explicit Scene(bool shares_gpus, Suspends how = Suspends::kAtOnce) : Cluster(2, machine(16, 8, 64'000)) {
    PartitionFacts p = partition();
    p.share_suspended_gpus = shares_gpus;
    apply(PartitionSet{p});
    Policy policy;
    policy.preempts = true;
    policy.grace = base::minutes(1);
    apply(PolicySet{policy});
    runs.suspends = how;
    runs.request.nodelist = {"n1"};
    apply(JobQueued{runs});
    const Plan first = plan(view, {}, {});
    place = std::get<Start>(first.groups.at(0).decisions.at(0)).allocation;
    apply(JobPlaced{JobId(kRuns), "main", place, {}, base::Time::never(), std::make_shared<const PendingJob>(runs)});
  }
  /// As the controller does when all of it is suspended.
  void suspend() {
    const JobId holder(kFirstHoldingId);
    apply(ShareReleased{JobId(kRuns), NodeId(1)});
    const bool shares = partition().share_suspended_gpus;
    apply(JobPlaced{holder,
                    "main",
                    model::kept_in_suspension(place, shares),
                    {},
                    base::Time::never(),
                    std::make_shared<const PendingJob>(kept_part_of(runs, holder))});
    PendingJob rest = runs;
    rest.request.exactly = model::freed_in_suspension(place, shares).shares;
    apply(JobQueued{rest});
  }
  Plan urgent(model::Request request) {
    request.nodelist = {"n1"};
    PendingJob job = pending(kOther, request, 5);
    job.time_limit = base::minutes(10);
    apply(JobQueued{job});
    return plan(view, base::Time{1}, {});
  }
};

const Preempt* taken(const Plan& p) {
  for (const Group& g : p.groups)
    for (const Decision& d : g.decisions)
      if (const auto* victim = std::get_if<Preempt>(&d)) return victim;
  return nullptr;
}

const Start* started(const Plan& p, uint32_t job) {
  for (const Group& g : p.groups)
    for (const Decision& d : g.decisions)
      if (const auto* start = std::get_if<Start>(&d); start != nullptr && start->job == JobId(job)) return start;
  return nullptr;
}

TEST(Suspend, TheTwoPartsAreTheWhole) {
  Scene s(true);
  for (const bool shares : {false, true}) {
    const model::NodeShare kept = model::kept_in_suspension(s.place, shares).shares.at(0);
    const model::NodeShare freed = model::freed_in_suspension(s.place, shares).shares.at(0);
    const model::NodeShare& all = s.place.shares.at(0);
    EXPECT_EQ(kept.mem_mb + freed.mem_mb, all.mem_mb);
    EXPECT_TRUE(kept.cores.empty());
    EXPECT_EQ(freed.cores, all.cores);
    EXPECT_EQ(kept.gpus.empty(), shares);
    EXPECT_EQ(freed.gpus.empty(), !shares);
  }
}

TEST(Suspend, OnlyWhereWhatItGivesAwayIsEnough) {
  struct Row {
    bool shares_gpus;
    Suspends how;
    uint64_t mem_mb;
    uint32_t gpus;
    bool is_suspended;
    base::Duration grace;
  };
  const Row rows[] = {
      {true, Suspends::kAtOnce, 1000, 8, true, base::seconds(1)},
      {true, Suspends::kAfterGrace, 1000, 8, true, base::minutes(1)},
      {true, Suspends::kNo, 1000, 8, false, base::minutes(1)},
      {true, Suspends::kAtOnce, 63'500, 8, false, base::minutes(1)},
      {false, Suspends::kAtOnce, 1000, 8, false, base::minutes(1)},
  };
  for (const Row& row : rows) {
    Scene s(row.shares_gpus, row.how);
    model::Request request = gang(1, row.gpus);
    request.mem_per_node_mb = row.mem_mb;
    const Plan p = s.urgent(request);
    ASSERT_NE(taken(p), nullptr) << row.mem_mb;
    EXPECT_EQ(taken(p)->is_suspended, row.is_suspended) << row.mem_mb;
    EXPECT_EQ(taken(p)->grace, row.grace) << row.mem_mb;
    EXPECT_TRUE(s.view.capacity().audit());
    EXPECT_EQ(s.view.capacity().allocation_of(JobId(Scene::kRuns)).shares.at(0).mem_mb, 1000U) << "it still runs";
  }
}

TEST(Suspend, ItGoesOnThereAndNowhereElse) {
  Scene s(true);
  s.suspend();
  Plan p = plan(s.view, base::Time{1}, {});
  ASSERT_NE(started(p, Scene::kRuns), nullptr);
  EXPECT_EQ(started(p, Scene::kRuns)->allocation, model::freed_in_suspension(s.place, true));

  PendingJob other = pending(Scene::kOther, gang(1, 4));
  other.request.nodelist = {"n1"};
  model::Allocation half = s.place;
  half.shares[0].gpus = base::IndexSet::first(4);
  half.shares[0].cores = base::IndexSet::first(1);
  const base::Time end{base::minutes(5).us};
  s.apply(JobPlaced{other.id, "main", half, {}, end, std::make_shared<const PendingJob>(other)});
  p = plan(s.view, base::Time{1}, {});
  EXPECT_EQ(started(p, Scene::kRuns), nullptr) << "the other node is empty, but its memory is here";
  ASSERT_EQ(p.planned_starts.size(), 1U);
  EXPECT_EQ(p.planned_starts[0].start, end);
  EXPECT_EQ(p.planned_starts[0].nodes, std::vector<std::string>{"n1"});
}

TEST(Suspend, ItNeedsItsPlaceForAllOfItsRest) {
  Scene s(true);
  s.suspend();
  PendingJob rest = *s.view.queue().find(JobId(Scene::kRuns));
  rest.time_limit = base::minutes(10);
  s.apply(JobQueued{rest});
  const model::Request& request = rest.request;
  Timeline timeline;
  PlacementOptions options;
  options.timeline = &timeline;
  timeline.add(NodeId(1), Booking{{base::Time{base::minutes(5).us}, base::Time{base::minutes(8).us}},
                                  JobId(7),
                                  {},
                                  {},
                                  base::IndexSet::first(1),
                                  model::kWholeGpu,
                                  0,
                                  false});
  options.span = {base::Time{1}, base::Time{1} + rest.time_limit};
  EXPECT_FALSE(place(s.view.capacity(), s.partition(), request, options).allocation);
  const auto start = earliest(s.view.capacity(), s.partition(), request, options, base::Time{1}, rest.time_limit);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->when, base::Time{base::minutes(8).us}) << "when what is booked there is over";
}

TEST(Suspend, WhatItKeepsCountsNeitherAsAJobNorAsANode) {
  Scene s(false);
  std::vector<model::Qos> tree(1);
  tree[0].name = "q";
  tree[0].max_jobs = 1;
  tree[0].limit = {{"node", 1}};
  s.runs.qos = "q";
  s.apply(QosSet{tree});
  s.apply(RunningChanged{JobId(Scene::kRuns), std::make_shared<const PendingJob>(s.runs)});
  s.suspend();
  EXPECT_NE(started(plan(s.view, base::Time{1}, {}), Scene::kRuns), nullptr);
}

TEST(Suspend, ClassesOfDifferentPlacesDiffer) {
  PendingJob a = pending(1, gang(1, 2)), b = pending(2, gang(1, 2));
  model::NodeShare share;
  share.node = NodeId(1);
  share.gpus = base::IndexSet::first(2);
  a.request.exactly = {share};
  b.request.exactly = {share};
  EXPECT_EQ(class_key(a), class_key(b));
  b.request.exactly[0].node = NodeId(2);
  EXPECT_NE(class_key(a), class_key(b));
  b.request.exactly = {};
  EXPECT_NE(class_key(a), class_key(b));
}

}  // namespace
}  // namespace gw::sched
