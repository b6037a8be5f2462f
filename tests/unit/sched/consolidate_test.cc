// Consolidation off, on, and as a dry run that only tells.
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"

namespace gw::sched {
namespace {

using model::Consolidate;
using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::pending;

/// Two nodes of eight GPUs, on each a job of `gpus`; one that needs a whole node waits.
struct Scene : Cluster {
  static constexpr uint32_t kBlocked = 9;

  explicit Scene(Consolidate how, uint32_t gpus = 2) : Cluster(2, machine(16, 8, 64'000)) {
    PartitionFacts p = partition();
    p.consolidate = how;
    apply(PartitionSet{p});
    for (const uint32_t id : {1, 2}) {
      PendingJob job = pending(id, gang(1, gpus));
      job.request.nodelist = {"n" + std::to_string(id)};
      job.preemptible = job.may_move = true;
      apply(JobQueued{job});
      const Plan p1 = plan(view, {}, {});
      const Start& start = std::get<Start>(p1.groups.at(0).decisions.at(0));
      apply(JobUnqueued{JobId(id)});
      job.request.nodelist = {};
      apply(JobPlaced{
          JobId(id), "main", start.allocation, {}, base::Time::never(), std::make_shared<const PendingJob>(job)});
    }
    apply(JobQueued{pending(kBlocked, gang(1, 8))});
  }
};

size_t count_of_moves(const Plan& p) {
  size_t n = 0;
  for (const Group& g : p.groups)
    for (const Decision& d : g.decisions) n += std::holds_alternative<Preempt>(d) ? 1 : 0;
  return n;
}

TEST(Consolidate, ADryRunFindsTheSameMovesAndMovesNobody) {
  Scene on(Consolidate::kOn), dry(Consolidate::kDryRun);
  const Plan moved = plan(on.view, {}, {});
  EXPECT_EQ(count_of_moves(moved), 1U);
  EXPECT_TRUE(moved.would_move.empty());
  const Group& group = moved.groups.at(0);
  const Plan told = plan(dry.view, {}, {});
  EXPECT_EQ(count_of_moves(told), 0U);
  for (const Group& g : told.groups)
    for (const Decision& d : g.decisions) EXPECT_TRUE(std::holds_alternative<Wait>(d));
  ASSERT_EQ(told.would_move.size(), 1U);
  const WouldMove& found = told.would_move[0];
  EXPECT_EQ(found.job, JobId(Scene::kBlocked));
  EXPECT_EQ(found.partition, "main");
  ASSERT_EQ(found.moves.size(), 1U);
  for (const Decision& d : group.decisions) {
    if (const auto* mover = std::get_if<Preempt>(&d)) {
      EXPECT_EQ(mover->job, found.moves[0].job);
    }
    const auto* start = std::get_if<Start>(&d);
    if (start == nullptr) continue;
    EXPECT_EQ(start->allocation.node_names(), start->job == found.job ? found.nodes : found.moves[0].to);
  }
  EXPECT_TRUE(dry.view.capacity().audit());
  EXPECT_EQ(dry.view.capacity().node(NodeId(1))->free.gpus.size(), 6U);
  EXPECT_EQ(plan(dry.view, {}, {}).would_move, told.would_move) << "it is found again as long as it is so";
}

TEST(Consolidate, WhereItIsOffNothingIsTold) {
  for (const Consolidate how : {Consolidate::kOff, Consolidate::kDefault}) {
    Scene scene(how);
    const Plan p = plan(scene.view, {}, {});
    EXPECT_TRUE(p.would_move.empty());
    EXPECT_EQ(count_of_moves(p), 0U);
  }
}

TEST(Consolidate, ADryRunOfWhatCannotBeDoneTellsNothing) {
  Scene scene(Consolidate::kDryRun, 6);
  EXPECT_TRUE(plan(scene.view, {}, {}).would_move.empty());
}

TEST(Consolidate, ADryRunKeepsToTheBudget) {
  Scene scene(Consolidate::kDryRun);
  Policy policy;
  policy.moves_per_hour = 0;
  scene.apply(PolicySet{policy});
  EXPECT_TRUE(plan(scene.view, {}, {}).would_move.empty());
}

TEST(Grace, IsThatOfThePartitionWhereNoQosSays) {
  Scene scene(Consolidate::kOn);
  Policy policy;
  policy.grace = base::seconds(30);
  scene.apply(PolicySet{policy});
  const auto grace = [&scene] {
    for (const Group& g : plan(scene.view, {}, {}).groups)
      for (const Decision& d : g.decisions)
        if (const auto* mover = std::get_if<Preempt>(&d)) return mover->grace;
    return base::kUnlimited;
  };
  EXPECT_EQ(grace(), base::seconds(30));
  PartitionFacts p = scene.partition();
  p.grace = base::seconds(5);
  scene.apply(PartitionSet{p});
  EXPECT_EQ(grace(), base::seconds(5));
}

}  // namespace
}  // namespace gw::sched
