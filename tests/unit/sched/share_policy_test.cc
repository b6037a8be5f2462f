// Share policies: how a surplus is divided, who is left alone, and what a policy must not do.
#include "sched/policy/share_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "sched/cycle/plan.h"
#include "sched/quota/quota.h"

namespace gw::sched {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<uint64_t> divided(const SharePolicy& policy, uint64_t amount, std::vector<Side> sides) {
  divide_by(policy, amount, sides, 0);
  std::vector<uint64_t> out;
  for (const Side& side : sides) out.push_back(side.gets);
  return out;
}

// guaranteed, wants, weight, priority
const std::vector<Side> kThree = {{30, 100, 1, 0}, {10, 100, 3, 0}, {0, 100, 1, 5}};

TEST(SharePolicies, ByWeightServesTheHigherPriorityFirst) {
  EXPECT_THAT(divided(*share_by_weight(), 140, kThree), ElementsAre(10, 30, 100));
  EXPECT_THAT(divided(*share_by_weight(), 60, kThree), ElementsAre(0, 0, 60));
}

TEST(SharePolicies, CapacityGoesByGuaranteesAlone) {
  const auto capacity = *make_share("capacity");
  EXPECT_THAT(divided(*capacity, 40, kThree), ElementsAre(30, 10, 0))
      << "three to one, and nothing without a guarantee";
  EXPECT_THAT(divided(*capacity, 220, kThree), ElementsAre(100, 100, 20)) << "but for what nobody else wants";
  EXPECT_THAT(divided(*capacity, 40, {{0, 30, 1, 0}, {0, 30, 9, 4}}), ElementsAre(20, 20)) << "evenly";
  EXPECT_THAT(divided(*capacity, 40, {{30, 6, 1, 0}, {10, 100, 3, 0}}), ElementsAre(6, 34));
}

TEST(SharePolicies, CapacityHasTheDefaultsOfItsSource) {
  const auto capacity = *make_share("capacity");
  EXPECT_EQ(capacity->dead_zone_milli(), 100);
  EXPECT_EQ(capacity->rounds().length, base::seconds(15));
  EXPECT_DOUBLE_EQ(capacity->rounds().part, 0.1);
  EXPECT_EQ((*make_share("capacity", {{"dead_zone", 0.25}}))->dead_zone_milli(), 250);
  EXPECT_EQ(share_by_weight()->dead_zone_milli(), 0);
  EXPECT_EQ(share_by_weight()->rounds().length, Duration{});
}

TEST(SharePolicies, WhatHasNoSenseIsRefused) {
  const auto what = [](std::string_view name, const Weights& weights) {
    return make_share(name, weights).error().text();
  };
  EXPECT_THAT(what("capacty", {}), HasSubstr("unknown share policy capacty (did you mean \"capacity\"?)"));
  EXPECT_THAT(what("zzz", {}), HasSubstr("one of by_weight, capacity"));
  EXPECT_THAT(what("by_weight", {{"dead_zone", 1}}), HasSubstr("no weights, but got dead_zone"));
  EXPECT_THAT(what("capacity", {{"deadzone", 1}}), HasSubstr("unknown weight deadzone (did you mean \"dead_zone\"?)"));
  EXPECT_THAT(what("capacity", {{"dead_zone", 1.5}}), HasSubstr("0 to 1"));
  EXPECT_THAT(what("capacity", {{"per_round", 0}}), HasSubstr("above 0"));
  EXPECT_THAT(what("capacity", {{"round_seconds", 3'601}}), HasSubstr("1 to 3600"));
  EXPECT_THAT(what("capacity", {{"round_seconds", 0.5}}), HasSubstr("1 to 3600"));
}

TEST(SharePolicies, TheProjectsOwnKeepToTheContract) {
  EXPECT_THAT(share_names(), ElementsAre("by_weight", "capacity"));
  for (const std::string& name : share_names()) EXPECT_THAT(check_share(**make_share(name)), IsEmpty()) << name;
}

/// One that does with each side as the test says.
class Made : public SharePolicy {
 public:
  using Divide = void (*)(uint64_t amount, std::vector<Side>& sides);
  explicit Made(Divide divide, uint32_t zone = 0, TakingRounds rounds = {})
      : divide_(divide), zone_(zone), rounds_(rounds) {}
  std::string_view name() const override { return "made"; }
  void divide(uint64_t amount, std::vector<Side>& sides, uint64_t /*past_strength*/) const override {
    divide_(amount, sides);
  }
  uint32_t dead_zone_milli() const override { return zone_; }
  TakingRounds rounds() const override { return rounds_; }

 private:
  Divide divide_;
  uint32_t zone_;
  TakingRounds rounds_;
};

void nothing(uint64_t, std::vector<Side>&) {}

TEST(SharePolicies, AFaultIsFoundAndTheAmountIsDividedByWeight) {
  const Made generous([](uint64_t amount, std::vector<Side>& sides) {
    for (Side& side : sides) side.gets = std::min(side.wants, amount);
  });
  EXPECT_THAT(check_share(generous), ElementsAre(HasSubstr("gives more than the ")));
  EXPECT_THAT(divided(generous, 140, kThree), ElementsAre(10, 30, 100));
  const Made pushy([](uint64_t, std::vector<Side>& sides) {
    for (Side& side : sides) side.gets = side.wants + 1, side.wants += 5;  // and hides it
  });
  EXPECT_THAT(divided(pushy, 140, {{0, 3}}), ElementsAre(3));
  const Made lossy([](uint64_t, std::vector<Side>& sides) { sides.clear(); });
  EXPECT_THAT(check_share(lossy), ElementsAre("changes the list of sides"));
  EXPECT_THAT(divided(lossy, 140, kThree), ElementsAre(10, 30, 100));
  static uint64_t calls = 0;
  const Made moody([](uint64_t amount, std::vector<Side>& sides) {
    if (!sides.empty()) sides[0].gets = std::min({sides[0].wants, amount, ++calls % 2});
  });
  EXPECT_THAT(check_share(moody), ElementsAre("divides the same in two ways"));
  EXPECT_THAT(check_share(Made(nothing, 1'001)), ElementsAre(HasSubstr("dead zone")));
  EXPECT_THAT(check_share(Made(nothing, 0, {base::seconds(1), 0})), ElementsAre(HasSubstr("rounds")));
  EXPECT_THAT(check_share(Made(nothing, 1'000, {base::seconds(1), 1})), IsEmpty());
}

/// Who holds a little more than it is due is not above it.
TEST(SharePolicies, TheDeadZoneIsPartOfTheLine) {
  model::Qos a, b;
  a.name = "a", b.name = "b";
  a.guaranteed["gpu"] = b.guaranteed["gpu"] = 40 * model::kWholeGpu;
  const auto above = [&](uint64_t gpus, double dead_zone, uint64_t own = 39) {
    QuotaLedger ledger;
    ledger.set_tree(QuotaTree({a, b}));
    ledger.set_share_policy(*make_share("capacity", {{"dead_zone", dead_zone}}));
    const QuotaTree& tree = ledger.tree();
    ledger.add_capacity(Quantities{80 * model::kWholeGpu});
    ledger.hold(JobId(1), "a", 0, true, Quantities{gpus * model::kWholeGpu});
    ledger.hold(JobId(2), "b", 0, true, Quantities{own * model::kWholeGpu});
    return Quotas(ledger)
        .may_take(tree.leaf_of("b"), Quantities{model::kWholeGpu}, *tree.find("a"), Reclaim::kGuaranteed)
        .has_value();
  };
  EXPECT_TRUE(above(41, 0));
  EXPECT_FALSE(above(44, 0.1));
  EXPECT_TRUE(above(45, 0.1));
  EXPECT_FALSE(above(80, 1));
  EXPECT_TRUE(above(41, 0.1, 35)) << "who is a dead zone below its guarantee gets it back, whoever has it";
  EXPECT_FALSE(above(41, 0.1, 36));
}

/// Rounds of a cluster without a GPU: nothing is ever taken in one, so that nobody waits for the next.
TEST(SharePolicies, WithoutGpusARoundBindsNobody) {
  testing::Cluster cluster(1, testing::machine(16, 0, 64'000));
  Policy policy;
  policy.share = {"capacity", {}, {}, *make_share("capacity")};
  cluster.apply(PolicySet{policy});
  model::Qos a, b;
  a.name = "a", b.name = "b";
  a.guaranteed["cpu"] = b.guaranteed["cpu"] = 16;
  cluster.apply(QosSet{{a, b}});
  PendingJob fills = testing::pending(1, testing::tasks(1, 32)), waits = testing::pending(2, testing::tasks(1, 16));
  fills.qos = "a", waits.qos = "b";
  fills.preemptible = true;
  testing::run_on(cluster, 1, 1, 0, 16);
  cluster.apply(RunningChanged{JobId(1), std::make_shared<PendingJob>(fills)});
  cluster.apply(JobQueued{waits});
  const Plan planned = plan(cluster.view, Time{base::hours(5).us}, {});
  ASSERT_FALSE(planned.groups.empty());
  EXPECT_TRUE(std::holds_alternative<Preempt>(planned.groups.front().decisions.front())) << "by its guarantee of cores";
  EXPECT_EQ(planned.next_change_at, Time::never());
}

}  // namespace
}  // namespace gw::sched
