// What is foreseen of a job that waits: when it starts, on whom it waits, and who is ahead of it by which rule.
#include "sched/cycle/outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/queue/order.h"
#include "sched/view/quota_report.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using testing::gang;
using ::testing::IsEmpty;
using testing::machine;
using testing::pending;

/// Two nodes of eight GPUs. Job 1 holds n1 for an hour, job 2 n2 for half of one.
struct TwoBusy : Cluster {
  base::Time now = base::Time{1'000'000'000};

  TwoBusy() : Cluster(2, machine(16, 8, 64'000)) {
    run(1, 1, base::hours(1));
    run(2, 2, base::minutes(30));
  }
  void run(uint32_t id, uint32_t node, base::Duration length, const std::string& qos = "") {
    const model::NodeShare share{NodeId(node),
                                 "n" + std::to_string(node),
                                 1,
                                 2,
                                 base::IndexSet::first(1),
                                 base::IndexSet::first(8),
                                 model::kWholeGpu,
                                 1000};
    PendingJob job = pending(id, gang(1, 8));
    job.qos = qos;
    apply(JobPlaced{JobId(id), "main", {{share}}, now, now + length, std::make_shared<const PendingJob>(job)});
  }
  PendingJob job(uint32_t id, uint32_t nodes, uint32_t gpus, int64_t priority = 0) const {
    PendingJob out = pending(id, gang(nodes, gpus), priority);
    out.time_limit = base::hours(2);
    out.submitted = out.eligible = now + base::seconds(id);
    return out;
  }
  void queue(const PendingJob& one) { apply(JobQueued{one}); }
  /// As the last pass left it.
  Outlook ask(const PendingJob& one) {
    (void)plan(view, now, {});
    return look_ahead(view, one, now);
  }
};

TEST(Outlook, ATooLargeGangWaitsForThoseWhoHoldItsNodes) {
  TwoBusy b;
  const PendingJob both = b.job(5, 2, 8);
  b.queue(both);
  const Outlook o = b.ask(both);
  EXPECT_EQ(o.when, When::kPlanned);
  EXPECT_EQ(o.start, b.now + base::hours(1));
  EXPECT_THAT(o.nodes, ElementsAre("n1", "n2"));
  EXPECT_THAT(o.waits_for, ElementsAre(JobId(1), JobId(2))) << "those that end last come first";
  EXPECT_THAT(o.ahead, IsEmpty());
  ASSERT_FALSE(o.blockers.empty());
  EXPECT_EQ(o.blockers.front().kind, model::BlockerKind::kNodes);
}

TEST(Outlook, AJobThatNobodyKnowsYetIsAsked) {
  TwoBusy b;
  b.apply(NodeSet{testing::node_facts(3, machine(16, 8, 64'000))});
  PartitionFacts p;
  p.name = "main";
  p.nodes = {"n1", "n2", "n3"};
  b.apply(PartitionSet{p});
  const Outlook o = b.ask(b.job(9, 1, 4));
  EXPECT_EQ(o.when, When::kNow);
  EXPECT_THAT(o.nodes, ElementsAre("n3"));
  EXPECT_EQ(b.view.queue().size(), 0U) << "it was asked, not queued";
}

TEST(Outlook, WhoIsAheadAndWhy) {
  TwoBusy b;
  b.queue(b.job(5, 2, 8));
  PendingJob late = b.job(7, 1, 8);
  b.queue(late);
  EXPECT_THAT(b.ask(late).ahead, ElementsAre(::testing::Field(&Ahead::rule, AheadBy::kSubmitted)));
  EXPECT_EQ(b.ask(late).ahead.front().job, JobId(5));

  PendingJob nice = b.job(4, 1, 8);
  nice.nice = 100;
  b.queue(nice);
  EXPECT_EQ(b.ask(nice).ahead.front().rule, AheadBy::kNice);

  PendingJob urgent = b.job(8, 1, 8, 50);
  b.queue(urgent);
  EXPECT_THAT(b.ask(urgent).ahead, IsEmpty());
  EXPECT_EQ(b.ask(late).ahead.front().rule, AheadBy::kPriority);
}

TEST(Outlook, APartitionOfAHigherTierComesFirst) {
  TwoBusy b;
  PartitionFacts p;
  p.name = "urgent";
  p.nodes = {"n1", "n2"};
  p.tier = 9;
  b.apply(PartitionSet{p});
  PendingJob first = b.job(8, 2, 8);
  first.partitions = {"urgent", "main"};
  b.queue(first);
  const PendingJob job = b.job(5, 1, 8);
  b.queue(job);
  EXPECT_THAT(b.ask(job).ahead, ElementsAre(::testing::Field(&Ahead::rule, AheadBy::kTier)));
}

TEST(Outlook, TheOrderInForcePutsAnotherFirst) {
  TwoBusy b;
  Policy policy;
  policy.order = make_order("shortest").value();
  b.apply(PolicySet{policy});
  PendingJob shorter = b.job(8, 2, 8);
  shorter.time_limit = base::minutes(5);
  b.queue(shorter);
  const PendingJob job = b.job(5, 1, 8);
  b.queue(job);
  EXPECT_THAT(b.ask(job).ahead, ElementsAre(::testing::Field(&Ahead::rule, AheadBy::kOrder)));
}

/// Whoever lends is told to go within a grace.
struct LentTwo : TwoBusy {
  explicit LentTwo(base::Duration grace) {
    Policy policy;
    policy.grace = grace;
    apply(PolicySet{policy});
    std::vector<model::Qos> tree(2);
    tree[0].name = "lender";
    tree[1].name = "owner";
    tree[1].guaranteed["gpu"] = 16'000;
    apply(QosSet{tree});
    for (const uint32_t id : {1U, 2U}) {
      PendingJob lent = pending(id, gang(1, 8));
      lent.qos = "lender";
      apply(RunningChanged{JobId(id), std::make_shared<const PendingJob>(lent)});
    }
  }
  PendingJob owners(uint32_t id) const {
    PendingJob out = job(id, 1, 8);
    out.qos = "owner";
    return out;
  }
};

TEST(Outlook, OthersWouldLeaveForIt) {
  LentTwo with_grace(base::seconds(40)), at_once({});
  const Outlook later = with_grace.ask(with_grace.owners(9)), now = at_once.ask(at_once.owners(9));
  EXPECT_EQ(later.when, When::kOnceOthersLeft);
  EXPECT_THAT(later.victims, ::testing::SizeIs(1));
  EXPECT_EQ(later.start, with_grace.now + base::seconds(40));
  EXPECT_EQ(now.when, When::kNow);
  EXPECT_THAT(now.victims, ::testing::SizeIs(1));
  EXPECT_TRUE(with_grace.view.capacity().holdings().contains(later.victims.front())) << "nobody has left";
}

TEST(Outlook, WhatWasNominatedForItIsNotForWhatItWouldAskFor) {
  LentTwo b(base::seconds(40));
  PendingJob job = b.owners(9);
  b.queue(job);
  for (const Group& g : plan(b.view, b.now, {}).groups)
    for (const Decision& d : g.decisions) {
      if (const auto* v = std::get_if<Preempt>(&d)) b.apply(EndExpected{v->job, b.now + v->grace, true});
      if (const auto* n = std::get_if<Nomination>(&d)) b.apply(NominationSet{*n});
    }
  ASSERT_EQ(b.view.nominations().size(), 1U);
  EXPECT_EQ(b.ask(job).when, When::kOnceOthersLeft) << "its place is kept until they have left";
  job.request.gpus = 4;
  (void)b.ask(job);
  EXPECT_EQ(b.view.nominations().size(), 1U) << "asking has changed nothing";
}

TEST(Outlook, OneThatHasStartedMeanwhileIsNotPlacedOnceMore) {
  TwoBusy b;
  b.apply(NodeSet{testing::node_facts(3, machine(16, 8, 64'000))});
  const Outlook o = b.ask(b.job(2, 1, 1));
  EXPECT_EQ(o.when, When::kUnknown);
  EXPECT_TRUE(b.view.capacity().audit().has_value());
  EXPECT_EQ(b.view.capacity().holdings().at(JobId(2)).nodes.size(), 1U);
}

TEST(Outlook, AskingChangesNoDemand) {
  LentTwo b(base::seconds(40));
  PendingJob job = b.owners(9);
  b.queue(job);
  const auto before = report_quotas(b.view).shares.demand;
  job.request.gpus = 2;
  (void)b.ask(job);
  (void)b.ask(b.owners(10));
  EXPECT_EQ(report_quotas(b.view).shares.demand, before);
}

/// Nobody knows when the first two start; they count among those for whom a start is planned.
TEST(Outlook, WhoIsBeyondThoseThatArePlannedIsNotForetold) {
  TwoBusy b;
  Policy policy;
  policy.max_planned_starts = 2;
  b.apply(PolicySet{policy});
  b.apply(EndExpected{JobId(1), base::Time::never()});
  for (const uint32_t id : {5U, 6U}) {
    PendingJob endless = b.job(id, 1, id);
    endless.request.nodelist = {"n1"};
    b.queue(endless);
  }
  const PendingJob job = b.job(7, 1, 8);
  b.queue(job);
  EXPECT_EQ(b.ask(job).when, When::kUnknown);
  b.apply(JobUnqueued{JobId(5)});
  EXPECT_EQ(b.ask(job).when, When::kPlanned);
}

TEST(Outlook, ADeadlineThatCannotBeMet) {
  TwoBusy b;
  PendingJob job = b.job(9, 1, 8);
  job.deadline = b.now + base::minutes(1);
  EXPECT_EQ(b.ask(job).when, When::kNever);
}

TEST(Outlook, ALimitHasRoomOnceThoseWhoHoldItHaveEnded) {
  TwoBusy b;
  std::vector<model::Qos> tree(1);
  tree[0].name = "small";
  tree[0].limit["gpu"] = 10'000;
  b.apply(QosSet{tree});
  b.apply(NodeSet{testing::node_facts(3, machine(16, 8, 64'000))});
  PendingJob held = pending(1, gang(1, 8));
  held.qos = "small";
  b.apply(RunningChanged{JobId(1), std::make_shared<const PendingJob>(held)});
  PendingJob job = b.job(9, 1, 4);
  job.qos = "small";
  const Outlook o = b.ask(job);
  EXPECT_EQ(o.when, When::kUnknown);
  EXPECT_EQ(o.room_at, b.now + base::hours(1));
  EXPECT_EQ(o.reason, model::WaitReason::kQosLimit);
  job.request.gpus = 2;
  EXPECT_EQ(b.ask(job).room_at, base::Time()) << "the limit has room for so much";
}

TEST(Outlook, OfWhatHasNoEndNothingIsForeseen) {
  TwoBusy b;
  for (const uint32_t id : {1U, 2U}) b.apply(EndExpected{JobId(id), base::Time::never()});
  const Outlook o = b.ask(b.job(9, 1, 8));
  EXPECT_EQ(o.when, When::kUnknown);
  EXPECT_EQ(o.start, base::Time());
}

}  // namespace
}  // namespace gw::sched
