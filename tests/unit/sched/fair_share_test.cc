// Rule 2 over time: past use in the division of a surplus, worked out by hand. Without past use the shares are those of
// the brute-force oracle (tests/prop/quota_prop.cc).
#include "sched/quota/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"
#include "sched/policy/water_filling.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using testing::gang;
using testing::machine;
using testing::pending;

model::Qos qos(const std::string& name, const std::string& parent = "", uint32_t weight = 1, uint64_t guaranteed = 0) {
  model::Qos q;
  q.name = name;
  q.parent = parent;
  q.weight = weight;
  if (guaranteed > 0) q.guaranteed["gpu"] = guaranteed * model::kWholeGpu;
  return q;
}

/// QOS beside each other that all want 80 GPUs, unless said, of the 80 that there are.
struct Siblings {
  std::vector<model::Qos> list;
  std::map<std::string, double> use = {};
  double strength = 1;
  std::map<std::string, uint64_t> wants = {};

  std::vector<uint64_t> gpus() const {
    QuotaLedger ledger;
    ledger.set_tree(QuotaTree(list));
    ledger.set_past(strength, use);
    const QuotaTree& tree = ledger.tree();
    std::vector<Quantities> demand(tree.nodes().size(), tree.none());
    for (const model::Qos& q : list)
      demand[tree.leaf_of(q.name)][0] = (wants.contains(q.name) ? wants.at(q.name) : 80) * model::kWholeGpu;
    const Shares shares = divide(tree, Quantities{80 * model::kWholeGpu}, demand, ledger.past());
    std::vector<uint64_t> out;
    for (const model::Qos& q : list) out.push_back(shares.fair[*tree.find(q.name)][0] / model::kWholeGpu);
    return out;
  }
};

TEST(OverTime, WhoHasUsedMoreGetsLess) {
  const std::map<std::string, double> use = {{"a", 3000}, {"b", 1000}};  // parts 3/4 and 1/4, due 1/2 each
  EXPECT_THAT((Siblings{{qos("a"), qos("b")}, use, 0}.gpus()), ElementsAre(40, 40));
  EXPECT_THAT((Siblings{{qos("a"), qos("b")}, use, 0.5}.gpus()), ElementsAre(30, 50));
  EXPECT_THAT((Siblings{{qos("a"), qos("b")}, use, 1}.gpus()), ElementsAre(20, 60));
  EXPECT_THAT((Siblings{{qos("a"), qos("b")}, use, 2}.gpus()), ElementsAre(0, 80));
  EXPECT_THAT((Siblings{{qos("a"), qos("b")}, use, 1000}.gpus()), ElementsAre(0, 80));
}

TEST(OverTime, WithoutUseNothingChanges) {
  const std::vector<model::Qos> list = {qos("a", "", 3), qos("b"), qos("c", "", 7)};
  const std::vector<uint64_t> plain = Siblings{list, {}, 0}.gpus();
  EXPECT_EQ((Siblings{list, {}, 5}.gpus()), plain);
  EXPECT_EQ((Siblings{list, {{"a", 0.0}, {"gone", 0.0}}, 5}.gpus()), plain);
  EXPECT_EQ((Siblings{list, {{"a", 30}, {"b", 10}, {"c", 70}}, 5}.gpus()), plain) << "all had what they are due";
}

TEST(OverTime, UseIsMeasuredByWeight) {
  // Due 3/4 and 1/4, had 1/2 each: 3/4 + 1/4 and 1/4 - 1/4.
  EXPECT_THAT((Siblings{{qos("a", "", 3), qos("b")}, {{"a", 5}, {"b", 5}}}.gpus()), ElementsAre(80, 0));
  EXPECT_THAT((Siblings{{qos("a", "", 3), qos("b")}, {{"a", 5}, {"b", 5}}, 0.2}.gpus()), ElementsAre(64, 16));
}

TEST(OverTime, AClaimIsNeverLost) {
  const std::map<std::string, double> use = {{"a", 9e6}, {"b", 9e6}, {"c", 1}};
  const std::vector<model::Qos> list = {qos("a", "", 3), qos("b"), qos("c", "", 4)};
  EXPECT_THAT((Siblings{list, use, 10}.gpus()), ElementsAre(0, 0, 80));
  EXPECT_THAT((Siblings{list, use, 10, {{"c", 40}}}.gpus()), ElementsAre(30, 10, 40)) << "what c leaves, by weight";
}

TEST(OverTime, GuaranteesAreNotTouched) {
  EXPECT_THAT((Siblings{{qos("a", "", 1, 20), qos("b", "", 1, 10)}, {{"a", 1e9}}, 100}.gpus()), ElementsAre(20, 60));
}

TEST(OverTime, WeightZeroClaimsNothingAndItsUseDoesNotCount) {
  const std::vector<model::Qos> list = {qos("a"), qos("b"), qos("z", "", 0)};
  EXPECT_THAT((Siblings{list, {{"a", 3}, {"b", 1}, {"z", 1e6}}}.gpus()), ElementsAre(20, 60, 0));
}

TEST(OverTime, TheUseOfOneWhoWantsNothingDoesNotCount) {
  const std::vector<model::Qos> list = {qos("a"), qos("b"), qos("c")};
  EXPECT_THAT((Siblings{list, {{"a", 3}, {"b", 1}, {"c", 1e6}}, 1, {{"c", 0}}}.gpus()), ElementsAre(20, 60, 0));
}

TEST(OverTime, PriorityComesBeforeThePast) {
  std::vector<model::Qos> list = {qos("a"), qos("b"), qos("c")};
  list[0].priority = 1;
  const Siblings world{list, {{"a", 1e6}, {"b", 3}, {"c", 1}}, 1, {{"a", 40}}};
  EXPECT_THAT(world.gpus(), ElementsAre(40, 10, 30));
}

TEST(OverTime, TheUseOfThoseBelowIsTheParents) {
  const std::vector<model::Qos> list = {qos("dept"), qos("lab"), qos("x", "dept"), qos("y", "dept")};
  // dept had 6 of 8, lab 2; in dept x 4, y 2 and jobs of dept itself none, which want nothing.
  const Siblings world{list, {{"x", 4}, {"y", 2}, {"lab", 2}}, 1, {{"dept", 0}}};
  EXPECT_THAT(world.gpus(), ElementsAre(20, 60, 7, 13));
}

TEST(OverTime, LargeNumbersDoNotOverflow) {
  const std::vector<model::Qos> list = {qos("a", "", 1'000'000), qos("b", "", 1'000'000), qos("c", "", 1'000'000)};
  EXPECT_THAT((Siblings{list, {{"a", 1e18}, {"b", 1e18}}, 1000}.gpus()), ElementsAre(0, 0, 80));
  EXPECT_THAT((Siblings{list, {{"a", 1e18}, {"b", 1e18}, {"c", 1e18}}, 1000}.gpus()), ElementsAre(27, 27, 26));
}

TEST(OverTime, EqualPartsStayEqualToTheLastUnit) {
  std::vector<Claimant> claimants(7, Claimant{100, 3, 0, 11});
  weigh_past(claimants, 2'500'000);
  for (const Claimant& c : claimants) EXPECT_EQ(c.weight, claimants[0].weight);
  EXPECT_EQ(fill(13, claimants), 0);
  EXPECT_EQ(claimants[5].gets, 2);
  EXPECT_EQ(claimants[6].gets, 1);
}

// ---- In the scheduler's view

/// One node of eight GPUs, held by `a`, for which and for `b` more jobs of a GPU wait.
struct Scene : Cluster {
  explicit Scene(double strength) : Cluster(1, machine(16, 8, 64'000)) {
    Policy policy;
    policy.fairness_over_time = strength;
    apply(PolicySet{policy});
    apply(QosSet{{qos("a"), qos("b")}});
    for (uint32_t id = 1; id <= 8; ++id) queue(id, "a");
    settle();
    for (uint32_t id = 9; id <= 24; ++id) queue(id, id % 2 == 0 ? "a" : "b");
  }
  void queue(uint32_t id, const std::string& name) {
    PendingJob job = pending(id, gang(1, 1));
    job.qos = name;
    jobs[id] = job;
    apply(JobQueued{job});
  }
  /// Plans until nothing is decided; how many plans decided something.
  int settle() {
    for (int plans = 0;; ++plans) {
      const Plan next = plan(view, base::Time{1'000'000'000}, {});
      bool acted = false;
      for (const Group& group : next.groups)
        for (const Decision& d : group.decisions) acted |= carry_out(d);
      if (!acted) return plans;
    }
  }
  bool carry_out(const Decision& d) {
    if (const auto* p = std::get_if<Preempt>(&d)) {
      apply(ShareReleased{p->job, NodeId(1)});
      apply(JobQueued{jobs.at(p->job.value)});
    } else if (const auto* s = std::get_if<Start>(&d)) {
      apply(JobPlaced{s->job, s->partition, s->allocation, base::Time{1'000'000'000}, Time::never(),
                      std::make_shared<const PendingJob>(jobs.at(s->job.value))});
    } else {
      return false;
    }
    return true;
  }
  uint64_t held(const std::string& name) const {
    const Tally& tally = view.quota().tally();
    return tally.held[*view.quota().tree().find(name)][0] / model::kWholeGpu;
  }

  std::map<uint32_t, PendingJob> jobs;
};

TEST(OverTime, SharesFollowUseAsItIsTold) {
  Scene scene(1);
  EXPECT_GT(scene.settle(), 0);
  EXPECT_EQ(scene.held("a"), 4) << "nothing is told yet";
  const std::pair<std::map<std::string, double>, uint64_t> told[] = {
      {{{"a", 3}, {"b", 1}}, 2}, {{{"a", 3}, {"b", 1.1}}, 2}, {{{"a", 1}, {"b", 3}}, 6}, {{{"b", 3}}, 8}, {{}, 4}};
  for (const auto& [use, gpus_of_a] : told) {
    scene.apply(UsageSet{{}, use});
    scene.settle();
    EXPECT_EQ(scene.held("a"), gpus_of_a);
    EXPECT_EQ(scene.held("b"), 8 - gpus_of_a);
    EXPECT_EQ(scene.settle(), 0) << "until use is told again nothing more is decided";
  }
}

TEST(OverTime, ATreeOrAPolicyThatComesLaterCountsUseToo) {
  Scene scene(0);
  scene.apply(UsageSet{{}, {{"a", 3}, {"b", 1}}});
  scene.settle();
  EXPECT_EQ(scene.held("a"), 4) << "it is off";
  Policy policy;
  policy.fairness_over_time = 1;
  scene.apply(PolicySet{policy});
  scene.settle();
  EXPECT_EQ(scene.held("a"), 2);
  scene.apply(QosSet{{qos("a", "", 3), qos("b")}});  // due 3/4, had 3/4
  scene.settle();
  EXPECT_EQ(scene.held("a"), 6);
}

}  // namespace
}  // namespace gw::sched
