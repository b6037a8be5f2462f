// Planned starts and what respects them: backfill, shortened jobs, deadlines, advance reservations, locality waits,
// strict order, preemption by remaining time, shared GPUs, cores kept for GPUs.
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"
#include "sched/place/place.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::tasks;

Time at(int64_t minutes) { return Time{(1'000 + minutes) * 60'000'000}; }

PendingJob job(uint32_t id, const model::Request& r, int64_t limit_minutes) {
  PendingJob j = testing::pending(id, r);
  j.submitted = j.eligible = at(0);
  if (limit_minutes > 0) j.time_limit = base::minutes(limit_minutes);
  return j;
}

class Backfill : public ::testing::Test {
 protected:
  Cluster c{2, machine(16, 8, 64'000)};

  void queue(const PendingJob& j) { c.apply(JobQueued{j}); }
  void policy(const std::string& order, Duration grace = {}) {
    Policy p;
    p.order = *make_order(order);
    p.grace = grace;
    c.apply(PolicySet{p});
  }
  Plan run(Time now) {
    Plan p = plan(c.view, now, {});
    for (const Group& g : p.groups) {
      for (const Decision& d : g.decisions) {
        if (const auto* victim = std::get_if<Preempt>(&d)) {
          preempted.push_back(victim->job.value);
          for (NodeId n : std::vector<NodeId>(c.view.capacity().holdings().at(victim->job).nodes))
            c.apply(ShareReleased{victim->job, n});
        }
        if (const auto* s = std::get_if<Start>(&d)) {
          started.push_back(s->job.value);
          limits[s->job.value] = s->time_limit;
          c.apply(JobPlaced{s->job, s->partition, s->allocation, now, now + s->time_limit, known[s->job.value]});
        }
        if (const auto* r = std::get_if<Reject>(&d)) {
          rejected.push_back(r->job.value);
          c.apply(JobUnqueued{r->job});
        }
      }
    }
    return p;
  }
  using Ids = std::vector<uint32_t>;
  Ids started, preempted, rejected;
  std::map<uint32_t, Duration> limits;
  std::map<uint32_t, std::shared_ptr<const PendingJob>> known;
};

TEST_F(Backfill, WhatEndsInTimePassesTheBlockedJobAndWhatDoesNotWaits) {
  queue(job(1, gang(1, 8), 60));  // holds one node for an hour
  queue(job(2, gang(2, 8), 60));  // needs both: planned for then
  queue(job(3, gang(1, 2), 60));  // ends just in time
  queue(job(4, gang(1, 2), 61));  // would delay job 2 by a minute
  const Plan p = run(at(0));
  EXPECT_EQ(started, (Ids{1, 3}));
  ASSERT_EQ(p.planned_starts.size(), 2U);
  EXPECT_EQ(p.planned_starts[0].job, JobId(2));
  EXPECT_EQ(p.planned_starts[0].start, at(60));
  EXPECT_EQ(p.planned_starts[0].nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(p.planned_starts[1].start, at(120));
}

TEST_F(Backfill, PlannedStartIsKeptToTheGpuNotTheNode) {
  queue(job(1, gang(2, 7), 60));  // one GPU of each node stays free
  queue(job(2, gang(1, 8), 60));
  queue(job(3, gang(1, 1), 600));  // fits beside job 2's planned start, on the other node
  const Plan p = run(at(0));
  EXPECT_EQ(started, (Ids{1, 3}));
  ASSERT_EQ(p.planned_starts.size(), 1U);
  EXPECT_NE(p.planned_starts[0].nodes[0],
            c.view.capacity().node(c.view.capacity().holdings().at(JobId(3)).nodes[0])->facts.name);
}

TEST_F(Backfill, WithoutTimeLimitsNothingIsPlannedAndOthersPass) {
  queue(job(1, gang(1, 8), 0));
  queue(job(2, gang(2, 8), 0));
  queue(job(3, gang(1, 2), 0));
  const Plan p = run(at(0));
  EXPECT_EQ(started, (Ids{1, 3}));
  EXPECT_TRUE(p.planned_starts.empty());
}

TEST_F(Backfill, StrictOrderLetsNothingPass) {
  policy("fifo");
  queue(job(1, gang(1, 8), 0));
  queue(job(2, gang(2, 8), 0));
  queue(job(3, gang(1, 2), 0));
  run(at(0));
  EXPECT_EQ(started, (Ids{1}));
}

TEST_F(Backfill, TimeMinShortensAJobIntoTheGap) {
  queue(job(1, gang(1, 8), 60));
  queue(job(2, gang(2, 8), 60));
  PendingJob elastic = job(3, gang(1, 2), 600);
  elastic.time_min = base::minutes(30);
  queue(elastic);
  run(at(0));
  EXPECT_EQ(started, (Ids{1, 3}));
  EXPECT_EQ(limits[3], base::minutes(60));  // all there is until job 2's turn
}

TEST_F(Backfill, HopelessDeadlineEndsTheJob) {
  PendingJob late = job(1, gang(1, 1), 60);
  late.deadline = at(59);
  queue(late);
  PendingJob good = job(2, gang(1, 1), 60);
  good.deadline = at(60);
  queue(good);
  run(at(0));
  EXPECT_EQ(rejected, (Ids{1}));
  EXPECT_EQ(started, (Ids{2}));
}

TEST_F(Backfill, DeadlineIsWatchedWhileTheJobWaits) {
  queue(job(1, gang(2, 8), 600));
  PendingJob waits = job(2, gang(1, 1), 60);
  waits.deadline = at(100);
  queue(waits);
  EXPECT_EQ(run(at(0)).next_change_at, at(40) + base::microseconds(1));
  run(at(40));
  EXPECT_TRUE(rejected.empty());
  run(at(40) + base::microseconds(1));
  EXPECT_EQ(rejected, (Ids{2}));
}

TEST_F(Backfill, AdvanceReservationKeepsOthersOutAndLetsItsUsersIn) {
  c.apply(ReservationSet{{"course", {"n1", "n2"}, at(60), at(180), {7}, false}});
  queue(job(1, gang(1, 8), 60));  // ends as it begins
  queue(job(2, gang(1, 8), 61));  // would run into it: after its end
  PendingJob mine = job(3, gang(2, 2), 60);
  mine.reservation = "course";
  mine.uid = 7;
  queue(mine);
  PendingJob other = mine;
  other.id = JobId(4);
  other.uid = 8;
  queue(other);
  const Plan p = run(at(0));
  EXPECT_EQ(started, (Ids{1}));
  ASSERT_FALSE(p.planned_starts.empty());
  EXPECT_EQ(p.planned_starts[0].start, at(180));
  EXPECT_EQ(p.next_change_at, at(60));
  for (NodeId n : std::vector<NodeId>(c.view.capacity().holdings().at(JobId(1)).nodes))
    c.apply(ShareReleased{JobId(1), n});
  run(at(60));
  EXPECT_EQ(started, (Ids{1, 3}));
}

TEST_F(Backfill, LocalityIsWaitedForThenGivenUp) {
  queue(job(1, gang(2, 7), 0));  // one free GPU on each node
  run(at(0));
  model::Request close = testing::tasks(2);
  close.gpu_counting = model::GpuCounting::kPerTask;
  close.gpus = 1;
  close.mem_per_node_mb = 100;
  close.locality = {{model::Locality::kLeaf, base::minutes(5)}};
  c.apply(NetworkSet{*model::build_network({{"l0", {"n1"}, {}}, {"l1", {"n2"}, {}}}, {"n1", "n2"})});
  queue(job(2, close, 0));
  EXPECT_EQ(run(at(0)).next_change_at, at(5));
  EXPECT_EQ(started, (Ids{1}));
  run(at(5));
  EXPECT_EQ(started, (Ids{1, 2}));
}

TEST_F(Backfill, GangTakesTheFullestLeafThatHoldsIt) {
  Cluster wide(6, machine(16, 8, 64'000));
  wide.apply(NetworkSet{*model::build_network({{"l0", {"n1", "n2", "n3"}, {}}, {"l1", {"n4", "n5", "n6"}, {}}},
                                              {"n1", "n2", "n3", "n4", "n5", "n6"})});
  const Placement one = place(wide.view.capacity(), wide.partition(), gang(2, 4));
  ASSERT_TRUE(one.allocation);
  ASSERT_TRUE(wide.view.capacity().allocate(JobId(1), "main", *one.allocation, {}, Time::never()));
  model::Request r = gang(1, 8);
  r.nodelist = {"n6"};
  const Placement two = place(wide.view.capacity(), wide.partition(), r);
  ASSERT_TRUE(wide.view.capacity().allocate(JobId(2), "main", *two.allocation, {}, Time::never()));
  // l0 has 16 free GPUs but only one empty node; l1 has two.
  const Placement gang8 = place(wide.view.capacity(), wide.partition(), gang(2, 8));
  ASSERT_TRUE(gang8.allocation);
  EXPECT_EQ(gang8.allocation->node_names(), (std::vector<std::string>{"n4", "n5"}));
  const Placement gang4 = place(wide.view.capacity(), wide.partition(), gang(2, 4));
  EXPECT_EQ(gang4.allocation->node_names(), (std::vector<std::string>{"n1", "n2"}));
}

TEST_F(Backfill, SrtfTakesOffWhatHasLongerToGo) {
  policy("srtf");
  const auto with = [&](uint32_t id, uint32_t gpus, int64_t minutes) {
    PendingJob j = job(id, gang(1, gpus), 0);
    j.remaining = base::minutes(minutes);
    known[id] = std::make_shared<const PendingJob>(j);
    queue(j);
  };
  with(1, 8, 100);
  with(2, 8, 30);
  run(at(0));
  with(3, 4, 50);
  run(at(10));
  EXPECT_EQ(started, (Ids{2, 1, 3}));
  EXPECT_EQ(preempted, (Ids{1}));  // 90 left; job 2, with 20 left, stays
}

TEST_F(Backfill, SharedGpuIsPackedAndNeverGivenWhole) {
  PartitionFacts p = c.partition();
  p.allow_shared_gpus = true;
  c.apply(PartitionSet{p});
  model::Request half = gang(1, 1);
  half.gpu_milli = 500;
  half.mem_per_node_mb = 100;
  queue(job(1, half, 0));
  queue(job(2, half, 0));
  queue(job(3, half, 0));
  queue(job(4, gang(1, 7), 0));
  queue(job(5, gang(1, 6), 0));
  run(at(0));
  EXPECT_EQ(started, (Ids{1, 2, 3, 4, 5}));
  EXPECT_TRUE(c.view.capacity().audit());
  const NodeAccount& n1 = *c.view.capacity().node(NodeId(1));
  EXPECT_EQ(n1.occupants[0].gpus, n1.occupants[1].gpus);  // two halves make a whole
}

TEST_F(Backfill, SharedGpuNeedsThePartitionsLeave) {
  model::Request half = gang(1, 1);
  half.gpu_milli = 500;
  const auto verdict = could_ever_run(c.view.capacity(), c.partition(), half);
  ASSERT_FALSE(verdict);
  EXPECT_NE(verdict.error().what.find("does not share GPUs"), std::string::npos);
}

TEST_F(Backfill, CoresAreKeptBackForFreeGpus) {
  PartitionFacts p = c.partition();
  p.cores_per_gpu_kept = 1;
  c.apply(PartitionSet{p});
  model::Request cpu_only = tasks(1, 32);  // all 16 cores of a node
  EXPECT_FALSE(place(c.view.capacity(), c.partition(), cpu_only).allocation);
  cpu_only.cpus_per_task = 16;
  EXPECT_TRUE(place(c.view.capacity(), c.partition(), cpu_only).allocation);
}

TEST_F(Backfill, HeterogeneousJobStartsWholeOrNotAtAll) {
  PendingJob het = job(1, gang(1, 8), 0);
  het.components = {{JobId(2), gang(1, 8), {"main"}}, {JobId(3), gang(1, 1), {"main"}}};
  queue(het);
  run(at(0));
  EXPECT_TRUE(started.empty());
  EXPECT_TRUE(c.view.capacity().holdings().empty());
  het.components.pop_back();
  queue(het);
  run(at(0));
  EXPECT_EQ(started, (Ids{1, 2}));
}

}  // namespace
}  // namespace gw::sched
