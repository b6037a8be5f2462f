// Rule 2 and lines: numbers worked out by hand.
#include <gtest/gtest.h>

#include "tests/unit/quota_oracle/worlds.h"

namespace gw::oracle {
namespace {

// One node of 100 GPUs and QOS right below the root, each with a job that wants all.
World hundred(const std::vector<Qos>& qos) {
  World world = cluster(1, 100);
  world.qos = qos;
  for (const Qos& one : qos) add_job(world, one.name, gpus(1), 100);
  return world;
}

Qos top(const std::string& name, int64_t guaranteed, int64_t weight = 1, int64_t priority = 0) {
  Qos qos;
  qos.name = name;
  qos.guaranteed = gpus(guaranteed);
  qos.weight = weight;
  qos.priority = priority;
  return qos;
}

TEST(FairShares, SurplusByWeight) {
  const World world = hundred({top("a", 10, 3), top("b", 10, 1)});
  EXPECT_EQ(gpu_share(world, "a"), 70);
  EXPECT_EQ(gpu_share(world, "b"), 30);
  EXPECT_EQ(gpu_share(world, "/"), 0);
}

TEST(FairShares, WithoutQosTheRootsJobsHaveAll) {
  World world = cluster(2, 4);
  add_job(world, "", gpus(3));
  EXPECT_EQ(gpu_share(world, "/"), 3);
  EXPECT_EQ(guaranteed_of(world, "/", "gpu"), 8 * kGpu);
}

TEST(FairShares, GuaranteeBeyondDemandIsLent) {
  World world = hundred({top("a", 50), top("b", 10)});
  world.jobs[0].tasks = 20;
  EXPECT_EQ(gpu_share(world, "a"), 20);
  EXPECT_EQ(gpu_share(world, "b"), 80);
}

TEST(FairShares, WhoHasEnoughLeavesTheRestToTheOthers) {
  World world = hundred({top("a", 0), top("b", 0, 1), top("c", 0, 2)});
  world.jobs[0].tasks = 10;  // less than its 25
  EXPECT_EQ(gpu_share(world, "a"), 10);
  EXPECT_EQ(gpu_share(world, "b"), 30);
  EXPECT_EQ(gpu_share(world, "c"), 60);
}

TEST(FairShares, PriorityComesBeforeWeight) {
  World world = hundred({top("a", 0, 1, 1), top("b", 0, 100, 0)});
  world.jobs[0].tasks = 60;
  EXPECT_EQ(gpu_share(world, "a"), 60);
  EXPECT_EQ(gpu_share(world, "b"), 40);
}

TEST(FairShares, WeightZeroHasItsGuaranteeAlone) {
  World world = hundred({top("a", 10, 0), top("b", 0, 1)});
  world.jobs[1].tasks = 50;
  EXPECT_EQ(gpu_share(world, "a"), 10);
  EXPECT_EQ(gpu_share(world, "b"), 50);  // 40 are nobody's
}

TEST(FairShares, LimitCutsDemand) {
  World world = hundred({top("a", 0, 3), top("b", 0, 1)});
  world.qos[0].limit = gpus(30);
  world.jobs[0].tasks = 20;
  add_job(world, "a", gpus(1), 20);  // each within the limit, both together not
  EXPECT_EQ(gpu_share(world, "a"), 30);
  EXPECT_EQ(gpu_share(world, "b"), 70);
}

TEST(FairShares, LimitAboveCutsDemandToo) {
  World world = cluster(1, 100);
  add_qos(world, "p", "", gpus(0)).limit = gpus(40);
  add_qos(world, "x", "p", gpus(0));
  add_qos(world, "y", "p", gpus(0));
  add_job(world, "x", gpus(30));
  add_job(world, "y", gpus(30));
  EXPECT_EQ(gpu_share(world, "p"), 40);
  EXPECT_EQ(gpu_share(world, "x"), 20);
  EXPECT_EQ(gpu_share(world, "y"), 20);
}

TEST(FairShares, ForcedOvercommitLeavesNoSurplus) {
  World world = cluster(1, 10);
  for (const auto& [name, guaranteed] : {std::pair("a", 10), std::pair("b", 8), std::pair("c", 0)}) {
    add_qos(world, name, "", gpus(guaranteed));
    add_job(world, name, gpus(10));
  }
  EXPECT_EQ(gpu_share(world, "a"), 10);
  EXPECT_EQ(gpu_share(world, "b"), 8);
  EXPECT_EQ(gpu_share(world, "c"), 0);
  EXPECT_EQ(guaranteed_of(world, "/", "gpu"), 0);
}

TEST(FairShares, WholeGpusByLargestRemainder) {
  World world = cluster(1, 10);
  for (const auto& [name, weight] : {std::pair("a", 1), std::pair("b", 2), std::pair("c", 4)}) {
    add_qos(world, name, "", gpus(0)).weight = weight;
    add_job(world, name, gpus(10));
  }
  EXPECT_EQ(gpu_share(world, "a"), 1);  // 1 3/7
  EXPECT_EQ(gpu_share(world, "b"), 3);  // 2 6/7
  EXPECT_EQ(gpu_share(world, "c"), 6);  // 5 5/7
}

TEST(FairShares, EqualRemaindersByNameOfTheSide) {
  World world = cluster(1, 8);
  add_qos(world, "q", "", gpus(0));
  for (const char* name : {"z", "p"}) add_qos(world, name, "q", gpus(0));
  for (const char* name : {"z", "q", "p"}) add_job(world, name, gpus(8));
  EXPECT_EQ(gpu_share(world, "p"), 3);
  EXPECT_EQ(gpu_share(world, "q/"), 3);
  EXPECT_EQ(gpu_share(world, "z"), 2);
}

TEST(FairShares, ThousandthsOnceOneIsAskedFor) {
  World world = cluster(1, 1);
  for (const char* name : {"a", "b", "c"}) {
    add_qos(world, name, "", gpus(0));
    add_job(world, name, {{"gpu", name[0] == 'a' ? 500 : 1000}});
  }
  const Shares shares = fair_shares(world);
  EXPECT_EQ(shares.at("a").at("gpu"), 334);
  EXPECT_EQ(shares.at("b").at("gpu"), 333);
  EXPECT_EQ(shares.at("c").at("gpu"), 333);
}

TEST(FairShares, ThousandthsOfAnUnevenWhole) {
  World world = cluster(2, 1);
  world.nodes[0]["gpu"] = 500;
  for (const char* name : {"a", "b"}) {
    add_qos(world, name, "", gpus(0));
    add_job(world, name, gpus(1));
  }
  EXPECT_EQ(fair_shares(world).at("a").at("gpu"), 750);
  EXPECT_EQ(fair_shares(world).at("b").at("gpu"), 750);
  add_qos(world, "x", "b", gpus(0));
  world.jobs[1].qos = "x";
  EXPECT_EQ(fair_shares(world).at("x").at("gpu"), 750);
}

TEST(FairShares, OtherResourcesInUnitsOfOne) {
  World world = cluster(1, 0);
  world.nodes[0]["cpu"] = 7;
  for (const char* name : {"a", "b"}) {
    add_qos(world, name, "", {{"cpu", 0}});
    add_job(world, name, {{"cpu", 7}});
  }
  EXPECT_EQ(fair_shares(world).at("a").at("cpu"), 4);
  EXPECT_EQ(fair_shares(world).at("b").at("cpu"), 3);
}

TEST(FairShares, InnerQosKeepsWhatItsChildrenLeaveOver) {
  World world = cluster(1, 128);
  add_qos(world, "q1", "", gpus(128));
  add_qos(world, "q1.1", "q1", gpus(48));
  add_qos(world, "q1.2", "q1", gpus(80));
  for (const char* name : {"q1", "q1.1", "q1.2"}) add_job(world, name, gpus(1), 128);
  EXPECT_EQ(guaranteed_of(world, "q1/", "gpu"), 0);
  EXPECT_EQ(gpu_share(world, "q1"), 128);
  EXPECT_EQ(gpu_share(world, "q1/"), 0);
  EXPECT_EQ(gpu_share(world, "q1.1"), 48);
  EXPECT_EQ(gpu_share(world, "q1.2"), 80);
  world.jobs[1].tasks = 0;  // q1.1 idle: its 48 go to the two others in equal parts
  EXPECT_EQ(gpu_share(world, "q1/"), 24);
  EXPECT_EQ(gpu_share(world, "q1.2"), 104);
  world.qos[1].guaranteed = gpus(28);
  EXPECT_EQ(guaranteed_of(world, "q1/", "gpu"), 20 * kGpu);
  EXPECT_EQ(gpu_share(world, "q1/"), 34);  // 20 and half of 28
}

TEST(FairShares, ImpossibleJobsAreNoDemand) {
  World world = cluster(2, 4);
  add_qos(world, "a", "", gpus(4)).limit = gpus(7);
  add_job(world, "a", gpus(6));     // no node has them
  add_job(world, "a", gpus(4), 2);  // more than the limit
  EXPECT_EQ(gpu_share(world, "a"), 0);
  add_job(world, "a", gpus(3), 1);
  EXPECT_EQ(gpu_share(world, "a"), 3);
  add_running(world, "a", gpus(4), {0, 1});  // what runs is demand, whatever the limit has become
  EXPECT_EQ(gpu_share(world, "a"), 7);
}

TEST(Lines, GpuEverywhereOthersWhereNamedOrBelow) {
  World world = cluster(1, 8);
  world.nodes[0]["cpu"] = 64;
  world.nodes[0]["gpu:h100"] = 8 * kGpu;
  add_qos(world, "p", "", gpus(4)).limit = {{"mem", 10}};
  add_qos(world, "x", "p", {{"cpu", 6}});
  add_qos(world, "y", "x", {});
  add_qos(world, "z", "", {{"gpu:h100", 2 * kGpu}});
  for (const char* side : {"", "/", "p", "p/", "x", "x/", "y", "z"}) EXPECT_TRUE(has_line(world, side, "gpu")) << side;
  for (const char* side : {"x", "x/", "y"}) EXPECT_TRUE(has_line(world, side, "cpu")) << side;
  for (const char* side : {"/", "p", "p/", "z"}) EXPECT_FALSE(has_line(world, side, "cpu")) << side;
  EXPECT_TRUE(has_line(world, "z", "gpu:h100"));
  EXPECT_FALSE(has_line(world, "/", "gpu:h100"));
  EXPECT_FALSE(has_line(world, "p", "mem"));
  EXPECT_EQ(guaranteed_of(world, "x/", "cpu"), 6);  // y has a line and no guarantee
  EXPECT_EQ(guaranteed_of(world, "p/", "gpu"), 4 * kGpu);
  EXPECT_EQ(guaranteed_of(world, "z", "gpu"), 2 * kGpu);  // where types alone are named they add up to it
  EXPECT_EQ(guaranteed_of(world, "/", "gpu"), 2 * kGpu);
  EXPECT_TRUE(has_line(world, "z", "gpu:a100"));
  EXPECT_EQ(guaranteed_of(world, "z", "gpu:a100"), 0);
  EXPECT_EQ(guaranteed_of(world, "y", "gpu"), 0);
}

TEST(Lines, BelowASideWithoutOneTheCapacityIsDivided) {
  World world = cluster(1, 0);
  world.nodes[0]["cpu"] = 10;
  add_qos(world, "p", "", {});
  add_qos(world, "x", "p", {{"cpu", 2}});
  add_qos(world, "y", "p", {});
  add_job(world, "p", {{"cpu", 10}});
  add_job(world, "x", {{"cpu", 10}});
  add_job(world, "y", {{"cpu", 10}});
  const Shares shares = fair_shares(world);
  EXPECT_EQ(shares.at("x").at("cpu"), 10);
  for (const char* side : {"/", "p", "p/", "y"}) EXPECT_FALSE(shares.at(side).contains("cpu")) << side;
}

TEST(Lines, ShareGoesOnDownwards) {
  World world = cluster(1, 0);
  world.nodes[0]["cpu"] = 12;
  add_qos(world, "p", "", {{"cpu", 2}});
  add_qos(world, "x", "p", {});
  add_qos(world, "o", "", {{"cpu", 0}});
  for (const char* name : {"p", "x", "o"}) add_job(world, name, {{"cpu", 12}});
  const Shares shares = fair_shares(world);
  EXPECT_EQ(shares.at("p").at("cpu"), 7);  // 2 and half of 10
  EXPECT_EQ(shares.at("o").at("cpu"), 5);
  EXPECT_EQ(shares.at("p/").at("cpu"), 5);  // 2 and half of 5: 4.5, the tie by name
  EXPECT_EQ(shares.at("x").at("cpu"), 2);
}

}  // namespace
}  // namespace gw::oracle
