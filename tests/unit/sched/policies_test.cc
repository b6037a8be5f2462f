// Orders of partitions, and what orders are told: facts, queues of attained service, who yields, lines.
#include <gtest/gtest.h>

#include <cmath>

#include "pools.h"
#include "sched/queue/orders.h"
#include "sched/quota/holdings.h"
#include "sched/view/standings.h"

namespace gw::sched {
namespace {

using testing::at;
using testing::job_of;
using testing::pools;

TEST(Policies, AJobIsRankedByTheOrderOfItsFirstPartition) {
  const Orders orders(*make_order("fifo_skip"), pools({{"a", "fifo"}, {"b", "srtf"}}));
  EXPECT_EQ(orders.of(job_of(1, 1, {"a", "b"})).name(), "fifo");
  EXPECT_EQ(orders.of(job_of(1, 1, {"b", "a"})).name(), "srtf");
  EXPECT_EQ(orders.of(job_of(1, 1, {"c", "a"})).name(), "fifo_skip");
  EXPECT_EQ(orders.of(job_of(1, 1, {})).name(), "fifo_skip");
  EXPECT_EQ(orders.in("b", "").name(), "srtf");
  const Orders of_qos(*make_order("fifo_skip"), pools({{"a", "fifo"}, {"t", "time_slice"}}), {}, {},
                      pools({{"x", "lifo"}}));
  PendingJob own = job_of(1, 1, {"a"});
  own.qos = "x";
  EXPECT_EQ(of_qos.of(own).name(), "lifo") << "that of its QOS comes first";
  EXPECT_EQ(of_qos.in("a", "y").name(), "fifo");
  EXPECT_EQ(of_qos.in("t", "x").name(), "time_slice") << "where jobs take turns, all do";
  EXPECT_NE(orders.number_of(job_of(1, 1, {"a"})), orders.number_of(job_of(1, 1, {"b"})));
  EXPECT_EQ(orders.number_of(job_of(1, 1, {"c"})), orders.number_of(job_of(1, 1, {"main"})));
  EXPECT_TRUE(orders.has_several_lines());
  const Orders same(*make_order("fifo_skip"), pools({{"a", "fifo_skip"}, {"b", "fifo_skip"}}));
  EXPECT_FALSE(same.has_several_lines()) << "one order, whoever names it";
  EXPECT_TRUE(orders.is_strict_for(job_of(1, 1, {"c", "a"})));
  EXPECT_FALSE(orders.is_strict_for(job_of(1, 1, {"c", "b"})));
  EXPECT_TRUE(orders.are_preemptive());
  EXPECT_TRUE(orders.needs().durations);
  EXPECT_FALSE(orders.needs().users);
}

TEST(Policies, ServiceIsCountedFromWhereItWasCountedToTheLast) {
  PendingJob job = job_of(1, 4);
  job.attained = base::seconds(100);
  job.time_limit = base::minutes(60);
  EXPECT_EQ(waiting_facts(job, at(9)).attained, base::seconds(100)) << "nothing while it waits";
  EXPECT_DOUBLE_EQ(waiting_facts(job, at(9)).gpus, 4);
  const JobFacts fresh = running_facts(job, at(0), 4, at(1));
  EXPECT_EQ(fresh.attained, base::seconds(100 + 240));
  EXPECT_EQ(fresh.remaining, base::minutes(59));
  job.counted_at = at(5);  // it has grown since
  EXPECT_EQ(running_facts(job, at(0), 8, at(6)).attained, base::seconds(100 + 480));
  PendingJob threads = job_of(2, 0);
  threads.request.cpus_per_task = 16;
  EXPECT_DOUBLE_EQ(waiting_facts(threads, at(0)).gpus, 0.5 * threads.request.tasks);
}

TEST(Policies, Las2dHasQueuesAndNamesTheMomentOfTheNext) {
  const auto order = *make_order("las2d", {{"queue_1", 1}, {"queue_2", 2}});
  PendingJob job = job_of(1, 4);
  const auto key = [&](double gpu_hours) {
    job.attained = base::seconds(std::llround(gpu_hours * 3600));
    return order->key(waiting_facts(job, at(0)));
  };
  EXPECT_EQ(key(0), 0);
  EXPECT_EQ(key(0.99), 0);
  EXPECT_EQ(key(1), 1);
  EXPECT_EQ(key(1.99), 1);
  EXPECT_EQ(key(2), 2);
  EXPECT_EQ(key(200), 2);
  EXPECT_EQ(order->next_change(waiting_facts(job, at(0))), Time::never()) << "who waits gets no service";
  job.attained = base::seconds(1800);  // half of the first queue, at four GPUs
  EXPECT_EQ(order->next_change(running_facts(job, at(0), 4, at(0))), at(0) + base::seconds(450));
  EXPECT_EQ(order->next_change(running_facts(job, at(0), 4, at(0) + base::seconds(450))),
            at(0) + base::seconds(450 + 900));
  job.attained = base::seconds(9999);
  EXPECT_EQ(order->next_change(running_facts(job, at(0), 4, at(0))), Time::never());
}

TEST(Policies, WhoHasWaitedLongEnoughIsRankedAnewInItsClass) {
  Queue queue;
  queue.set_orders(std::make_shared<const Orders>(*make_order("las2d", {{"queue_1", 1}, {"promote", 2}})));
  PendingJob old = job_of(1, 4);
  old.attained = base::seconds(4 * 1200);  // ran for twenty minutes
  old.submitted = at(-60);
  PendingJob fresh = job_of(2, 4);
  queue.advance_to(at(0));
  queue.put(old);
  queue.put(fresh);
  ASSERT_EQ(queue.classes().size(), 1U);
  const JobClass& c = queue.classes().begin()->second;
  EXPECT_EQ(c.shape().id, JobId(2));
  EXPECT_EQ(queue.next_change(), at(40));
  queue.advance_to(at(40));
  EXPECT_EQ(c.shape().id, JobId(1)) << "twice as long as it ran, and it came first";
  EXPECT_EQ(queue.next_change(), Time::never());
}

TEST(Services, AreTheLatestAndToldInTime) {
  ServiceSample sample;
  const Time now = at(0);
  for (int i = 1; i <= 9; ++i) sample.add(base::seconds(i));
  sample.add({});  // it never ran
  EXPECT_FALSE(sample.take_news(now)) << "nine are too few";
  sample.add(base::seconds(10));
  EXPECT_TRUE(sample.take_news(now));
  EXPECT_FALSE(sample.take_news(now));
  for (int i = 0; i < 20; ++i) sample.add(base::seconds(1));
  EXPECT_FALSE(sample.take_news(now + base::minutes(9))) << "all that waits would be ranked anew";
  EXPECT_TRUE(sample.take_news(now + base::minutes(10)));
  for (size_t i = 0; i < ServiceSample::kMost; ++i) sample.add(base::seconds(100 + static_cast<int64_t>(i)));
  sample.add(base::seconds(5));
  const Services all = sample.all();
  ASSERT_EQ(all.size(), ServiceSample::kMost);
  EXPECT_EQ(all.front(), 5) << "ascending";
  EXPECT_EQ(all[1], 101) << "and the oldest is gone";
  ServiceSample again;
  ASSERT_TRUE(again.restore(sample.text()));
  EXPECT_EQ(again.all(), all);
  EXPECT_FALSE(again.take_news(now)) << "nobody has ended since";
  sample.add(base::seconds(7)), again.add(base::seconds(7));
  EXPECT_EQ(again.all(), sample.all()) << "the same one is the oldest";
  EXPECT_FALSE(again.restore("1 2 x"));
  EXPECT_EQ(again.all(), sample.all());
}

TEST(Gittins, BelievesInWhatOthersHad) {
  // Half of all jobs end within a minute; who has had that will need ten hours.
  const Services services = {60, 60, 60, 36'000, 36'000, 36'000};
  const auto order = *make_order("gittins", {{"queue_1", 100}});
  const auto key = [&](double attained, const Services* known) {
    PendingJob job = job_of(1, 1);
    job.attained = base::microseconds(std::llround(attained * 1e6));
    return order->key(waiting_facts(job, at(0), known));
  };
  EXPECT_LT(key(0, &services), key(60, &services)) << "it may end soon; the other will not";
  EXPECT_LT(key(35'990, &services), key(0, &services)) << "it ends soon for sure";
  // 3 of 6 within 60 s: 0.5 / 60. All within 36,000: 1 / 18,030.
  EXPECT_DOUBLE_EQ(key(0, &services), 1 / (1 + 0.5 / 60));
  EXPECT_DOUBLE_EQ(key(60, &services), 1 / (1 + 1.0 / 35'940));
  EXPECT_EQ(key(0, nullptr), key(60, nullptr)) << "nothing is known: by submission in each queue";
  EXPECT_EQ(key(40'000, &services), 1) << "nobody had so much";
  EXPECT_GT(key(400'000, &services), key(36'000, &services)) << "the queues come first";
}

TEST(Drf, TheDominantShareCounts) {
  Held held{0, 2'000, 8, 1'000};
  const Held all{0, 8'000, 64, 100'000};
  EXPECT_DOUBLE_EQ(held.dominant_of(all), 0.25);
  held.mem_mb = 50'000;
  EXPECT_DOUBLE_EQ(held.dominant_of(all), 0.5);
  EXPECT_DOUBLE_EQ(held.dominant_of({0, 0, 64, 0}), 0.125) << "what nobody has is nobody's part";
}

/// Says that its rank changes at once, again and again.
class Restless final : public Order {
 public:
  std::string_view name() const override { return "restless"; }
  double score(const JobFacts&, const OrderContext&) const override { return 0; }
  Time next_change(const JobFacts& facts) const override { return facts.now; }
};

TEST(Policies, AnOrderThatNamesNoMomentToComeIsNotAskedWithoutEnd) {
  Queue queue;
  queue.set_orders(std::make_shared<const Orders>(std::make_shared<const Restless>()));
  queue.advance_to(at(0));
  queue.put(job_of(1, 1));
  EXPECT_EQ(queue.next_change(), at(0) + base::seconds(1));
  queue.advance_to(at(5));
  EXPECT_EQ(queue.next_change(), at(5) + base::seconds(1));
}

/// Divides by what may be nothing.
class Careless final : public Order {
 public:
  std::string_view name() const override { return "careless"; }
  double score(const JobFacts& facts, const OrderContext&) const override { return facts.job.nice == 0 ? 0 : NAN; }
  double key(const JobFacts& facts) const override { return facts.job.nice == 0 ? 0 : NAN; }
};

TEST(Policies, WhatIsNoNumberComesLast) {
  Queue queue;
  queue.set_orders(std::make_shared<const Orders>(std::make_shared<const Careless>()));
  for (uint32_t id = 1; id <= 9; ++id) {
    PendingJob job = job_of(id, 1);
    job.nice = id % 3 == 0 ? 0 : 1;
    queue.put(job);
  }
  ASSERT_EQ(queue.classes().size(), 1U);
  std::vector<uint32_t> ids;
  for (const auto& [rank, job] : queue.classes().begin()->second.members) ids.push_back(job.id.value);
  EXPECT_EQ(ids, (std::vector<uint32_t>{3, 6, 9, 1, 2, 4, 5, 7, 8}));
  for (uint32_t id = 1; id <= 9; ++id) queue.remove(JobId(id));
  EXPECT_EQ(queue.size(), 0U) << "each is found again where it was put";
}

using Pools = testing::PoolsTest;

TEST_F(Pools, TheUserWithTheSmallestDominantShareIsNext) {
  policy({{"left", "drf"}});
  // One has half of the memory and one GPU, the other three of eight GPUs: as GPUs the first has less, as a share more.
  PendingJob hog = job_of(1, 1, {"left"}), wide = job_of(2, 3, {"left"});
  hog.uid = 1, wide.uid = 2;
  model::NodeShare share;
  share.node = base::NodeId(1);
  share.gpus.insert(0), share.cores.insert(0);
  share.tasks = share.cpus = 1;
  share.mem_mb = 32'000;
  c.apply(JobPlaced{hog.id, "left", {{share}}, at(0), Time::never(), std::make_shared<const PendingJob>(hog)});
  runs(wide, "left", 1, at(0), 1, 3);
  runs(job_of(3, 3, {"left"}), "left", 1, at(0), 4, 3);  // of a third
  PendingJob first = job_of(4, 1, {"left"}), second = job_of(5, 1, {"left"});
  first.uid = 1, second.uid = 2;
  queue(first), queue(second);  // one GPU is left
  run(at(1));
  EXPECT_EQ(started, Ids{5});
}

TEST_F(Pools, HeadsOfDifferentLinesAreComparedBySubmission) {
  policy({{"left", "lifo"}});
  // By lifo 3 is before 1. The line on the right has 2, which came between them; whoever comes first gets the licence.
  Policy p = c.view.policy();
  p.licenses = {{"one", 1}};
  c.apply(PolicySet{p});
  std::vector<PendingJob> jobs = {job_of(1, 1, {"left"}), job_of(2, 1, {"right"}), job_of(3, 1, {"left"})};
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].submitted = at(static_cast<int64_t>(i));
    jobs[i].licenses = {{"one", 1}};
    queue(jobs[i]);
  }
  run(at(5));
  EXPECT_EQ(started, (Ids{2})) << "the head of the left line is 3, which came last";
}

TEST_F(Pools, WhoYieldsAtTheQuantumIsTakenThenAndThePlanSaysWhen) {
  policy({{"left", "las2d"}});
  PendingJob long_one = job_of(1, 8, {"left"});
  long_one.attained = base::hours(2);  // of the second queue
  runs(long_one, "left", 1, at(0));
  queue(job_of(2, 8, {"left"}));
  const Plan waits = run(at(4));
  EXPECT_EQ(preempted, Ids{});
  EXPECT_EQ(waits.next_change_at, at(10));
  run(at(10));
  EXPECT_EQ(preempted, (Ids{1}));
  EXPECT_EQ(started, (Ids{2}));
}

TEST_F(Pools, APartitionsOwnQuantumCountsFirst) {
  policy({{"left", "las2d"}});
  PartitionFacts own = *c.view.capacity().partition("left");
  own.quantum = base::minutes(3);
  c.apply(PartitionSet{own});
  PendingJob long_one = job_of(1, 8, {"left"});
  long_one.attained = base::hours(2);
  runs(long_one, "left", 1, at(0));
  queue(job_of(2, 8, {"left"}));
  run(at(3));
  EXPECT_EQ(preempted, (Ids{1}));
}

TEST_F(Pools, ThePlanIsMadeAgainWhenARunningJobChangesItsQueue) {
  policy({{"left", "las2d"}});
  PendingJob job = job_of(1, 8, {"left"});
  runs(job, "left", 1, at(0));  // an hour of one GPU is over after seven and a half minutes
  queue(job_of(2, 8, {"left"}));
  EXPECT_EQ(run(at(1)).next_change_at, at(7) + base::seconds(30));
  EXPECT_EQ(run(at(7) + base::seconds(30)).next_change_at, at(10)) << "then only its quantum keeps it";
}

TEST_F(Pools, NobodyYieldsToAnotherPartitionOrOrder) {
  policy({{"left", "priority"}});
  PendingJob low = job_of(1, 8, {"right"});
  runs(low, "right", 2, at(0));
  PendingJob high = job_of(2, 8, {"right"});
  high.priority = 9;
  queue(high);
  run(at(60));
  EXPECT_EQ(preempted, Ids{});
  high.partitions = {"right", "left"};
  PendingJob left = job_of(3, 8, {"left"});
  runs(left, "left", 1, at(0));
  queue(high);
  run(at(61));
  EXPECT_EQ(preempted, (Ids{3})) << "there the order says so";
}

TEST_F(Pools, EqualPartsAreCountedAsThePassGivesThem) {
  policy({{"left", "fair_share"}});
  for (uint32_t i = 1; i <= 8; ++i) {
    PendingJob j = job_of(i, 1, {"left"});
    j.uid = 1;
    runs(j, "left", 1, at(0), i - 1, 1);
    j.id = JobId(i + 10);
    j.uid = 2;
    queue(j);
  }
  run(at(60));
  EXPECT_EQ(started, (Ids{11, 12, 13, 14}));
  EXPECT_EQ(preempted, (Ids{8, 7, 6, 5}));
}

/// Threads count, too: a job without GPUs that runs has the service of what it holds.
TEST_F(Pools, AJobWithoutGpusHoldsAndAttains) {
  policy({{"left", "fair_share"}});
  PendingJob threads = job_of(1, 0, {"left"});
  model::NodeShare share;
  share.node = base::NodeId(1);
  share.cores = base::IndexSet::first(16);
  share.tasks = 1;
  c.apply(JobPlaced{threads.id, "left", {{share}}, at(0), Time::never(), std::make_shared<const PendingJob>(threads)});
  EXPECT_DOUBLE_EQ(held_with_parts(c.view, JobId(1)).gpus(), 1) << "16 cores of two threads";
  Standings standings(c.view, at(60));
  const auto& ranked = standings.ranked(c.view.quota().tree().leaf_of(""), "left");
  ASSERT_EQ(ranked.size(), 1U);
  EXPECT_EQ(ranked[0]->attained, base::hours(1));
  EXPECT_DOUBLE_EQ(ranked[0]->held_by_user, 1);
}

/// What the first victims give up is not there for the next: else a job that needs much of something else than GPUs
/// takes all that its place has, and the two users take turns for ever.
TEST_F(Pools, WhoGivesUpSeveralJobsKeepsAsMuchAsTheOtherHas) {
  policy({{"left", "fair_share"}});
  for (uint32_t i = 1; i <= 4; ++i) {
    PendingJob j = job_of(i, 1, {"left"});
    j.uid = 1;
    runs(j, "left", 1, at(0), i - 1, 1);
  }
  PendingJob wide = job_of(10, 1, {"left"});
  wide.request.cpus_per_task = 32;  // all threads of the node
  wide.uid = 2;
  queue(wide);
  run(at(60));
  EXPECT_EQ(preempted, Ids{}) << "all four would have to go for it";
}

TEST_F(Pools, UsersTakeTurnsWithinOnePass) {
  policy({{"left", "round_robin"}});
  for (uint32_t i = 1; i <= 12; ++i) {
    PendingJob j = job_of(i, 1, {"left"});
    j.uid = i <= 10 ? 1 : 2;
    j.submitted = at(i);
    j.time_limit = base::minutes(60 + i);  // each in a class of its own
    queue(j);
  }
  run(at(60));
  EXPECT_EQ(started, (Ids{1, 11, 2, 12, 3, 4, 5, 6}));
}

/// Jobs of four GPUs that take turns on one node with those who wait, and keep so much memory.
class Turns : public Pools {
 protected:
  void SetUp() override {
    Pools::SetUp();
    PartitionFacts p = *c.view.capacity().partition("left");
    p.share_suspended_gpus = true;
    p.grace = base::minutes(1);
    c.apply(PartitionSet{p});
    policy({{"left", "time_slice"}});
  }
  PendingJob turn(uint32_t id, uint32_t gpus) {
    PendingJob j = job_of(id, gpus, {"left"});
    j.between_turns = Suspends::kAtOnce;
    return j;
  }
  void runs_with(const PendingJob& j, Time since, uint32_t first, uint32_t count, uint64_t mem_mb) {
    model::NodeShare share;
    share.node = base::NodeId(1);
    for (uint32_t i = first; i < first + count; ++i) share.gpus.insert(i), share.cores.insert(i);
    share.tasks = share.cpus = count;
    share.mem_mb = mem_mb;
    c.apply(JobPlaced{j.id, "left", {{share}}, since, Time::never(), std::make_shared<const PendingJob>(j)});
  }
  static std::vector<const Preempt*> told(const Plan& p) {
    std::vector<const Preempt*> out;
    for (const Group& g : p.groups)
      for (const Decision& d : g.decisions)
        if (const auto* victim = std::get_if<Preempt>(&d)) out.push_back(victim);
    return out;
  }
};

TEST_F(Turns, EndTogetherAndWithoutAPreemption) {
  runs_with(turn(1, 4), at(3), 0, 4, 1000);
  runs_with(turn(2, 4), at(7), 4, 4, 1000);
  queue(turn(3, 8));
  EXPECT_EQ(run(at(9)).next_change_at, at(10)) << "at a whole multiple of the quantum, whenever they began";
  EXPECT_EQ(preempted, Ids());
  const Plan p = run(at(10));
  ASSERT_EQ(told(p).size(), 2U);
  for (const Preempt* victim : told(p)) {
    EXPECT_TRUE(victim->is_suspended);
    EXPECT_EQ(victim->rule, 0);
    EXPECT_EQ(victim->grace, base::seconds(1)) << "a moment, though they may have a minute: nobody is told";
  }
}

TEST_F(Turns, OneThatBeginsAtAnEndHasAWholeOne) {
  runs_with(turn(1, 8), at(10), 0, 8, 1000);
  queue(turn(3, 8));
  EXPECT_EQ(run(at(10)).next_change_at, at(20));
  EXPECT_EQ(preempted, Ids());
}

TEST_F(Turns, WhoComesInTheMiddleWaitsForTheEnd) {
  runs_with(turn(1, 8), at(0), 0, 8, 1000);
  PendingJob late = turn(3, 8);
  late.submitted = late.eligible = at(13);
  queue(late);
  EXPECT_EQ(run(at(13)).next_change_at, at(20));
  EXPECT_EQ(preempted, Ids());
  run(at(20));
  EXPECT_EQ(preempted, Ids{1});
}

TEST_F(Turns, NobodyIsSuspendedWhereItCouldNotResume) {
  runs_with(turn(1, 8), at(0), 0, 8, 1000);
  queue(turn(3, 8));
  NodeFacts drained = c.view.capacity().node(base::NodeId(1))->facts;
  drained.usable = false;
  c.apply(NodeSet{drained});
  run(at(10));
  EXPECT_EQ(preempted, Ids());
}

TEST_F(Turns, AQuantumOfNothingIsNoDivisionByIt) {
  Policy p = c.view.policy();
  p.quantum = {};
  c.apply(PolicySet{p});
  runs_with(turn(1, 8), at(0), 0, 8, 1000);
  queue(turn(3, 8));
  run(at(10));
  EXPECT_EQ(preempted, Ids{1});
}

TEST_F(Turns, WhoseTurnBeganFirstYieldsFirst) {
  PendingJob resumed = turn(1, 4);
  resumed.counted_at = at(8);  // it began long before, and was suspended since
  runs_with(resumed, at(0), 0, 4, 1000);
  runs_with(turn(2, 4), at(5), 4, 4, 1000);
  queue(turn(3, 4));
  run(at(10));
  EXPECT_EQ(preempted, Ids{2});
}

TEST_F(Turns, NobodyLosesWorkByThem) {
  PendingJob hog = turn(1, 4), kept = turn(2, 4);
  kept.preemptible = false;  // never requeued: but it can be suspended
  runs_with(hog, at(0), 0, 4, 60'000);
  runs_with(kept, at(5), 4, 4, 1000);
  PendingJob waits = turn(3, 4);
  waits.request.mem_per_node_mb = 3500;  // beside what both have
  queue(waits);
  EXPECT_EQ(told(run(at(10))).size(), 0U) << "too little memory is left beside what they keep";
  c.apply(JobUnqueued{waits.id});
  waits.request.mem_per_node_mb = 2000;
  waits.request.gpus = 8;
  queue(waits);
  EXPECT_EQ(told(run(at(10))).size(), 2U);
  c.apply(JobUnqueued{waits.id});
  waits.request.gpus = 4;
  queue(waits);
  ASSERT_EQ(told(run(at(10))).size(), 1U);
}

TEST_F(Turns, WhoSavesItsWorkIsRequeuedAndWhoCannotBeSuspendedStays) {
  PendingJob saves = turn(1, 4), stays = turn(2, 4);
  saves.between_turns = stays.between_turns = Suspends::kNo;
  saves.saves_work = true;
  runs_with(saves, at(5), 0, 4, 60'000);
  runs_with(stays, at(0), 4, 4, 1000);
  queue(turn(3, 4));
  const Plan p = run(at(10));
  ASSERT_EQ(preempted, Ids{1});
  EXPECT_FALSE(told(p)[0]->is_suspended);
}

}  // namespace
}  // namespace gw::sched
