// Rules 3 and 4, limits and counting what fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/quota_oracle/worlds.h"

namespace gw::oracle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Bar::Kind kLimit = Bar::Kind::kLimit;
constexpr Bar::Kind kGuarantee = Bar::Kind::kGuarantee;

// Serves one job after the other, on node 0, until nothing more fits; returns their ids.
std::vector<int> serve(World& world) {
  std::vector<int> served;
  std::set<int> blocked;
  while (const auto id = next_job(world, blocked)) {
    if (!fits(world, *id) || !may_start(world, *id)) {
      blocked.insert(*id);
      continue;
    }
    Job& job = world.jobs.at(*id - 1);
    job.running = true;
    job.at.assign(job.tasks, 0);
    served.push_back(*id);
  }
  return served;
}

TEST(NextJob, DominantResourceFairness) {
  World world;
  world.nodes = {{{"cpu", 9}, {"mem", 18}}};
  for (const char* name : {"a", "b"}) add_qos(world, name, "", {{"cpu", 0}, {"mem", 0}});
  for (int i = 0; i < 10; ++i) add_job(world, "a", {{"cpu", 1}, {"mem", 4}});  // 1 to 10
  for (int i = 0; i < 10; ++i) add_job(world, "b", {{"cpu", 3}, {"mem", 1}});  // 11 to 20
  // Fair shares: cpu 5 and 4, mem 9 and 9. a: 4/9, 8/9, 12/9; b: 3/4, 6/4, both beyond its share from the second one
  // on.
  EXPECT_THAT(serve(world), ElementsAre(1, 11, 2, 3, 12));
}

TEST(NextJob, GuaranteeThenFairShareThenBeyond) {
  World world = cluster(1, 30);
  add_qos(world, "a", "", gpus(10));
  add_qos(world, "b", "", gpus(2));
  add_qos(world, "c", "", gpus(0)).weight = 0;
  add_running(world, "a", gpus(8), {0});
  add_job(world, "a", gpus(2));  // 2: within its guarantee, though at 10 of 10
  add_job(world, "b", gpus(3));  // 3: at 3 of 5
  add_job(world, "b", gpus(2));  // 4: within its guarantee
  add_job(world, "c", gpus(1));  // 5: there is no share
  EXPECT_EQ(next_job(world, {}), 2);
  EXPECT_EQ(next_job(world, {2}), 3);
  EXPECT_EQ(next_job(world, {3}), 4);  // at 2 of 5
  EXPECT_EQ(next_job(world, {2, 3, 4}), 5);
  EXPECT_EQ(next_job(world, {2, 3, 4, 5}), std::nullopt);
}

TEST(NextJob, EqualSharesWithTheJobByThoseWithout) {
  World world = cluster(1, 40);
  for (const char* name : {"a", "b"}) add_qos(world, name, "", gpus(0));
  add_running(world, "a", gpus(8), {0});
  add_running(world, "b", gpus(5), {0});
  add_job(world, "a", gpus(2));
  add_job(world, "b", gpus(5));
  add_job(world, "a", gpus(10));  // both sides ask for 20
  add_job(world, "b", gpus(10));
  EXPECT_EQ(next_job(world, {}), 4);  // 10/20 with either; 5/20 without, against 8/20
}

TEST(NextJob, EqualSidesByTheirJobs) {
  World world = cluster(1, 40);
  for (const char* name : {"a", "b"}) add_qos(world, name, "", gpus(5));
  add_job(world, "a", gpus(5));
  add_job(world, "b", gpus(5)).submitted_s = 0;
  EXPECT_EQ(next_job(world, {}), 2);  // earlier
  world.jobs[0].priority = 51;
  EXPECT_EQ(next_job(world, {}), 1);  // more urgent
  world.jobs[0] = world.jobs[1];
  world.jobs[0].id = 7;
  world.jobs[0].qos = "a";
  EXPECT_EQ(next_job(world, {}), 2);  // by id
}

TEST(NextJob, EveryLineOfTheSideCounts) {
  World world = cluster(1, 10);
  world.nodes[0]["cpu"] = 10;
  add_qos(world, "a", "", {{"gpu", 5 * kGpu}, {"cpu", 2}});
  add_qos(world, "b", "", gpus(3));
  add_running(world, "a", {{"cpu", 4}}, {0});  // beyond its guarantee of cpu
  add_job(world, "a", gpus(1));                // asks for none; at 4 of 10 by cpu
  add_job(world, "b", gpus(3));                // at 3 of 3
  add_job(world, "a", {{"gpu", 4 * kGpu}, {"cpu", 6}});
  EXPECT_EQ(next_job(world, {}), 3);
}

TEST(NextJob, LevelByLevel) {
  World world = cluster(1, 20);
  add_qos(world, "p", "", gpus(10));
  add_qos(world, "x", "p", gpus(0));
  add_qos(world, "y", "p", gpus(10));
  add_qos(world, "o", "", gpus(10));
  add_running(world, "x", gpus(10), {0});
  add_job(world, "x", gpus(1));
  add_job(world, "y", gpus(1));               // 3: within y's guarantee, and not within p's
  add_job(world, "o", gpus(1)).priority = 0;  // 4: within o's
  EXPECT_EQ(next_job(world, {}), 4);
  EXPECT_EQ(next_job(world, {4}), 3);
  EXPECT_EQ(next_job(world, {3, 4}), 2);
}

TEST(MayStart, LimitsOfEveryAncestor) {
  World world = cluster(1, 20);
  add_qos(world, "p", "", {}).limit = {{"gpu", 6 * kGpu}, {"cpu", 0}};
  add_qos(world, "x", "p", {}).limit = gpus(4);
  add_running(world, "p", gpus(3), {0});
  add_job(world, "x", gpus(3));
  EXPECT_TRUE(may_start(world, 2));
  world.jobs[1].per_task = gpus(4);
  EXPECT_THAT(bars_of(world, 2), ElementsAre(Bar{kLimit, "p", "gpu"}));
  world.jobs[1].per_task = {{"gpu", 5 * kGpu}, {"cpu", 1}};
  EXPECT_THAT(bars_of(world, 2),
              ElementsAre(Bar{kLimit, "x", "gpu"}, Bar{kLimit, "p", "cpu"}, Bar{kLimit, "p", "gpu"}));
}

TEST(MayStart, LimitLoweredBelowUseBindsOnlyWhoAsksForMore) {
  World world = cluster(1, 20);
  add_qos(world, "p", "", {}).limit = gpus(2);
  add_running(world, "p", gpus(3), {0});
  add_job(world, "p", {{"cpu", 1}});
  EXPECT_TRUE(may_start(world, 2));
}

TEST(MayStart, NonPreemptibleWithinGuaranteesOfEveryAncestor) {
  World world = cluster(1, 20);
  add_qos(world, "p", "", gpus(10));
  add_qos(world, "x", "p", gpus(6));
  add_running(world, "x", gpus(6), {0});  // preemptible: does not count
  add_job(world, "x", gpus(6)).preemptible = false;
  EXPECT_TRUE(may_start(world, 2));
  add_running(world, "x", gpus(1), {0}).preemptible = false;
  EXPECT_THAT(bars_of(world, 2), ElementsAre(Bar{kGuarantee, "x", "gpu"}));
  world.jobs[1].per_task["gpu"] = 5 * kGpu;
  add_running(world, "p", gpus(5), {0}).preemptible = false;
  EXPECT_THAT(bars_of(world, 2), ElementsAre(Bar{kGuarantee, "p", "gpu"}));
  world.jobs[1].preemptible = true;
  EXPECT_TRUE(may_start(world, 2));
  world.jobs[1].preemptible = false;
  world.jobs[1].per_task = {{"cpu", 100}};  // no line
  EXPECT_TRUE(may_start(world, 2));
}

TEST(MayStart, GuaranteeLoweredBelowUseBindsOnlyWhoAsksForMore) {
  World world = cluster(1, 20);
  world.nodes[0]["cpu"] = 8;
  add_qos(world, "a", "", {{"gpu", 2 * kGpu}, {"cpu", 8}});
  add_running(world, "a", gpus(3), {0}).preemptible = false;
  add_job(world, "a", {{"cpu", 8}}).preemptible = false;
  EXPECT_TRUE(may_start(world, 2));
}

TEST(MayStart, ImplicitChildBindsUnlessItsQosPreemptsChildren) {
  World world = cluster(1, 20);
  add_qos(world, "p", "", gpus(10));
  add_qos(world, "x", "p", gpus(6));
  add_job(world, "p", gpus(5)).preemptible = false;
  EXPECT_THAT(bars_of(world, 1), ElementsAre(Bar{kGuarantee, "p/", "gpu"}));
  world.qos[0].preempt_children = true;
  EXPECT_THAT(bars_of(world, 1), IsEmpty());
  world.jobs[0].per_task = gpus(11);
  EXPECT_THAT(bars_of(world, 1), ElementsAre(Bar{kGuarantee, "p", "gpu"}));
  world.jobs[0].qos = "";  // 10 are left over at the root
  EXPECT_THAT(bars_of(world, 1), ElementsAre(Bar{kGuarantee, "/", "gpu"}));
}

TEST(Fits, TasksAreCountedNodeByNode) {
  World world = cluster(4, 10);
  for (const int node : {0, 0, 0, 1, 1, 1}) add_running(world, "", gpus(3), {node});
  const int large = add_job(world, "", gpus(8)).id;
  EXPECT_TRUE(fits(world, large));  // 3+3+0+0 jobs
  world.jobs[4].at = {2};
  world.jobs[5].at = {3};  // 3+1+1+1 jobs
  EXPECT_FALSE(fits(world, large));
  world.jobs[6].per_task = gpus(3);
  for (const auto& [tasks, expected] : {std::pair(6, true), std::pair(7, false)}) {
    world.jobs[6].tasks = tasks;  // 0+2+2+2
    EXPECT_EQ(fits(world, large), expected) << tasks;
  }
}

TEST(Fits, EveryResourceOfTheTask) {
  World world = cluster(1, 8);
  world.nodes[0]["cpu"] = 4;
  add_job(world, "", {{"gpu", 500}, {"cpu", 1}}, 4);
  EXPECT_TRUE(fits(world, 1));
  world.jobs[0].tasks = 5;
  EXPECT_FALSE(fits(world, 1));
  world.jobs[0].per_task = {{"gpu:h100", 1}};
  EXPECT_FALSE(fits(world, 1));
}

}  // namespace
}  // namespace gw::oracle
