// Passes that cannot look at everybody: nobody's classes keep another's from being looked at, and the next pass
// continues where the last one stopped. And what makes a class.
#include "sched/view/cursor.h"

#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/snapshot.h"

namespace gw::sched {
namespace {

using base::minutes;
using base::seconds;
using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::pending;

constexpr uint32_t kFlooder = 1000, kVictim = 1001, kOther = 1002;
const Time kNow{seconds(1'000).us};

/// A node with two of its eight GPUs free, and jobs of many classes that ask for three.
class Flood {
 public:
  explicit Flood(uint32_t classes, bool is_shared = false) : cluster(1, machine(16, 8, 64'000)) {
    cluster.apply(JobQueued{by(kOther, pending(++last, gang(1, 6), 1'000))});
    for (uint32_t i = 0; i < classes; ++i) {
      add(kFlooder, 3, i);
      if (is_shared) add(kOther, 3, i);
    }
    carry_out(plan(cluster.view, kNow, {}));  // the first one starts; the next pass finds nothing that is known
    cluster.view.queue().forget();
  }
  JobId add(uint32_t uid, uint32_t gpus, uint32_t number) {
    PendingJob job = by(uid, pending(++last, gang(1, gpus)));
    job.request.locality = {{model::Locality::kLeaf, base::kUnlimited}};
    job.time_limit = seconds(3'600 + number);
    cluster.apply(JobQueued{job});
    return job.id;
  }
  /// Passes until the job starts; `most` if it does not.
  uint32_t passes_until(JobId id, const Budget& budget, uint32_t most) {
    for (uint32_t pass = 1; pass <= most; ++pass) {
      latest = plan(cluster.view, kNow, budget);
      carry_out(latest);
      if (cluster.view.running().contains(id)) return pass;
    }
    return most;
  }
  static PendingJob by(uint32_t uid, PendingJob job) {
    job.uid = uid;
    job.eligible = Time{1};
    return job;
  }
  void carry_out(const Plan& p) {
    for (const Group& group : p.groups)
      for (const Decision& d : group.decisions)
        if (const auto* s = std::get_if<Start>(&d)) {
          auto job = std::make_shared<const PendingJob>(*cluster.view.queue().find(s->job));
          cluster.apply(JobPlaced{s->job, s->partition, s->allocation, kNow, Time::never(), std::move(job)});
        }
  }
  Cluster cluster;
  uint32_t last = 0;
  Plan latest;
};

TEST(Cursor, TheClassesOfOneUserKeepNobodyElseWaiting) {
  Flood flood(500);
  const JobId fits = flood.add(kVictim, 2, 0);
  EXPECT_EQ(flood.passes_until(fits, {100, 1'000, 20}, 10), 1U);
  EXPECT_TRUE(flood.latest.put_off);
  EXPECT_FALSE(flood.latest.exhausted);
}

TEST(Cursor, NorTheLastOfTheirOwn) {
  Flood flood(500);
  const JobId fits = flood.add(kFlooder, 2, 9'999);
  flood.add(kVictim, 3, 7'777);
  EXPECT_LE(flood.passes_until(fits, {100, 1'000, 20}, 100), 500U / 20 + 1);
}

TEST(Cursor, APassThatRanOutGoesOnWhereItStopped) {
  Flood flood(500, /*is_shared=*/true);  // nobody's, so that no allowance holds them up
  const JobId fits = flood.add(kVictim, 2, 0);
  const Plan first = plan(flood.cluster.view, kNow, {100, 1'000, 20});
  EXPECT_TRUE(first.exhausted);
  EXPECT_LE(flood.passes_until(fits, {100, 1'000, 20}, 100), 500U / 100 + 1);
}

TEST(Cursor, ComesToRestAndLooksAgainWhenSomethingChanges) {
  Flood flood(100);
  flood.add(kVictim, 3, 7'777);
  const Budget budget{1'000, 1'000, 10};
  uint32_t passes = 1;
  while (!plan(flood.cluster.view, kNow, budget).is_whole()) ASSERT_LT(++passes, 30U);
  EXPECT_GE(passes, 10U) << "all were looked at";
  flood.cluster.apply(ShareReleased{JobId(1), NodeId(1)});
  const Plan next = plan(flood.cluster.view, kNow, budget);
  ASSERT_FALSE(next.groups.empty());
  EXPECT_EQ(std::get<Start>(next.groups.front().decisions.front()).job, JobId(2)) << "the first of all";
}

TEST(Cursor, WhoeverWasLookedAtIsLookedAtAgainBeforeRest) {
  Flood flood(30);
  flood.add(kVictim, 3, 7'777);
  const Budget budget{1'000, 1'000, 10};
  plan(flood.cluster.view, kNow, budget);
  flood.cluster.apply(ShareReleased{JobId(1), NodeId(1)});  // in the middle of a round: there is room for two more
  for (uint32_t pass = 0; pass < 30; ++pass) {
    const Plan p = plan(flood.cluster.view, kNow, budget);
    flood.carry_out(p);
    if (p.is_whole() && p.groups.empty()) break;
  }
  EXPECT_EQ(flood.cluster.view.running().size(), 2U);
}

// However many passes each of two users takes, and whenever the second one's begin.
TEST(Cursor, UsersWhoAreThroughAtDifferentTimesComeToRestTogether) {
  const Budget budget{1'000, 1'000, 2};
  for (uint32_t classes = 0; classes < 25; ++classes) {
    const uint32_t first = 2 + classes / 5, second = 2 + classes % 5;
    Flood flood(first);
    flood.add(kVictim, 3, 7'777);
    plan(flood.cluster.view, kNow, budget);
    for (uint32_t i = 0; i < second; ++i) flood.add(kVictim, 3, 8'000 + i);
    uint32_t passes = 0;
    while (!plan(flood.cluster.view, kNow, budget).is_whole()) ASSERT_LT(++passes, 20U) << first << " and " << second;
  }
}

// Who is looked at in the first of several passes may take from one that runs, but not before a certain moment.
TEST(Cursor, TheMomentThatAnEarlierPassSawIsNotForgotten) {
  Flood flood(0);
  Policy policy;
  policy.max_planned_starts = 0;
  policy.preempts = true;
  flood.cluster.apply(PolicySet{policy});
  model::Qos q;
  q.name = "q";
  q.min_runtime = minutes(20);
  flood.cluster.apply(QosSet{{q}});
  const auto add = [&](uint32_t uid, uint32_t gpus, uint32_t priority) {
    PendingJob job = Flood::by(uid, pending(++flood.last, gang(1, gpus), priority));
    job.qos = "q";
    job.preemptible = true;
    job.time_limit = seconds(3'600 + flood.last);
    flood.cluster.apply(JobQueued{job});
  };
  add(kOther, 2, 100);
  flood.carry_out(plan(flood.cluster.view, kNow, {}));
  add(kFlooder, 2, 200);
  const Time alone = plan(flood.cluster.view, kNow, {}).next_change_at;
  ASSERT_EQ(alone, kNow + minutes(20));
  flood.cluster.view.queue().forget();
  for (uint32_t i = 0; i < 30; ++i) add(kFlooder, 3, 100);
  add(kVictim, 3, 100);
  Plan last;
  uint32_t passes = 0;
  do {
    ASSERT_LT(++passes, 30U);
    last = plan(flood.cluster.view, kNow, {1'000, 1'000, 10});
  } while (!last.is_whole());
  EXPECT_GT(passes, 1U);
  EXPECT_EQ(last.next_change_at, alone);
}

TEST(Cursor, IsPartOfASnapshot) {
  for (const bool is_shared : {false, true}) {
    Flood flood(100, is_shared);
    flood.add(kVictim, 3, 7'777);
    flood.add(kFlooder, 2, 9'999);
    const Budget budget{30, 1'000, 10};
    plan(flood.cluster.view, kNow, budget);
    for (uint32_t pass = 0; pass < 20; ++pass) {
      const PassInput input = take_input(flood.cluster.view, kNow, budget);
      EXPECT_EQ(input.passed.empty(), false);
      auto restored = restore_view(input);
      ASSERT_TRUE(restored);
      const Plan here = plan(flood.cluster.view, kNow, budget), there = plan(**restored, kNow, budget);
      EXPECT_EQ(here.placements, there.placements);
      EXPECT_EQ(here.exhausted, there.exhausted);
      const PassInput after = take_input(flood.cluster.view, kNow, budget);
      EXPECT_EQ(after.passed, take_input(**restored, kNow, budget).passed);
      flood.carry_out(here);
      if (here.is_whole()) break;
    }
    EXPECT_EQ(flood.cluster.view.running().size(), 2U);
  }
}

TEST(Cursor, AUserAloneIsNotPutOff) {
  Cluster c(1, machine(16, 8, 64'000));
  for (uint32_t id = 1; id <= 50; ++id) {
    PendingJob job = pending(id, gang(1, 9));
    job.time_limit = seconds(id);
    c.apply(JobQueued{job});
  }
  EXPECT_TRUE(plan(c.view, kNow, {1'000, 1'000, 10}).is_whole());
}

// ---- What makes a class

PendingJob waits_for_leaf(uint32_t id, Time eligible, Duration wait = minutes(10)) {
  PendingJob job = pending(id, gang(2, 8));
  job.request.locality = {{model::Locality::kLeaf, wait}};
  job.eligible = eligible;
  return job;
}

TEST(Classes, TheTimeThatAJobHasWaitedIsNoPartOfItsClass) {
  Cluster c(1, machine(16, 8, 64'000));
  for (uint32_t id = 1; id <= 50; ++id)
    c.apply(JobQueued{waits_for_leaf(id, kNow + seconds(id), minutes(10) + seconds(id % 7))});
  plan(c.view, kNow + minutes(1), {});
  EXPECT_EQ(c.view.queue().classes().size(), 1U);
  const Plan p = plan(c.view, kNow + minutes(10) + seconds(20), {});
  EXPECT_EQ(c.view.queue().classes().size(), 2U) << "some hold out no longer";
  EXPECT_LE(p.next_change_at, kNow + minutes(10) + seconds(28)) << "the next one does not either";
  plan(c.view, kNow + minutes(20), {});
  EXPECT_EQ(c.view.queue().classes().size(), 1U);
}

TEST(Classes, ANewLevelIsToldToTheWholeClass) {
  Cluster c(1, machine(16, 8, 64'000));
  c.apply(JobQueued{waits_for_leaf(1, kNow)});
  const Plan first = plan(c.view, kNow, {});
  EXPECT_EQ(first.next_change_at, kNow + minutes(10));
  const Plan second = plan(c.view, first.next_change_at, {});
  ASSERT_EQ(second.groups.size(), 1U);
  EXPECT_EQ(std::get<Wait>(second.groups[0].decisions[0]).job_class,
            class_key(*c.view.queue().find(JobId(1)), false, first.next_change_at));
}

TEST(Classes, WhatIsWrittenInAnotherOrderIsTheSame) {
  PendingJob a = pending(1, gang(2, 8)), b = pending(2, gang(2, 8));
  a.request.nodelist = {"n1", "n2"};
  b.request.nodelist = {"n2", "n1", "n2"};
  a.request.exclude = {"n3", "n4"};
  b.request.exclude = {"n4", "n4", "n3"};
  a.request.features = {{"ib", "fast"}, {"old"}};
  b.request.features = {{"old"}, {"fast", "ib"}};
  EXPECT_EQ(class_key(a), class_key(b));
  b.request.exclude = {"n4"};
  EXPECT_NE(class_key(a), class_key(b));
}

TEST(Classes, HoldingOutLongerIsTheSameWhileBothHoldOut) {
  const PendingJob a = waits_for_leaf(1, kNow, minutes(10)), b = waits_for_leaf(2, kNow, minutes(20));
  EXPECT_EQ(class_key(a, false, kNow), class_key(b, false, kNow));
  EXPECT_NE(class_key(a, false, kNow + minutes(15)), class_key(b, false, kNow + minutes(15)));
  EXPECT_NE(class_key(a), class_key(b)) << "as requests they are two";
}

}  // namespace
}  // namespace gw::sched
