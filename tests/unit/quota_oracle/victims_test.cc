// Rule 8: which jobs are taken.
#include <gtest/gtest.h>

#include "tests/unit/quota_oracle/worlds.h"

namespace gw::oracle {
namespace {

using Ids = std::vector<int>;

// `a` has borrowed one node, as a row of jobs that began one after the other (ids from 1); `b` asks for `count` GPUs of
// it.
World borrowed(const std::vector<int>& held, int64_t count, int64_t guaranteed = 0) {
  World world = cluster(1, 0);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "a", "", gpus(guaranteed));
  add_qos(world, "b", "", gpus(count));
  for (const int amount : held) {
    Job& job = add_running(world, "a", gpus(amount), {0});
    job.started_s = 100L * job.id;
    world.nodes[0]["gpu"] += amount * kGpu;
  }
  add_job(world, "b", gpus(count));
  return world;
}

// Four nodes of 10 GPUs and two teams of 20; the first holds 10 on each of the first `nodes` nodes.
World teams(int nodes) {
  World world = cluster(4, 10);
  world.reclaim = Reclaim::kFairShare;
  for (const char* name : {"team1", "team2"}) add_qos(world, name, "", gpus(20));
  for (int node = 0; node < nodes; ++node) add_running(world, "team1", gpus(10), {node}).started_s = node;
  add_job(world, "team2", gpus(10), 2);
  return world;
}

TEST(Victims, TeamIsCutBackToItsGuarantee) {
  EXPECT_EQ(victims(teams(3), 4), Ids{3});
  EXPECT_EQ(victims(teams(4), 5), (Ids{3, 4}));
}

TEST(Victims, TeamWithinItsGuaranteeKeepsIt) {
  World world = teams(4);
  world.jobs[4].tasks = 3;
  EXPECT_EQ(victims(world, 5), std::nullopt);
  EXPECT_EQ(victims(teams(2), 3), Ids{});  // it fits
}

TEST(Victims, NobodyIfNoSetMakesItFit) {
  World world = teams(4);
  for (int i = 0; i < 3; ++i) world.jobs[i].preemptible = false;
  EXPECT_EQ(victims(world, 5), std::nullopt);
}

TEST(Victims, LowestPriorityThenLeastLostThenYoungestThenHighestId) {
  World world = borrowed({2, 2, 2}, 2);
  EXPECT_EQ(victims(world, 4), Ids{3});  // the latest start has the least to lose
  world.jobs[0].priority = 49;
  EXPECT_EQ(victims(world, 4), Ids{1});
  world = borrowed({4, 2, 6}, 2);
  for (Job& job : world.jobs) job.started_s = 0;
  EXPECT_EQ(victims(world, 4), Ids{2});  // the fewest GPUs
  world.jobs[0].started_s = 500;         // 4 * 500 = 2 * 1000 lost, but a restart costs four GPUs more than two
  EXPECT_EQ(victims(world, 4), Ids{2});
  world = borrowed({2, 2, 2}, 2);
  for (Job& job : world.jobs) job.started_s = 0;
  EXPECT_EQ(victims(world, 4), Ids{3});
  world = borrowed({2, 2, 2}, 2);
  world.jobs[0].saves_work = true;  // it has run longest, and only a restart is lost
  EXPECT_EQ(victims(world, 4), Ids{1});
}

TEST(Victims, WhereverLeastIsLost) {
  World world = cluster(1, 11);
  world.reclaim = Reclaim::kGuaranteed;
  for (const char* name : {"a", "c"}) add_qos(world, name, "", gpus(0));
  add_qos(world, "b", "", gpus(3));
  add_running(world, "a", gpus(5), {0});
  for (int i = 0; i < 3; ++i) add_running(world, "c", gpus(2), {0});
  add_job(world, "b", gpus(1));
  EXPECT_EQ(victims(world, 5), Ids{4});
  world.jobs[4].per_task = gpus(3);
  EXPECT_EQ(victims(world, 5), (Ids{3, 4}));  // four GPUs of two jobs, not five of one
}

// Four nodes, each with a job of four GPUs and two of two; what may be taken are sixteen GPUs.
World small_jobs_everywhere() {
  World world = cluster(4, 8);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "many", "", gpus(16));
  add_qos(world, "gang", "", gpus(16));
  for (int node = 0; node < 4; ++node)
    for (const int amount : {4, 2, 2}) add_running(world, "many", gpus(amount), {node});
  add_job(world, "gang", gpus(8), 2);
  return world;
}

TEST(Victims, NodeByNodeWhereTheCheapestAreOnAllNodes) {
  World world = small_jobs_everywhere();
  EXPECT_EQ(victims(world, 13), (Ids{7, 8, 9, 10, 11, 12}));  // the first six are covered, those alone would do as well
  for (const int id : {7, 8}) world.jobs[id - 1].preemptible = false;
  // The seventh and eighth are covered first now: of the others, 1 to 3 and 9 may go as far as 16 GPUs stay covered.
  EXPECT_EQ(victims(world, 13), (Ids{4, 5, 6, 10, 11, 12}));
}

TEST(Victims, NodeByNodeNobodyWhereOneNodeTooFewCanBeCleared) {
  World world = small_jobs_everywhere();
  for (const int id : {1, 4, 7}) world.jobs[id - 1].preemptible = false;
  EXPECT_EQ(victims(world, 13), std::nullopt);
}

TEST(Victims, OfEqualOnesTheHigherId) {
  World world = cluster(1, 8);
  world.reclaim = Reclaim::kGuaranteed;
  for (const char* name : {"c", "a"}) {
    add_qos(world, name, "", gpus(0));
    add_running(world, name, gpus(4), {0});
  }
  add_qos(world, "b", "", gpus(4));
  add_job(world, "b", gpus(4));
  EXPECT_EQ(victims(world, 3), Ids{2});
}

TEST(Victims, TheLowestPriorityOfAnyQos) {
  World world = cluster(1, 12);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "p", "", gpus(0));
  add_qos(world, "o", "", gpus(0));
  add_qos(world, "b", "", gpus(2));
  add_qos(world, "x", "p", gpus(0));
  add_qos(world, "y", "p", gpus(0));
  add_running(world, "x", gpus(2), {0});
  add_running(world, "y", gpus(5), {0}).priority = 99;
  add_running(world, "o", gpus(5), {0}).priority = 1;
  add_job(world, "b", gpus(2));
  EXPECT_EQ(victims(world, 4), Ids{3});  // although it holds more than x
}

TEST(Victims, TheLastInOrderIsBorrowed) {
  World world = borrowed({15, 10, 5}, 10, 20);
  EXPECT_EQ(covered(world, "a", Reclaim::kGuaranteed), (std::set<int>{1, 3}));  // 10 do not fit beside 15, 5 do
  EXPECT_EQ(victims(world, 4), Ids{2});
  world.jobs[0].priority = 1;
  EXPECT_EQ(covered(world, "a", Reclaim::kGuaranteed), (std::set<int>{2, 3}));
  EXPECT_EQ(victims(world, 4), Ids{1});
  world.jobs[0].preemptible = false;  // who is never preempted comes first
  EXPECT_EQ(covered(world, "a", Reclaim::kGuaranteed), (std::set<int>{1, 3}));
  EXPECT_EQ(victims(world, 4), Ids{2});
}

// 12 of 8 are held: of three jobs of 4 the last is borrowed, but any one may go, since the other two are covered then.
TEST(Victims, ACoveredOneGoesWhereAnotherIsCoveredInItsPlace) {
  World world = cluster(2, 8);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "a", "", gpus(8));
  add_qos(world, "b", "", gpus(8));
  add_running(world, "a", gpus(4), {0});
  add_running(world, "a", gpus(4), {1}).priority = 40;
  add_running(world, "a", gpus(4), {1}).priority = 30;
  add_running(world, "b", gpus(2), {0});
  add_job(world, "b", gpus(6));
  EXPECT_TRUE(may_take_all(world, 5, {1}));
  EXPECT_TRUE(may_take_all(world, 5, {3}));
  EXPECT_FALSE(may_take_all(world, 5, {1, 3}));
  EXPECT_EQ(victims(world, 5), Ids{1});  // job 3 leaves four GPUs, too few
  world.jobs[4].per_task = gpus(4);
  EXPECT_EQ(victims(world, 5), Ids{3});  // borrowed ones come first
}

TEST(Victims, NobodyLosesWhatIsGuaranteedToOneWhoBorrows) {
  World world = cluster(1, 40);
  world.reclaim = Reclaim::kFairShare;
  add_qos(world, "a", "", gpus(20)).weight = 0;
  add_qos(world, "b", "", gpus(0));
  for (const int amount : {20, 10}) add_running(world, "a", gpus(amount), {0});
  add_job(world, "b", gpus(20));
  EXPECT_EQ(victims(world, 3), Ids{2});
  world.jobs[2].per_task = gpus(21);
  EXPECT_EQ(victims(world, 3), std::nullopt);
  EXPECT_FALSE(may_take_all(world, 3, {1, 2}));
}

TEST(Victims, TakesByFairShareWhoIsNotGuaranteedIt) {
  World world = cluster(6, 1);  // on each of the first two nodes one task finds room, on the others none
  world.nodes[0] = {{"gpu", 7 * kGpu}, {"cpu", 1}};
  world.nodes[1] = {{"gpu", 3 * kGpu}, {"cpu", 1}};
  world.reclaim = Reclaim::kFairShare;
  add_qos(world, "p", "", gpus(8));
  for (const char* name : {"x", "y"}) add_qos(world, name, "p", gpus(4));
  add_qos(world, "q", "", gpus(0)).weight = 0;
  add_running(world, "y", gpus(7), {0});
  add_running(world, "q", gpus(3), {1});
  add_job(world, "x", {{"gpu", 2 * kGpu}, {"cpu", 1}}, 2);
  EXPECT_EQ(grants_of(world, 3, 2), (std::vector<Grant>{{5, Reclaim::kFairShare}}));
  EXPECT_EQ(victims(world, 3), (Ids{1, 2}));
}

TEST(Victims, NoGuaranteeHoldsInsideOneQos) {
  World world = borrowed({4}, 4, 4);
  world.preempt = true;
  world.jobs[1].qos = "a";
  world.jobs[1].priority = 60;
  EXPECT_EQ(victims(world, 2), Ids{1});
}

// Two jobs of two GPUs and two free ones, and a job of higher priority in the same QOS.
World outranked(int64_t guaranteed, int64_t count) {
  World world = cluster(1, 6);
  world.reclaim = Reclaim::kGuaranteed;
  world.preempt = true;
  add_qos(world, "a", "", gpus(guaranteed));
  for (int i = 0; i < 2; ++i) add_running(world, "a", gpus(2), {0});
  add_job(world, "a", gpus(count)).priority = 51;
  return world;
}

TEST(Victims, PriorityTakesMoreToStayWithinTheGuarantee) {
  EXPECT_EQ(victims(outranked(4, 4), 3), (Ids{1, 2}));
  EXPECT_EQ(victims(outranked(6, 4), 3), Ids{2});
  EXPECT_EQ(victims(outranked(2, 4), 3), Ids{2});  // it is beyond already
}

TEST(Victims, PriorityTakesNobodyToComeBeyondTheGuarantee) {
  World world = outranked(4, 6);
  EXPECT_EQ(victims(world, 3), std::nullopt);
  EXPECT_FALSE(may_take_all(world, 3, {1, 2}));
  world.reclaim = Reclaim::kNone;
  EXPECT_EQ(victims(world, 3), (Ids{1, 2}));
  EXPECT_TRUE(may_take_all(world, 3, {1, 2}));
  EXPECT_EQ(victims(outranked(3, 6), 3), (Ids{1, 2}));
}

TEST(Victims, PriorityTakesNobodyToComeBeyondTheFairShare) {
  World world = outranked(0, 6);
  add_qos(world, "b", "", gpus(0));
  add_job(world, "b", gpus(1));
  EXPECT_EQ(gpu_share(world, "a"), 5);
  EXPECT_EQ(victims(world, 3), (Ids{1, 2}));
  world.reclaim = Reclaim::kFairShare;
  EXPECT_EQ(victims(world, 3), std::nullopt);
}

TEST(Victims, PriorityInAQosThatOutranksItsChildrenLooksAtTheWholeQos) {
  World world = outranked(6, 6);
  add_qos(world, "c", "a", gpus(3));          // which leaves 3 to a's own jobs
  EXPECT_EQ(victims(world, 3), (Ids{1, 2}));  // they have 4, beyond that
  world.qos[1].guaranteed = gpus(2);
  EXPECT_EQ(victims(world, 3), std::nullopt);
  world.qos[0].preempt_children = true;
  EXPECT_EQ(victims(world, 3), (Ids{1, 2}));
}

// x's own one may go, but in its place x would be beyond its guarantee; p would not.
TEST(Victims, NobodyByPriorityWhereThatLeadsBeyondTheGuarantee) {
  World world = cluster(1, 12);
  world.nodes[0]["cpu"] = 4;
  world.reclaim = Reclaim::kGuaranteed;
  world.preempt = true;
  add_qos(world, "p", "", gpus(4));
  add_qos(world, "x", "p", gpus(1));
  add_qos(world, "q", "", gpus(0));
  add_running(world, "x", {{"gpu", kGpu}, {"cpu", 1}}, {0});
  add_running(world, "q", {{"gpu", 2 * kGpu}, {"cpu", 3}}, {0});
  add_job(world, "x", {{"gpu", 2 * kGpu}, {"cpu", 3}}).priority = 51;
  add_job(world, "q", gpus(8));
  EXPECT_EQ(victims(world, 3), Ids{2});  // although p, at 1/3, is higher than q, at 2/9
  world.jobs[1].preemptible = false;
  EXPECT_EQ(victims(world, 3), std::nullopt);
}

TEST(Victims, LabelsBelowThePartingCountToo) {
  World world = cluster(1, 12);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "p", "", gpus(4));
  add_qos(world, "x", "p", gpus(4));
  add_qos(world, "y", "p", gpus(0));
  add_qos(world, "b", "", gpus(4));
  add_running(world, "x", gpus(4), {0}).priority = 1;
  add_running(world, "y", gpus(8), {0});
  add_job(world, "b", gpus(4));
  EXPECT_EQ(victims(world, 3), Ids{2});  // x is within its guarantee; y's is all of p's surplus
  world.jobs[1].preemptible = false;
  EXPECT_EQ(victims(world, 3), std::nullopt);
}

TEST(Victims, WhatIsAboveThePartingIsNoMatter) {
  World world = cluster(1, 11);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "p", "", gpus(11));
  add_qos(world, "x", "p", gpus(6));
  add_qos(world, "y", "p", gpus(5));
  add_running(world, "y", gpus(7), {0}).priority = 1;
  add_running(world, "y", gpus(4), {0}).priority = 2;
  add_job(world, "x", gpus(4));
  EXPECT_EQ(victims(world, 3), Ids{1});  // p, at 4 of 11 for now, gets the preemptor
}

TEST(Victims, TheDearestIsKeptIfItCanBe) {
  World world = borrowed({2, 2, 4}, 6);
  for (int i = 0; i < 3; ++i) world.jobs[i].priority = i;
  EXPECT_EQ(victims(world, 4), (Ids{1, 3}));
}

TEST(Victims, NobodyWhoIsNotNeeded) {
  World world = borrowed({2, 6, 2}, 8);
  world.jobs[0].priority = 1;
  world.jobs[1].priority = 2;
  EXPECT_EQ(victims(world, 4), (Ids{1, 2}));
  world.nodes[0]["gpu"] += 2 * kGpu;  // free ones
  EXPECT_EQ(victims(world, 4), Ids{2});
}

// The job finds room on the second node alone, but p stays within its guarantee only if one of y's jobs goes.
TEST(Victims, WhoMakesTheOthersAllowedGoesToo) {
  World world = cluster(2, 3);
  world.nodes[1] = gpus(4);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "p", "", gpus(6));
  add_qos(world, "x", "p", gpus(4));
  add_qos(world, "y", "p", gpus(2));
  add_qos(world, "q", "", gpus(0));
  for (int i = 0; i < 3; ++i) add_running(world, "y", gpus(1), {0});
  add_running(world, "q", gpus(4), {1});
  add_job(world, "x", gpus(4));
  EXPECT_EQ(may_take(world, 5, 4), std::nullopt);
  EXPECT_EQ(victims(world, 5), (Ids{3, 4}));
  world.qos[0].guaranteed = gpus(7);
  EXPECT_EQ(victims(world, 5), Ids{4});
}

// The preemptor's own branch is one of those that are looked at.
TEST(Victims, TheOwnBranchHasItsTurnToo) {
  World world = cluster(1, 12);
  world.reclaim = Reclaim::kGuaranteed;
  add_qos(world, "p", "", gpus(8));
  add_qos(world, "x", "p", gpus(2));
  add_qos(world, "y", "p", gpus(2)).weight = 0;
  add_qos(world, "q", "", gpus(0));
  add_running(world, "y", gpus(6), {0});
  add_running(world, "q", gpus(6), {0});
  add_job(world, "x", gpus(2));
  ASSERT_EQ(may_take(world, 3, 1), (Grant{5, Reclaim::kGuaranteed}));
  ASSERT_EQ(may_take(world, 3, 2), (Grant{5, Reclaim::kGuaranteed}));
  EXPECT_EQ(victims(world, 3), Ids{2});  // the higher id of two that are equal
  world.qos[3].weight = 10;
  world.jobs.insert(world.jobs.begin() + 1, world.jobs[1]);
  world.jobs[1].id = 4;
  world.jobs[1].qos = "y";
  world.jobs[1].per_task = world.jobs[2].per_task = gpus(3);
  EXPECT_EQ(victims(world, 3), Ids{4});
}

TEST(Victims, AsManyAsLeaveTheCoveredAmount) {
  World world = borrowed({4, 4, 4}, 8, 5);
  EXPECT_EQ(victims(world, 4), (Ids{2, 3}));
  world.qos[0].guaranteed = gpus(8);
  EXPECT_EQ(victims(world, 4), std::nullopt);
}

TEST(Victims, ThoseUnderProtectionOrLeavingAreNotTaken) {
  World world = borrowed({2, 2, 2}, 2);
  EXPECT_EQ(victims(world, 4, {3}), Ids{2});
  world.qos[0].min_runtime_s = 850;  // started at 100, 200 and 300
  EXPECT_EQ(victims(world, 4), Ids{1});
  EXPECT_EQ(victims(world, 4, {1}), std::nullopt);
}

TEST(Victims, InsideOneQosAlsoForItsLimit) {
  World world = cluster(1, 10);
  world.preempt = true;
  add_qos(world, "a", "", gpus(4)).limit = gpus(4);
  add_running(world, "a", gpus(2), {0}).priority = 10;
  add_running(world, "a", gpus(2), {0}).priority = 20;
  add_job(world, "a", gpus(2)).priority = 30;
  ASSERT_TRUE(fits(world, 3));
  EXPECT_EQ(victims(world, 3), Ids{1});
  world.jobs[2].per_task = gpus(5);
  EXPECT_EQ(victims(world, 3), std::nullopt);
}

TEST(Victims, NonPreemptibleTakerKeepsToItsGuarantee) {
  World world = borrowed({4, 4}, 4);
  world.jobs[2].preemptible = false;
  EXPECT_EQ(victims(world, 3), Ids{2});
  add_running(world, "b", gpus(1), {0}).preemptible = false;
  EXPECT_EQ(victims(world, 3), std::nullopt);
}

}  // namespace
}  // namespace gw::oracle
