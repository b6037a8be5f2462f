// What a plan says of its preemptions and of what its starts borrow: the figures of that moment.
#include "sched/quota/grounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"

namespace gw::sched {
namespace {

using testing::gang;
using ::testing::HasSubstr;
using testing::machine;
using testing::pending;

constexpr Time kPass{3'600'000'000};
constexpr uint64_t kGpus = model::kWholeGpu;

model::Qos lender(const std::string& name, uint64_t gpus, const std::string& parent = "") {
  model::Qos out;
  out.name = name;
  out.parent = parent;
  out.guaranteed["gpu"] = gpus * kGpus;
  return out;
}

/// Two nodes of eight GPUs.
struct Quarrel : testing::Cluster {
  Quarrel() : Cluster(2, machine(32, 8, 512'000)) {}

  void run(uint32_t id, const std::string& qos, uint32_t node, int64_t priority = 0) {
    PendingJob job = pending(id, gang(1, 8), priority);
    job.qos = qos;
    model::NodeShare share;
    share.node = NodeId(node);
    share.gpus = base::IndexSet::first(8);
    model::Allocation allocation;
    allocation.shares = {share};
    apply(JobPlaced{job.id, "main", allocation, Time{1}, Time::never(), std::make_shared<const PendingJob>(job)});
  }
  Plan wants(const std::string& qos, uint32_t gpus, int64_t priority = 0) {
    PendingJob job = pending(9, gang(1, gpus), priority);
    job.qos = qos;
    job.time_limit = base::hours(1);
    apply(JobQueued{job});
    return plan(view, kPass, {});
  }
  void set(Reclaim reclaim, base::Duration grace = {}) {
    Policy policy;
    policy.preempts = true;
    policy.reclaim = reclaim;
    policy.grace = grace;
    apply(PolicySet{policy});
  }
};

template <typename Kind>
std::vector<Kind> all_of(const Plan& p) {
  std::vector<Kind> out;
  for (const Group& g : p.groups)
    for (const Decision& d : g.decisions)
      if (const auto* one = std::get_if<Kind>(&d)) out.push_back(*one);
  return out;
}

/// The only one that is preempted.
Preempt victim(const Plan& p) {
  const auto all = all_of<Preempt>(p);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? Preempt{} : all.front();
}

TEST(Grounds, TheFiguresAreThoseOfBeforeAnybodyWent) {
  for (const base::Duration grace : {base::Duration{}, base::minutes(1)}) {
    Quarrel c;
    c.set(Reclaim::kFairShare, grace);
    c.apply(QosSet{{lender("a", 8), lender("b", 8)}});
    c.run(1, "b", 1);
    c.run(2, "b", 2);
    const Preempt taken = victim(c.wants("a", 8));
    EXPECT_EQ(taken.rule, 5);
    ASSERT_TRUE(taken.ground);
    EXPECT_EQ(taken.ground->asked, 8 * kGpus);
    EXPECT_EQ(taken.ground->own, (QosStood{"QOS a", 0, 8 * kGpus, 8 * kGpus}));
    EXPECT_EQ(taken.ground->from, (QosStood{"QOS b", 16 * kGpus, 8 * kGpus, 8 * kGpus}));
    EXPECT_EQ(taken.ground->by, Reclaim::kGuaranteed);
    EXPECT_EQ(words(*taken.ground, taken.rule),
              "it asked for 8 gpu; QOS a held 0 gpu, guaranteed 8, fair share 8; QOS b held 16 gpu, guaranteed 8, fair "
              "share 8; rule 5: with the job the one stayed within its guarantee, and the other was above its own");
  }
}

TEST(Grounds, ByTheFairShareWhereNothingIsGuaranteed) {
  Quarrel c;
  c.set(Reclaim::kFairShare);
  c.apply(QosSet{{lender("a", 0), lender("b", 0)}});
  c.run(1, "b", 1);
  c.run(2, "b", 2);
  const Preempt taken = victim(c.wants("a", 8));
  ASSERT_TRUE(taken.ground);
  EXPECT_EQ(taken.ground->by, Reclaim::kFairShare);
  EXPECT_THAT(words(*taken.ground, taken.rule), HasSubstr("rule 5: with the job the one stayed within its fair share"));
}

TEST(Grounds, InsideOneQosThePrioritiesAreTold) {
  Quarrel c;
  c.set(Reclaim::kNone);
  c.apply(QosSet{{lender("a", 16)}});
  c.run(1, "a", 1, 3);
  c.run(2, "a", 2, 10);
  const Preempt taken = victim(c.wants("a", 8, 7));
  EXPECT_EQ(taken.job, JobId(1));
  ASSERT_TRUE(taken.ground);
  EXPECT_EQ(taken.ground->own, taken.ground->from);
  EXPECT_EQ(
      words(*taken.ground, taken.rule),
      "it asked for 8 gpu; QOS a held 16 gpu, guaranteed 16, fair share 16; rule 7: of one QOS, with the submitted "
      "priority 7 over 3");
}

/// Four nodes of eight GPUs, all held by "a": an elastic gang has one of each node, the rest are jobs of one GPU.
struct Crowd : testing::Cluster {
  static constexpr uint32_t kGang = 1;

  explicit Crowd(const std::string& own_of_b = "b") : Cluster(4, machine(32, 8, 512'000)) {
    apply(QosSet{{lender("a", 0), lender(own_of_b, 32)}});
    PendingJob elastic = of(kGang, gang(1, 1));
    elastic.most_tasks = 4;
    elastic.grows_by_node = true;
    apply(JobQueued{elastic});
    for (int i = 0; i < 2; ++i) carry_out();
    for (uint32_t id = 2; id < 30; ++id) apply(JobQueued{of(id, gang(1, 1))});
    for (int i = 0; i < 2; ++i) carry_out();
  }
  static PendingJob of(uint32_t id, const model::Request& r) {
    PendingJob job = pending(id, r);
    job.qos = "a";
    job.time_limit = base::hours(100);
    return job;
  }
  void carry_out() {
    for (const Group& g : plan(view, kPass, {}).groups)
      for (const Decision& d : g.decisions) {
        if (const auto* s = std::get_if<Start>(&d)) place(s->job, s->allocation, *view.queue().find(s->job));
        if (const auto* more = std::get_if<Grow>(&d))
          place(more->extension, more->allocation, extension_of(*view.running().at(JobId(kGang)), more->extension, 1));
      }
  }
  void place(JobId id, const model::Allocation& allocation, const PendingJob& job) {
    const auto known = std::make_shared<const PendingJob>(job);
    apply(JobPlaced{id, "main", allocation, Time{1}, Time::never(), known});
  }
};

TEST(Grounds, AGangThatGoesWithItsExtensionsIsCountedOnce) {
  Crowd c;
  ASSERT_EQ(c.view.present_tasks(JobId(Crowd::kGang)), 4U);
  PendingJob job = pending(99, gang(4, 8));
  job.qos = "b";
  job.time_limit = base::hours(1);
  c.apply(JobQueued{job});
  const auto taken = all_of<Preempt>(plan(c.view, kPass, {}));
  ASSERT_GT(taken.size(), 16U);
  for (const Preempt& victim : taken) {
    ASSERT_TRUE(victim.ground);
    EXPECT_EQ(victim.ground->from, (QosStood{"QOS a", 32 * kGpus, 0, 0})) << victim.job.value;
  }
}

TEST(Grounds, WhatAnElasticJobHasBeyondItsSmallestSizeGivesWay) {
  Crowd c;
  c.apply(JobQueued{Crowd::of(50, gang(1, 1))});
  const Preempt taken = victim(plan(c.view, kPass, {}));
  ASSERT_TRUE(taken.ground);
  EXPECT_TRUE(taken.ground->is_extension);
  EXPECT_THAT(words(*taken.ground, taken.rule), HasSubstr("beyond its smallest size gives way"));
}

TEST(Grounds, JobsOfAQosItselfTakeFromThoseBelowIt) {
  Quarrel c;
  c.set(Reclaim::kFairShare);
  model::Qos dept = lender("dept", 16);
  dept.preempt_children = true;
  c.apply(QosSet{{dept, lender("a", 16, "dept")}});
  c.run(1, "a", 1);
  c.run(2, "a", 2);
  const Preempt taken = victim(c.wants("dept", 8));
  ASSERT_TRUE(taken.ground);
  EXPECT_EQ(taken.rule, 6);
  EXPECT_EQ(taken.ground->from.name, "QOS a");
  EXPECT_EQ(taken.ground->from.held, 16 * kGpus);
  EXPECT_THAT(words(*taken.ground, taken.rule), HasSubstr("rule 6"));
}

TEST(Grounds, AStartSaysWhatItBorrowsAndWhere) {
  Quarrel c;
  c.set(Reclaim::kFairShare);
  c.apply(QosSet{{lender("a", 4), lender("b", 12)}});
  const auto starts = all_of<Start>(c.wants("a", 6));
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].borrows, (Borrowing{"QOS a", 2 * kGpus}));

  Quarrel within;
  within.apply(QosSet{{lender("a", 4), lender("b", 12)}});
  EXPECT_FALSE(all_of<Start>(within.wants("a", 4)).at(0).borrows);

  Quarrel above;  // its own guarantee has room, that of the QOS above has not
  above.apply(QosSet{{lender("dept", 8), lender("a", 8, "dept"), lender("out", 8)}});
  above.run(1, "dept", 1);
  EXPECT_EQ(all_of<Start>(above.wants("a", 8)).at(0).borrows, (Borrowing{"QOS dept", 8 * kGpus}));
}

}  // namespace
}  // namespace gw::sched
