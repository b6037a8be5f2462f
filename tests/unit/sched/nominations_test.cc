// Nominations: what others leave for a job is kept for it, as long as it can still become the place that the job was
// nominated for.
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::node_facts;
using testing::pending;

constexpr uint32_t kTaker = 10;

/// Three nodes of eight GPUs. A lender's jobs 1 to 3 hold one each; job 10, of two nodes, takes two of them.
struct Lent : Cluster {
  base::Time now = base::Time{1'000'000'000};
  Nomination nomination;
  std::vector<uint32_t> victims;

  Lent() : Cluster(3, machine(16, 8, 64'000)) {
    Policy policy;
    policy.grace = base::seconds(40);
    apply(PolicySet{policy});
    std::vector<model::Qos> tree(2);
    tree[0].name = "lender";
    tree[1].name = "owner";
    tree[1].guaranteed["gpu"] = 16'000;
    apply(QosSet{tree});
    for (const uint32_t id : {1U, 2U, 3U}) start_on(id, id, id != 1);
    PendingJob preemptor = pending(kTaker, gang(2, 8));
    preemptor.qos = "owner";
    apply(JobQueued{preemptor});
    decide();
  }
  static PendingJob lent(uint32_t id, bool preemptible = true) {
    PendingJob job = pending(id, gang(1, 8));
    job.qos = "lender";
    job.preemptible = preemptible;
    return job;
  }
  void start_on(uint32_t id, uint32_t node, bool preemptible = true) {
    const model::NodeShare share{NodeId(node),
                                 "n" + std::to_string(node),
                                 1,
                                 2,
                                 base::IndexSet::first(1),
                                 base::IndexSet::first(8),
                                 model::kWholeGpu,
                                 1000};
    auto job = std::make_shared<const PendingJob>(lent(id, preemptible));
    apply(JobPlaced{JobId(id), "main", {{share}}, now, base::Time::never(), std::move(job)});
  }
  /// Plans; who is told to go goes, and what is nominated for a job is kept.
  Plan decide() {
    Plan p = plan(view, now, {});
    victims.clear();
    for (const Group& g : p.groups) {
      for (const Decision& d : g.decisions) {
        if (const auto* v = std::get_if<Preempt>(&d)) {
          victims.push_back(v->job.value);
          apply(EndExpected{v->job, now + v->grace, true});
        }
        if (const auto* n = std::get_if<Nomination>(&d)) apply(NominationSet{nomination = *n});
      }
    }
    return p;
  }
  bool starts(const Plan& p, uint32_t id) const {
    for (const Group& g : p.groups)
      for (const Decision& d : g.decisions)
        if (const auto* s = std::get_if<Start>(&d); s != nullptr && s->job.value == id) return true;
    return false;
  }
  void leave(uint32_t id) { apply(ShareReleased{JobId(id), NodeId(id)}); }
  void set_node(uint32_t id, bool usable, uint32_t gpus = 8) {
    NodeFacts facts = node_facts(id, machine(16, 8, 64'000));
    facts.usable = usable;
    facts.gpus = base::IndexSet::first(gpus);
    apply(NodeSet{facts});
  }
};

TEST(Nominations, AreKeptWhileOthersLeaveAndHonouredThen) {
  Lent c;
  ASSERT_EQ(c.victims, (std::vector<uint32_t>{3, 2}));
  c.leave(3);
  c.apply(JobQueued{Lent::lent(3)});
  Plan p = c.decide();
  EXPECT_TRUE(c.victims.empty());
  EXPECT_FALSE(c.starts(p, 3));  // its old place is no longer its own
  c.leave(2);
  p = c.decide();
  ASSERT_TRUE(c.starts(p, kTaker));
  EXPECT_EQ(std::get<Start>(p.groups[0].decisions[0]).allocation, c.nomination.allocation);
}

TEST(Nominations, ThatSomebodyElseGotHoldOfAreNotWaitedFor) {
  Lent c;
  c.leave(2);
  c.leave(3);
  c.set_node(3, false);  // one node is out of reach for a moment: the nomination falls
  c.apply(JobQueued{Lent::lent(4)});
  ASSERT_TRUE(c.starts(c.decide(), 4));
  c.start_on(4, 2);
  c.set_node(3, true);
  c.now = c.now + base::seconds(1);
  c.decide();
  EXPECT_EQ(c.victims, (std::vector<uint32_t>{4}));
  EXPECT_EQ(c.nomination.when, c.now + base::seconds(40));
  c.apply(ShareReleased{JobId(4), NodeId(2)});
  EXPECT_TRUE(c.starts(c.decide(), kTaker));
}

TEST(Nominations, OnAGpuThatIsGoneAreNotWaitedFor) {
  Lent c;
  c.leave(2);
  c.leave(3);
  c.set_node(3, true, 7);
  Plan p = c.decide();
  EXPECT_TRUE(p.planned_starts.empty());  // there are no two nodes that it could have: nothing is kept for it
  c.apply(JobQueued{Lent::lent(4)});
  EXPECT_TRUE(c.starts(c.decide(), 4));
}

/// Who was told to leave and does not must not bind the job to this place for ever.
TEST(Nominations, ExpireWhereTheOthersDoNotLeaveInTime) {
  Lent c;
  c.leave(2);
  const auto waits_for_nomination = [&c] {
    const Plan p = c.decide();
    return std::any_of(p.planned_starts.begin(), p.planned_starts.end(),
                       [&](const PlannedStart& r) { return r.job == JobId(kTaker) && r.start == c.nomination.when; });
  };
  c.now = c.nomination.when + kNominationPatience;
  EXPECT_TRUE(waits_for_nomination());
  c.now = c.now + base::seconds(1);
  EXPECT_FALSE(waits_for_nomination());
}

/// The limit came after the others had been told to go.
TEST(Nominations, AreNotHonouredBeyondALimit) {
  Lent c;
  std::vector<model::Qos> tree = c.view.quota().tree().list();
  tree[1].guaranteed.clear();
  tree[1].limit["gpu"] = 8'000;
  c.apply(QosSet{tree});
  c.leave(3);
  c.leave(2);
  EXPECT_FALSE(c.starts(c.decide(), kTaker));
  tree[1].limit["gpu"] = 16'000;
  c.apply(QosSet{tree});
  EXPECT_TRUE(c.starts(c.decide(), kTaker));
}

}  // namespace
}  // namespace gw::sched
