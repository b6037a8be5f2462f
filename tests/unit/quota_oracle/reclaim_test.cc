// Rules 5 to 7: who may take from whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/quota_oracle/worlds.h"

namespace gw::oracle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Grant kByShare = {5, Reclaim::kFairShare};
constexpr Grant kByGuarantee = {5, Reclaim::kGuaranteed};
constexpr Grant kByRank = {6, Reclaim::kNone};
constexpr Grant kByPriority = {7, Reclaim::kNone};

// 100 GPUs, shares of 50 and 50; `a` (job 1) holds 60 and `b` (job 2) 30, and job 3 of `b` asks for `count`.
World lent(int64_t guaranteed, int64_t count) {
  World world = cluster(1, 100);
  world.reclaim = Reclaim::kFairShare;
  for (const char* name : {"a", "b"}) add_qos(world, name, "", gpus(guaranteed));
  add_running(world, "a", gpus(60), {0});
  add_running(world, "b", gpus(30), {0});
  add_job(world, "b", gpus(count));
  add_job(world, "b", gpus(50));
  return world;
}

TEST(MayTake, ByFairShare) {
  EXPECT_THAT(grants_of(lent(0, 20), 3, 1), ElementsAre(kByShare));
  EXPECT_THAT(grants_of(lent(0, 21), 3, 1), IsEmpty());  // its own side would be beyond
  World world = lent(0, 20);
  world.jobs[0].per_task = gpus(50);
  EXPECT_THAT(grants_of(world, 3, 1), IsEmpty());  // the other side is at its share, not above
}

TEST(MayTake, ByGuaranteeToo) {
  EXPECT_THAT(grants_of(lent(50, 20), 3, 1), ElementsAre(kByShare, kByGuarantee));
  EXPECT_EQ(may_take(lent(50, 20), 3, 1), kByShare);
  EXPECT_THAT(grants_of(lent(40, 20), 3, 1), ElementsAre(kByShare));
  World world = lent(50, 20);
  world.reclaim = Reclaim::kGuaranteed;
  EXPECT_THAT(grants_of(world, 3, 1), ElementsAre(kByGuarantee));
  world.reclaim = Reclaim::kNone;
  EXPECT_THAT(grants_of(world, 3, 1), IsEmpty());
}

TEST(MayTake, OrderOfTheSidesMustStay) {
  World world = lent(0, 20);
  for (Amounts& node : world.nodes) node["cpu"] = 8;
  for (Qos& qos : world.qos) qos.guaranteed["cpu"] = 0;
  world.jobs[0].per_task["cpu"] = 1;
  world.jobs[1].per_task["cpu"] = 7;  // b's fair share
  EXPECT_THAT(grants_of(world, 3, 1), ElementsAre(kByShare));
  world.qos[1].limit["cpu"] = 5;
  EXPECT_THAT(grants_of(world, 3, 1), IsEmpty());  // b at 7/5 by cpu, a at 60/50: b is ahead, though it asks for none
}

TEST(MayTake, OtherSideMustBeAboveInWhatIsAskedFor) {
  World world = lent(0, 20);
  world.nodes[0]["cpu"] = 8;
  for (Qos& qos : world.qos) qos.guaranteed["cpu"] = 0;
  world.jobs[0].per_task = {{"gpu", 40 * kGpu}, {"cpu", 8}};
  add_job(world, "b", {{"cpu", 8}});  // a has 8 of 4
  add_job(world, "a", gpus(60));
  EXPECT_THAT(grants_of(world, 3, 1), IsEmpty());
  world.jobs[2].per_task["cpu"] = 4;
  EXPECT_THAT(grants_of(world, 3, 1), ElementsAre(kByShare));
}

TEST(MayTake, OtherSideMustBeAboveInWhatBothHaveALineFor) {
  World world = lent(50, 20);
  world.nodes[0]["cpu"] = 8;
  world.qos[0].guaranteed["cpu"] = 2;
  world.jobs[0].per_task = {{"gpu", 50 * kGpu}, {"cpu", 8}};
  world.jobs[2].per_task["cpu"] = 1;
  EXPECT_THAT(grants_of(world, 3, 1), IsEmpty());  // a is above in cpus, of which b is due nothing
  world.qos[1].guaranteed["cpu"] = 2;
  EXPECT_THAT(grants_of(world, 3, 1), ElementsAre(kByShare, kByGuarantee));
}

TEST(MayTake, VictimMustHoldSomeOfWhatItsSideIsAboveIn) {
  World world = lent(0, 20);
  world.nodes[0]["cpu"] = 8;
  world.jobs[2].per_task["cpu"] = 1;
  const int cores = add_running(world, "a", {{"cpu", 8}}, {0}).id;
  EXPECT_THAT(grants_of(world, 3, 1), ElementsAre(kByShare));
  EXPECT_THAT(grants_of(world, 3, cores), IsEmpty());
  world.jobs[cores - 1].per_task["gpu"] = kGpu;
  EXPECT_THAT(grants_of(world, 3, cores), ElementsAre(kByShare));
}

TEST(MayTake, OwnSideMustBeWithinInWhatIsAskedFor) {
  World world = lent(50, 20);
  world.nodes[0]["cpu"] = 8;
  world.qos[1].guaranteed["cpu"] = 0;
  world.jobs[1].per_task["cpu"] = 1;  // borrowed
  EXPECT_THAT(grants_of(world, 3, 1), ElementsAre(kByShare, kByGuarantee));
  world.jobs[2].per_task["cpu"] = 1;
  EXPECT_THAT(grants_of(world, 3, 1), ElementsAre(kByShare));
}

TEST(MayTake, SidesAreThoseWherePathsPart) {
  World world = cluster(1, 20);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "p", "", gpus(10));
  add_qos(world, "x", "p", gpus(6));
  add_qos(world, "y", "p", gpus(4));
  add_qos(world, "o", "", gpus(10));
  const int x = add_running(world, "x", gpus(10), {0}).id;
  const int y = add_job(world, "y", gpus(4)).id;
  const int o = add_job(world, "o", gpus(10)).id;
  EXPECT_THAT(grants_of(world, y, x), ElementsAre(kByGuarantee));
  EXPECT_THAT(grants_of(world, o, x), IsEmpty());  // p is within its guarantee, though x is not
  const int root = add_running(world, "", gpus(1), {0}).id;
  EXPECT_THAT(grants_of(world, o, root), ElementsAre(kByGuarantee));
}

TEST(MayTake, NonPreemptibleAndProtectedStay) {
  World world = lent(50, 20);
  world.jobs[0].preemptible = false;
  EXPECT_THAT(grants_of(world, 3, 1), IsEmpty());
  world.jobs[0].preemptible = true;
  world.jobs[0].started_s = 901;
  world.qos[0].min_runtime_s = 100;  // it is 1000
  EXPECT_THAT(grants_of(world, 3, 1), IsEmpty());
  world.jobs[0].started_s = 900;
  EXPECT_EQ(may_take(world, 3, 1), kByShare);
}

TEST(MayTake, MinRuntimeIsInherited) {
  World world = cluster(1, 20);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "p", "", gpus(0)).min_runtime_s = 2000;
  add_qos(world, "x", "p", gpus(0));
  add_qos(world, "o", "", gpus(20));
  add_running(world, "x", gpus(10), {0});
  add_job(world, "o", gpus(20));
  EXPECT_EQ(may_take(world, 2, 1), std::nullopt);
  world.qos[1].min_runtime_s = 1000;
  EXPECT_EQ(may_take(world, 2, 1), kByGuarantee);
}

// Quota1 128 with Quota1.1 48 and Quota1.2 80, both used to the full (jobs 1 and 2); job 3 at Quota1 asks for `count`.
World quota1(bool preempt_children, int64_t count) {
  World world = cluster(1, 128);
  world.reclaim = Reclaim::kFairShare;
  add_qos(world, "q1", "", gpus(128)).preempt_children = preempt_children;
  add_qos(world, "q1.1", "q1", gpus(48));
  add_qos(world, "q1.2", "q1", gpus(80));
  add_running(world, "q1.1", gpus(48), {0});
  add_running(world, "q1.2", gpus(80), {0});
  add_job(world, "q1", gpus(count));
  return world;
}

TEST(MayTake, InnerQosFromItsDescendants) {
  EXPECT_THAT(grants_of(quota1(true, 48), 3, 1), ElementsAre(kByRank));
  EXPECT_THAT(grants_of(quota1(true, 48), 3, 2), ElementsAre(kByRank));
  EXPECT_THAT(grants_of(quota1(false, 48), 3, 1), IsEmpty());
  EXPECT_EQ(victims(quota1(true, 48), 3), std::vector{1});
  EXPECT_EQ(victims(quota1(true, 60), 3), std::vector{2});
  EXPECT_EQ(victims(quota1(true, 128), 3), (std::vector{1, 2}));
  EXPECT_EQ(victims(quota1(false, 48), 3), std::nullopt);
  World world = quota1(true, 48);
  world.reclaim = Reclaim::kNone;
  EXPECT_THAT(grants_of(world, 3, 1), IsEmpty());
}

TEST(MayTake, DescendantsFromTheirInnerQosUnlessItPreempts) {
  World world = quota1(false, 48);
  world.jobs[2].running = true;
  world.jobs[2].at = {0};
  world.jobs[0].running = false;
  EXPECT_THAT(grants_of(world, 1, 3), ElementsAre(kByShare, kByGuarantee));
  EXPECT_EQ(victims(world, 1), std::vector{3});
  world.qos[0].preempt_children = true;
  EXPECT_THAT(grants_of(world, 1, 3), IsEmpty());
  EXPECT_EQ(victims(world, 1), std::nullopt);
}

TEST(MayTake, HigherPriorityInOneQos) {
  World world = cluster(1, 10);
  add_qos(world, "a", "", gpus(5));
  add_qos(world, "b", "", gpus(5));
  add_running(world, "a", gpus(10), {0});
  add_job(world, "a", gpus(10)).priority = 51;
  add_job(world, "b", gpus(10)).priority = 51;
  EXPECT_EQ(may_take(world, 2, 1), std::nullopt);
  world.preempt = true;
  EXPECT_EQ(may_take(world, 2, 1), kByPriority);
  EXPECT_EQ(may_take(world, 3, 1), std::nullopt);  // another QOS
  world.jobs[1].priority = 50;
  EXPECT_EQ(may_take(world, 2, 1), std::nullopt);
}

}  // namespace
}  // namespace gw::oracle
