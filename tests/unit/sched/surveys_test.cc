// Orders that look at all who contend before they rank anybody (themis, tetris), and the nodes that they choose.
#include <gtest/gtest.h>

#include <algorithm>

#include "pools.h"
#include "sched/place/place.h"

namespace gw::sched {
namespace {

using testing::at;
using testing::Cluster;
using testing::job_of;
using testing::pools;

// ---- Themis. at(0) is the beginning of a lease of twenty minutes.

JobFacts waits(const PendingJob& job, int64_t now) { return waiting_facts(job, at(now)); }

TEST(Themis, WhoNeverWaitsHasOneAndOthersMore) {
  const auto order = *make_order("themis");
  PendingJob job = job_of(1, 8);
  job.time_limit = base::minutes(100);
  job.submitted = job.eligible = at(-20);
  EXPECT_DOUBLE_EQ(-order->key(waits(job, 0)), 1.2) << "a hundred and twenty minutes instead of a hundred";
  EXPECT_DOUBLE_EQ(-order->key(waits(job, 19)), 1.2) << "within a lease it stays";
  EXPECT_EQ(order->next_change(waits(job, 19)), at(20));
  EXPECT_DOUBLE_EQ(-order->key(waits(job, 20)), 1.4);
  const JobFacts running = running_facts(job, at(-20), 8, at(13));
  EXPECT_DOUBLE_EQ(-order->key(running), 1) << "it began at once";
  job.time_limit = base::kUnlimited;
  job.attained = base::minutes(8 * 50);
  EXPECT_DOUBLE_EQ(-order->key(waits(job, 40)), 60.0 / 50) << "of what is not known only what it has had counts";
  PendingJob tiny = job_of(2, 1);
  tiny.time_limit = base::seconds(1);
  tiny.submitted = at(-1);
  EXPECT_NEAR(-order->key(waits(tiny, 0)), 61.0 / 60, 1e-9) << "a second of work is not the worse off for a minute";
}

TEST(Themis, ARenewedLeaseIsShorterByWhatItKeptFromOthers) {
  const auto order = *make_order("themis", {{"fairness", 0}});
  PendingJob first = job_of(1, 8), second = job_of(2, 8);
  first.time_limit = base::minutes(25);
  second.time_limit = base::minutes(100);
  const auto look = [&](int64_t now) {
    return order->survey({{running_facts(first, at(0), 8, at(now)), 1, 8'000}, {waits(second, now), 1, 8'000}}, 8'000);
  };
  const auto yields = [&](int64_t now) {
    const auto survey = look(now);
    JobFacts running = running_facts(first, at(0), 8, at(now)), waiting = waits(second, now);
    running.survey = waiting.survey = survey.get();
    return std::pair(order->yields(running, waiting), order->next_change(running));
  };
  EXPECT_EQ(yields(19), std::pair(Yields::kNo, at(20))) << "its first lease is whole";
  // It ends five minutes from then on, of twenty-five: it gains more. The other, which has waited for twenty minutes
  // and needs a hundred, would gain ln(1 + 20 / 120): by so much the lease is shorter.
  const Time paid = at(20) + base::microseconds(std::llround(120.0 / 140 * 20 * 60e6));
  EXPECT_EQ(yields(20).first, Yields::kNo);
  EXPECT_LE(std::abs((yields(20).second - paid).us), 1) << "by when it has to be asked again";
  EXPECT_EQ(yields(37).first, Yields::kNo);
  EXPECT_EQ(yields(38).first, Yields::kNow) << "the other is worse off";
}

TEST(Themis, EachPassOfALeaseComesToTheSameWinners) {
  const auto order = *make_order("themis", {{"fairness", 0.5}});
  // Four wait and four run, of a GPU each: of eight the four that wait are the worst off, and win all four GPUs.
  std::vector<PendingJob> jobs;
  for (uint32_t i = 1; i <= 8; ++i) {
    jobs.push_back(job_of(i, 1));
    jobs.back().time_limit = base::minutes(60 + i);
    jobs.back().submitted = jobs.back().eligible = at(-40);
  }
  const auto winners = [&](const std::vector<size_t>& run, const std::vector<size_t>& begun,
                           const std::vector<size_t>& gone) {
    std::vector<Contender> all;
    for (size_t i = 0; i < jobs.size(); ++i) {
      PendingJob& job = jobs[i];
      const bool is_gone = std::count(gone.begin(), gone.end(), i) > 0,
                 has_begun = std::count(begun.begin(), begun.end(), i) > 0;
      job.eligible = is_gone ? at(1) : at(-40);
      job.attained = is_gone ? base::minutes(41) : Duration{};
      job.remaining = is_gone ? job.time_limit - base::minutes(41) : base::kUnlimited;
      const bool runs = has_begun || (std::count(run.begin(), run.end(), i) > 0 && !is_gone);
      all.push_back({runs ? running_facts(job, has_begun ? at(1) : at(-40), 1, at(2)) : waits(job, 2), 1, 1'000});
    }
    const auto survey = order->survey(all, 4'000);
    std::vector<size_t> out;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].facts.survey = survey.get();
      if (order->score(all[i].facts, {}) >= 1e9) out.push_back(i);
    }
    return out;
  };
  EXPECT_EQ(winners({0, 1, 2, 3}, {}, {}), (std::vector<size_t>{4, 5, 6, 7}));
  EXPECT_EQ(winners({0, 1, 2, 3}, {4, 6}, {0, 1}), (std::vector<size_t>{5, 7})) << "the rest of them";
  EXPECT_EQ(winners({0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3}), std::vector<size_t>()) << "and nobody in their place";
}

TEST(Themis, AGangThatGrowsIsNoNewcomer) {
  const auto order = *make_order("themis", {{"fairness", 0}});
  PendingJob grows = job_of(1, 4), other = job_of(2, 8);
  grows.time_limit = base::minutes(10'000);
  other.time_limit = base::minutes(5);
  other.submitted = other.eligible = at(1);
  grows.most_tasks = 8;
  grows.counted_at = at(41);
  std::vector<Contender> all = {{running_facts(grows, at(0), 8, at(45)), 1, 8'000}, {waits(other, 45), 1, 8'000}};
  const auto survey = order->survey(all, 8'000);
  for (Contender& c : all) c.facts.survey = survey.get();
  EXPECT_EQ(order->yields(all[0].facts, all[1].facts), Yields::kNow);
}

class Surveys : public testing::PoolsTest {
 protected:
  PendingJob timed(uint32_t id, uint32_t gpus, int64_t submitted, int64_t minutes) {
    PendingJob job = job_of(id, gpus, {"left"});
    job.submitted = job.eligible = at(submitted);
    job.time_limit = base::minutes(minutes);
    return job;
  }
};

TEST_F(Surveys, TheWorstOffTakesTheGpusAtTheEndOfALease) {
  policy({{"left", "themis"}});
  runs(timed(1, 8, 0, 600), "left", 1, at(0));
  queue(timed(2, 8, 5, 10));
  EXPECT_EQ(run(at(15)).next_change_at, at(20));
  EXPECT_EQ(preempted, Ids());
  run(at(20));
  EXPECT_EQ(preempted, Ids{1});
  EXPECT_EQ(started, Ids{2});
}

TEST_F(Surveys, WhoBeganInThisLeaseKeepsItAndWhoCameInItWaits) {
  policy({{"left", "themis"}});
  runs(timed(1, 4, 0, 600), "left", 1, at(3), 0, 4);
  runs(timed(3, 4, -20, 600), "left", 1, at(-15), 4, 4);
  queue(timed(2, 8, 2, 10));
  run(at(19));
  EXPECT_EQ(preempted, Ids()) << "it waits since this lease began";
  run(at(20));
  EXPECT_EQ(preempted, (Ids{1, 3}));
}

/// All GPUs would be his: but he has had what he has had for all the time, and the others wait since long.
TEST_F(Surveys, OneWhoHasWonIsServedBeforeOneWhoIsWorseOffAndHasNot) {
  policy({{"left", "themis"}});
  Policy p = c.view.policy();
  p.pool_orders["left"].order = *make_order("themis", {{"fairness", 0}});
  c.apply(PolicySet{p});
  // Eight GPUs: the wide one is worse off, but the two narrow ones together gain more by them.
  queue(timed(1, 8, -300, 100));
  queue(timed(2, 4, -5, 10));
  queue(timed(3, 4, -6, 11));
  run(at(10));
  EXPECT_EQ(started, (Ids{3, 2}));
}

TEST_F(Surveys, AllOfAClassBid) {
  policy({{"left", "themis"}});
  Policy p = c.view.policy();
  p.pool_orders["left"].order = *make_order("themis", {{"fairness", 0.5}});
  c.apply(PolicySet{p});
  for (uint32_t i = 1; i <= 8; ++i) runs(timed(i, 1, -1000, 9'000), "left", 1, at(-900), i - 1, 1);
  for (uint32_t i = 11; i <= 18; ++i) queue(timed(i, 1, -5, 10));  // an array: all alike
  run(at(0));
  EXPECT_EQ(started.size(), 8U);
}

// ---- Tetris

TEST(Tetris, InAClassTheShortestRemainingIsFirstWhateverElseIsKnown) {
  const auto order = *make_order("tetris");
  PendingJob longer = job_of(1, 1), shorter = job_of(2, 1);
  longer.remaining = base::minutes(60), shorter.remaining = base::minutes(5);
  EXPECT_LT(order->key(waits(shorter, 0)), order->key(waits(longer, 0)));
}

TEST(Tetris, GoesByAlignmentAndByWhatRemains) {
  const auto order = *make_order("tetris");
  PendingJob one = job_of(1, 1), other = job_of(2, 1);
  one.time_limit = other.time_limit = base::minutes(60);
  JobFacts a = waits(one, 0), b = waits(other, 0);
  a.free = b.free = {0.1, 0.9, 0.5};
  a.demand = {0.1, 0.2, 0.1};  // many threads, of which many are free
  b.demand = {0.2, 0.1, 0.1};  // many GPUs, of which few are
  auto survey = order->survey({{a, 1}, {b, 3}}, 0);
  a.survey = b.survey = survey.get();
  EXPECT_GT(order->score(a, {}), order->score(b, {}));
  one.time_limit = a.remaining = base::minutes(600);
  survey = order->survey({{a, 1}, {b, 3}}, 0);
  a.survey = b.survey = survey.get();
  EXPECT_LT(order->score(a, {}), order->score(b, {})) << "but ten times as long";
  const auto packs = *make_order("tetris", {{"remaining", 0}});
  EXPECT_GT(packs->score(a, {}), packs->score(b, {})) << "which does not matter if it is told so";
}

TEST(Tetris, TheWorstOffUsersAreFirst) {
  PendingJob job = job_of(1, 1);
  job.time_limit = base::minutes(60);
  JobFacts poor = waits(job, 0);
  poor.demand = {0.1, 0.1, 0.1};
  poor.free = {0.5, 0.5, 0.5};
  JobFacts rich = poor;
  rich.demand = {0.2, 0.2, 0.2};
  rich.remaining = base::minutes(1);  // by far the more efficient
  poor.dominant_share = 0.1, rich.dominant_share = 0.4;
  const auto is_poor_first = [&](double fairness) {
    const auto order = *make_order("tetris", {{"fairness", fairness}});
    const auto survey = order->survey({{poor, 1}, {rich, 1}}, 0);
    poor.survey = rich.survey = survey.get();
    return order->score(poor, {}) > order->score(rich, {});
  };
  EXPECT_FALSE(is_poor_first(0));
  EXPECT_FALSE(is_poor_first(0.25)) << "three quarters of two jobs are both";
  EXPECT_TRUE(is_poor_first(0.5));
}

class TetrisNodes : public testing::PoolsTest {
 protected:
  /// Two nodes of eight GPUs and sixteen cores; on the first six GPUs and two cores are free, on the second two GPUs
  /// and ten cores.
  void SetUp() override {
    PoolsTest::SetUp();
    PartitionFacts p = *c.view.capacity().partition("left");
    p.nodes = {"n1", "n2"};
    c.apply(PartitionSet{p});
    hold(1, 1, 2, 14), hold(2, 2, 6, 6);
  }
  void hold(uint32_t job, uint32_t node, uint32_t gpus, uint32_t cores) {
    model::NodeShare share;
    share.node = base::NodeId(node);
    share.gpus = base::IndexSet::first(gpus);
    share.cores = base::IndexSet::first(cores);
    share.tasks = share.cpus = 1;
    share.mem_mb = 1000;
    const PendingJob held = job_of(job, gpus, {"left"});
    c.apply(JobPlaced{held.id, "left", {{share}}, at(0), Time::never(), std::make_shared<const PendingJob>(held)});
  }
  uint32_t node_of(uint32_t gpus, uint32_t cpus, model::Fit fit = model::Fit::kDefault) {
    PendingJob j = job_of(9, gpus, {"left"});
    j.request.cpus_per_task = cpus;
    j.request.fit = fit;
    queue(j);
    const Plan p = plan(c.view, at(1), {});
    c.apply(JobUnqueued{j.id});
    for (const Group& g : p.groups)
      for (const Decision& d : g.decisions)
        if (const auto* s = std::get_if<Start>(&d)) return s->allocation.shares.front().node.value;
    return 0;
  }
};

TEST_F(TetrisNodes, TheNodeIsTakenWhoseFreeResourcesTheDemandGoesBestWith) {
  policy({{"left", "tetris"}});
  EXPECT_EQ(node_of(2, 1), 2U) << "the fullest, unless it is told to choose";
  Policy chooses = c.view.policy();
  chooses.pool_orders["left"].order = *make_order("tetris", {{"nodes", 1}});
  c.apply(PolicySet{chooses});
  EXPECT_EQ(node_of(2, 1), 1U) << "GPUs where there are many";
  EXPECT_EQ(node_of(1, 4), 2U) << "threads where there are many";
  EXPECT_EQ(node_of(2, 1, model::Fit::kBest), 2U) << "a job's own fit comes first";
  PartitionFacts p = *c.view.capacity().partition("left");
  p.fit = model::Fit::kBest;
  c.apply(PartitionSet{p});
  EXPECT_EQ(node_of(2, 1), 2U) << "and so does the partition's";
}

TEST_F(TetrisNodes, AnotherOrderLeavesItToTheFit) {
  policy({{"left", "fifo_skip"}});
  EXPECT_EQ(node_of(2, 1), 2U) << "the fullest";
}

// ---- Victims by the order, where those of one node stand far apart in it

class ByNode : public testing::PoolsTest {
 protected:
  void SetUp() override {
    PoolsTest::SetUp();
    PartitionFacts p = *c.view.capacity().partition("left");
    p.nodes = {"n1", "n2"};
    c.apply(PartitionSet{p});
    policy({{"left", "srtf"}});
  }
  /// One GPU each, on both nodes in turn: whoever has longer to go stands after them.
  void fill() {
    for (uint32_t i = 0; i < 16; ++i) {
      PendingJob j = job_of(i + 1, 1, {"left"});
      j.time_limit = base::minutes(1000 - i);
      runs(j, "left", 1 + i % 2, at(0), i / 2, 1);
    }
  }
  void wants(uint32_t nodes, uint32_t gpus) {
    PendingJob j = job_of(50, gpus, {"left"});
    j.request.min_nodes = j.request.max_nodes = j.request.tasks = nodes;
    j.request.mem_per_node_mb = 0;
    j.request.mem_none = true;
    j.time_limit = base::minutes(10);
    queue(j);
    run(at(30));
    std::sort(preempted.begin(), preempted.end());
  }
};

TEST_F(ByNode, TheLastOfOneNodeGo) {
  fill();
  wants(1, 4);
  EXPECT_EQ(preempted, (Ids{1, 3, 5, 7}));
}

TEST_F(ByNode, OfAGangThoseOfAllItsNodes) {
  fill();
  wants(2, 3);
  EXPECT_EQ(preempted, (Ids{1, 2, 3, 4, 5, 6}));
}

TEST_F(ByNode, NobodyGoesInVain) {
  fill();
  wants(3, 1);
  EXPECT_EQ(preempted, Ids()) << "there are two nodes";
  c.apply(JobUnqueued{JobId(50)});
  NodeFacts drained = c.view.capacity().node(base::NodeId(1))->facts;
  drained.usable = false;
  c.apply(NodeSet{drained});
  wants(1, 2);
  EXPECT_EQ(preempted, (Ids{2, 4})) << "of the node that takes jobs";
}

TEST_F(ByNode, AFreeNodeCountsForAGang) {
  for (uint32_t i = 0; i < 8; ++i) {
    PendingJob j = job_of(i + 1, 1, {"left"});
    j.time_limit = base::minutes(1000 - i);
    runs(j, "left", 1, at(0), i, 1);
  }
  wants(2, 8);
  EXPECT_EQ(preempted, (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
}

/// The place that is found first has all three; another does with two.
TEST_F(ByNode, NobodyGoesWhomAnotherPlaceSpares) {
  c.apply(NodeSet{testing::node_facts(3, testing::machine(16, 8, 64'000))});
  PartitionFacts p = *c.view.capacity().partition("left");
  p.nodes = {"n1", "n2", "n3"};
  c.apply(PartitionSet{p});
  const auto spans = [&](uint32_t id, int64_t minutes, const std::vector<std::pair<uint32_t, uint32_t>>& parts) {
    PendingJob j = job_of(id, 4, {"left"});
    j.time_limit = base::minutes(minutes);
    model::Allocation all;
    for (const auto& [node, first] : parts) {
      model::NodeShare share;
      share.node = base::NodeId(node);
      for (uint32_t i = first; i < first + 4; ++i) share.gpus.insert(i), share.cores.insert(i);
      share.tasks = share.cpus = 4;
      all.shares.push_back(share);
    }
    c.apply(JobPlaced{j.id, "left", all, at(0), Time::never(), std::make_shared<const PendingJob>(j)});
  };
  spans(1, 3000, {{1, 0}});
  spans(2, 2000, {{2, 0}});
  spans(3, 1000, {{1, 4}, {2, 4}});
  wants(2, 8);
  EXPECT_EQ(preempted.size(), 2U);
}

/// Forty nodes, on which jobs of a GPU each run; those of one node stand far apart in the order, and all yield.
class ByNodeAtLarge : public ::testing::Test {
 protected:
  Cluster c{40, testing::machine(16, 8, 64'000)};

  void SetUp() override {
    Policy policy;
    policy.pool_orders = pools({{"main", "srtf"}});
    c.apply(PolicySet{policy});
    for (uint32_t i = 0; i < 320; ++i) {
      PendingJob j = job_of(i + 1, 1);
      j.time_limit = base::minutes(9000 - i);
      model::NodeShare share;
      share.node = base::NodeId(1 + i % 40);
      share.gpus.insert(i / 40), share.cores.insert(i / 40);
      share.tasks = share.cpus = 1;
      c.apply(JobPlaced{j.id, "main", {{share}}, at(0), Time::never(), std::make_shared<const PendingJob>(j)});
    }
  }
  void wants(uint32_t id, uint32_t gpus) {
    PendingJob j = job_of(id, gpus);
    j.time_limit = base::minutes(10 + id);  // each in a class of its own
    c.apply(JobQueued{j});
  }
  static size_t gone(const Plan& p) {
    size_t out = 0;
    for (const Group& g : p.groups)
      for (const Decision& d : g.decisions) out += std::holds_alternative<Preempt>(d);
    return out;
  }
};

TEST_F(ByNodeAtLarge, OnlyThoseOfOneNodeAreTriedAndTheSearchIsPaidFor) {
  wants(1000, 8);
  const Plan p = plan(c.view, at(30), {});
  EXPECT_EQ(gone(p), 8U);
  EXPECT_LT(p.placements, 100U) << "the search in their order puts 281 on trial, two in a step";
  EXPECT_GT(p.placements, 40U) << "281 are asked and looked at";
}

TEST_F(ByNodeAtLarge, APassInWhichManyYieldEndsEarly) {
  for (uint32_t id = 1001; id <= 1005; ++id) wants(id, 1);
  Budget budget;
  budget.starts = 40;
  const Plan cut = plan(c.view, at(30), budget);
  EXPECT_TRUE(cut.exhausted) << "each exchange counts as twenty starts";
  EXPECT_EQ(gone(cut), 2U);
  budget.starts = 1'000;
  EXPECT_EQ(gone(plan(c.view, at(30), budget)), 5U);
}

/// It asks for one CPU, and would be given as many as go with a GPU: only then the limit is in the way.
TEST_F(ByNode, WhereALimitIsInTheWayOfWhatItWouldBeGivenWhoeverLeavesHelps) {
  model::Qos team;
  team.name = "team";
  team.limit["cpu"] = 8;
  c.apply(QosSet{{team}});
  for (uint32_t i = 0; i < 4; ++i) {
    PendingJob j = job_of(i + 1, 1, {"left"});
    j.qos = "team";
    j.time_limit = base::minutes(1000 - i);
    runs(j, "left", 1, at(0), i, 1);  // a core of two threads each
  }
  PendingJob j = job_of(50, 1, {"left"});
  j.qos = "team";
  j.request.nodelist = {"n2"};  // which is empty
  j.request.cpus_per_task = 1;
  j.request.whole_cores = true;
  j.time_limit = base::minutes(10);
  queue(j);
  run(at(30));
  EXPECT_EQ(preempted.size(), 1U);
}

/// Whose GPUs it needs is on the node; but with the six CPUs of the partition for a GPU it would be beyond the limit,
/// of which another holds more elsewhere.
TEST_F(ByNode, WhoHoldsOfTheLimitGoesWithWhoHoldsThePlace) {
  PartitionFacts p = *c.view.capacity().partition("left");
  p.default_cpus_per_gpu = 6;
  c.apply(PartitionSet{p});
  model::Qos team;
  team.name = "team";
  team.limit["cpu"] = 10;
  c.apply(QosSet{{team}});
  const auto hold = [&](uint32_t id, uint32_t node, uint32_t gpus, uint32_t cores) {
    PendingJob j = job_of(id, gpus, {"left"});
    j.qos = "team";
    j.time_limit = base::minutes(1000);
    model::NodeShare share;
    share.node = base::NodeId(node);
    share.gpus = base::IndexSet::first(gpus);
    share.cores = base::IndexSet::first(cores);
    share.tasks = 1;
    share.cpus = 2 * cores;
    c.apply(JobPlaced{j.id, "left", {{share}}, at(0), Time::never(), std::make_shared<const PendingJob>(j)});
  };
  hold(1, 1, 0, 3), hold(2, 2, 8, 1);
  PendingJob others = job_of(3, 8, {"left"});  // without which the first node could hold it as well
  model::NodeShare all;
  all.node = base::NodeId(1);
  all.gpus = base::IndexSet::first(8);
  all.cores.insert(8);
  all.tasks = 1;
  c.apply(JobPlaced{others.id, "left", {{all}}, at(0), Time::never(), std::make_shared<const PendingJob>(others)});
  PendingJob j = job_of(50, 1, {"left"});
  j.qos = "team";
  j.request.nodelist = {"n2"};
  j.time_limit = base::minutes(10);
  queue(j);
  run(at(30));
  std::sort(preempted.begin(), preempted.end());
  EXPECT_EQ(preempted, (Ids{1, 2}));
}

TEST_F(ByNode, WhereALimitIsInTheWayWhoeverLeavesHelps) {
  model::Qos team;
  team.name = "team";
  team.limit["gpu"] = 8 * model::kWholeGpu;
  c.apply(QosSet{{team}});
  for (uint32_t i = 0; i < 8; ++i) {
    PendingJob j = job_of(i + 1, 1, {"left"});
    j.qos = "team";
    j.time_limit = base::minutes(1000 - i);
    runs(j, "left", 1, at(0), i, 1);
  }
  PendingJob j = job_of(50, 2, {"left"});
  j.qos = "team";
  j.request.nodelist = {"n2"};  // which is empty
  j.time_limit = base::minutes(10);
  queue(j);
  run(at(30));
  std::sort(preempted.begin(), preempted.end());
  EXPECT_EQ(preempted, (Ids{1, 2})) << "on the other node: what they held of the limit is free";
}

}  // namespace
}  // namespace gw::sched
