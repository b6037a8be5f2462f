// The labels of running jobs as people are shown them, and who could take them (sched/view/labels.h).
#include "sched/view/labels.h"

#include <gtest/gtest.h>

#include "cluster_builder.h"

namespace gw::sched::testing {
namespace {

using Names = std::vector<std::string>;

/// Four nodes of eight GPUs; jobs start in the order of their ids.
struct Shown : Cluster {
  static constexpr Time kNow{1'000'000};
  Shown() : Cluster(4, machine(32, 8, 512'000)) {}

  static model::Qos qos(const std::string& name, uint64_t gpus) {
    model::Qos out;
    out.name = name;
    out.guaranteed["gpu"] = gpus * model::kWholeGpu;
    return out;
  }
  static PendingJob job(uint32_t id, const std::string& qos) {
    PendingJob out;
    out.id = JobId(id);
    out.qos = qos;
    return out;
  }
  static model::Allocation gpus(uint32_t node, uint32_t first, uint32_t count) {
    model::NodeShare share;
    share.node = NodeId(node);
    for (uint32_t g = 0; g < count; ++g) share.gpus.insert(first + g);
    model::Allocation out;
    out.shares = {share};
    return out;
  }
  void run(PendingJob job, uint32_t node, uint32_t first, uint32_t count) {
    const JobId id = job.id;
    const Time started{id.value < kFirstHoldingId ? int64_t{id.value} : 100};
    apply(JobPlaced{id, "main", gpus(node, first, count), started, Time::never(),
                    std::make_shared<const PendingJob>(std::move(job))});
  }
  std::vector<JobLabel> labels() { return gw::sched::Labels(view).list({}, true, kNow); }
  std::vector<JobLabel> labels(const std::set<JobId>& jobs) { return gw::sched::Labels(view).list(jobs, false, kNow); }
  uint32_t at(const std::string& name) const { return view.quota().tree().leaf_of(name); }
  Names preemptors(const JobLabel& label) const {
    Names out;
    for (uint32_t q : label.preemptors.some) out.push_back(view.quota().tree().qos(q).name);
    return out;
  }
};

TEST(ShownLabels, SaysAtWhichQosAJobIsBorrowedAndWhoCouldTakeIt) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 8), Shown::qos("b", 24)}});
  c.run(Shown::job(1, "a"), 1, 0, 8);
  c.run(Shown::job(2, "a"), 2, 0, 4);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[0].borrowed_at, kNoQos);
  EXPECT_EQ(c.preemptors(labels[0]), Names());  // the four of the other would not cover as much as its eight
  EXPECT_EQ(labels[1].borrowed_at, c.at("a"));
  EXPECT_EQ(c.preemptors(labels[1]), Names{"b"});
}

TEST(ShownLabels, ACoveredJobMayBeTakenWhereAnotherIsCoveredInItsPlace) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 8), Shown::qos("b", 24)}});
  c.run(Shown::job(1, "a"), 1, 0, 8);
  c.run(Shown::job(2, "a"), 2, 0, 8);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[0].borrowed_at, kNoQos);
  EXPECT_EQ(c.preemptors(labels[0]), Names{"b"});
  EXPECT_EQ(c.preemptors(labels[1]), Names{"b"});
}

// Without the first two the four behind them are covered; without the last two nothing is in their place.
TEST(ShownLabels, JobsThatHoldTheSameAreJudgedByWhereTheyStand) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 4), Shown::qos("b", 28)}});
  c.run(Shown::job(1, "a"), 1, 0, 2);
  c.run(Shown::job(2, "a"), 1, 2, 4);
  c.run(Shown::job(3, "a"), 2, 0, 2);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 3U);
  EXPECT_EQ(labels[1].borrowed_at, c.at("a"));
  EXPECT_EQ(labels[2].borrowed_at, kNoQos);
  EXPECT_EQ(c.preemptors(labels[0]), Names{"b"});
  EXPECT_EQ(c.preemptors(labels[1]), Names{"b"});
  EXPECT_EQ(c.preemptors(labels[2]), Names());
}

// With a job of b waiting the fair share of a is 31, which the first four jobs cover. The jobs at the root are
// guaranteed what the others leave over, so that they could take any.
TEST(ShownLabels, WhatTheFairShareCoversIsKeptFromThoseWhoBorrow) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 0), Shown::qos("b", 0)}});
  for (uint32_t node : {1, 2, 3}) c.run(Shown::job(node, "a"), node, 0, 8);
  c.run(Shown::job(4, "a"), 4, 0, 7);
  c.run(Shown::job(5, "a"), 4, 7, 1);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 5U);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(c.preemptors(labels[i]), Names{"/"}) << i;
  EXPECT_EQ(c.preemptors(labels[4]), (Names{"/", "b"}));
}

TEST(ShownLabels, NobodyTakesWhatIsNeverPreemptedNorWhatStartedJustNow) {
  Shown c;
  model::Qos fresh = Shown::qos("fresh", 0);
  fresh.min_runtime = base::minutes(10);
  c.apply(QosSet{{Shown::qos("a", 0), Shown::qos("b", 24), fresh}});
  PendingJob firm = Shown::job(1, "a");
  firm.preemptible = false;
  c.run(firm, 1, 0, 8);
  c.run(Shown::job(2, "fresh"), 2, 0, 8);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_TRUE(labels[0].is_never_preempted);
  EXPECT_EQ(labels[0].protected_until, Time{});
  EXPECT_EQ(c.preemptors(labels[0]), Names());
  EXPECT_FALSE(labels[1].is_never_preempted);
  EXPECT_EQ(labels[1].protected_until, Time{2} + base::minutes(10));
  EXPECT_EQ(labels[1].borrowed_at, c.at("fresh"));
  EXPECT_EQ(c.preemptors(labels[1]), Names());
}

TEST(ShownLabels, AHeterogeneousJobIsOne) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 12), Shown::qos("b", 20)}});
  PendingJob whole = Shown::job(1, "a");
  whole.components.push_back({JobId(2), gang(1, 8), {"main"}});
  c.run(whole, 1, 0, 8);
  c.run(component_of(whole, JobId(2)), 2, 0, 8);
  c.run(Shown::job(3, "a"), 3, 0, 8);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 2U);  // the component has none of its own
  EXPECT_EQ(labels[0].job, JobId(1));
  EXPECT_EQ(labels[0].borrowed_at, c.at("a"));  // 16 of 12, although each component would fit
  EXPECT_EQ(c.preemptors(labels[0]), Names{"b"});
  EXPECT_EQ(labels[1].job, JobId(3));
  EXPECT_EQ(labels[1].borrowed_at, kNoQos);
  EXPECT_TRUE(c.labels({JobId(2)}).empty());
  EXPECT_EQ(c.labels({JobId(1)}).size(), 1U);
}

/// An elastic gang with its smallest size on the first node, and extensions of four GPUs behind it.
void run_elastic(Shown& c, uint32_t smallest, uint32_t extensions) {
  PendingJob whole = Shown::job(1, "a");
  whole.request = gang(1, smallest);
  whole.most_tasks = 8;
  c.run(whole, 1, 0, smallest);
  for (uint32_t i = 0; i < extensions; ++i)
    c.run(extension_of(whole, JobId(kFirstHoldingId + i), 1), 2 + i / 2, i % 2 * 4, 4);
}

TEST(ShownLabels, AnElasticGangIsCoveredAtItsSmallestSizeAndItsFurtherNodesLast) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 16), Shown::qos("b", 16)}});
  run_elastic(c, 8, 2);
  c.run(Shown::job(2, "a"), 4, 0, 4);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 2U);  // extensions show with their gang
  EXPECT_EQ(labels[0].job, JobId(1));
  EXPECT_EQ(labels[0].borrowed_at, kNoQos);
  EXPECT_EQ(labels[0].extensions, 2U);
  EXPECT_EQ(labels[0].borrowed_extensions, 1U);  // 8, then the job that started later, then the first of them
  EXPECT_EQ(labels[1].borrowed_at, kNoQos);
  EXPECT_EQ(c.preemptors(labels[0]), Names());
}

// A limit that was made smaller than what is in use lets b in once all of the gang is gone, and not before.
TEST(ShownLabels, AGangGoesWithItsExtensions) {
  Shown c;
  model::Qos dept = Shown::qos("dept", 8), a = Shown::qos("a", 0), b = Shown::qos("b", 8);
  dept.limit["gpu"] = 8 * model::kWholeGpu;
  a.parent = b.parent = "dept";
  c.apply(QosSet{{dept, a, b}});
  run_elastic(c, 8, 2);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].borrowed_at, c.at("a"));
  EXPECT_EQ(labels[0].borrowed_extensions, 2U);
  EXPECT_EQ(c.preemptors(labels[0]), (Names{"b", "dept/"}));  // those of dept itself by their fair share, of 1
}

TEST(ShownLabels, WhatASuspendedJobKeepsShowsAsTheJob) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 8), Shown::qos("b", 24)}});
  c.run(Shown::job(9, "a"), 1, 0, 8);
  c.run(kept_part_of(Shown::job(7, "a"), JobId(kFirstHoldingId)), 2, 0, 4);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[0].job, JobId(7));
  EXPECT_EQ(labels[0].borrowed_at, c.at("a"));
  EXPECT_EQ(c.preemptors(labels[0]), Names{"b"});
  EXPECT_EQ(labels[1].job, JobId(9));
  EXPECT_EQ(labels[1].borrowed_at, kNoQos);
  EXPECT_EQ(c.labels({JobId(7)}).size(), 1U);
}

TEST(ShownLabels, WhoWasToldToGoHasNoneAndAPlaceThatIsKeptCounts) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 8), Shown::qos("b", 24)}});
  c.run(Shown::job(1, "a"), 1, 0, 8);
  c.run(Shown::job(2, "a"), 2, 0, 8);
  PendingJob urgent = Shown::job(3, "a");
  urgent.priority = 5;
  c.apply(JobQueued{urgent});
  c.apply(EndExpected{JobId(2), Time{2'000'000}, true});
  ASSERT_EQ(c.labels().size(), 1U);
  EXPECT_EQ(c.labels()[0].borrowed_at, kNoQos);
  c.apply(NominationSet{{JobId(3), "main", Shown::gpus(2, 0, 8), Time{2'000'000}}});
  ASSERT_EQ(c.labels().size(), 1U);
  EXPECT_EQ(c.labels()[0].borrowed_at, c.at("a"));
  EXPECT_EQ(c.preemptors(c.labels()[0]), Names{"b"});  // 16 count, of 8
}

TEST(ShownLabels, ALimitHoldsBackWhoCouldTake) {
  Shown c;
  model::Qos full = Shown::qos("full", 8);
  full.limit["gpu"] = 8 * model::kWholeGpu;
  c.apply(QosSet{{Shown::qos("a", 0), full, Shown::qos("b", 24)}});
  c.run(Shown::job(1, "a"), 1, 0, 8);
  ASSERT_EQ(c.labels().size(), 1U);
  EXPECT_EQ(c.preemptors(c.labels()[0]), (Names{"b", "full"}));
  c.run(Shown::job(2, "b"), 2, 0, 4);
  full.limit["gpu"] = 0;
  c.apply(QosSet{{Shown::qos("a", 0), full, Shown::qos("b", 24)}});
  EXPECT_EQ(c.preemptors(c.labels()[0]), Names{"b"});
}

// The job that would take waits, too: its QOS is due a part of the surplus, where nothing waits there yet.
TEST(ShownLabels, WhoWantsNothingYetCouldTakeByItsFairShare) {
  Shown c;
  model::Qos last = Shown::qos("last", 0);
  last.weight = 0;
  c.apply(QosSet{{Shown::qos("a", 0), Shown::qos("b", 0), last}});
  for (uint32_t i = 0; i < 8; ++i) c.run(Shown::job(1 + i, "a"), 1 + i / 2, i % 2 * 4, 4);
  const auto labels = c.labels();
  ASSERT_EQ(labels.size(), 8U);
  EXPECT_EQ(c.preemptors(labels[7]), (Names{"/", "b"}));  // by guarantees first
  EXPECT_EQ(labels[7].beyond_fair_at, kNoQos);            // as long as nobody else wants anything
  Policy policy;
  policy.reclaim = Reclaim::kGuaranteed;
  c.apply(PolicySet{policy});
  EXPECT_FALSE(c.labels()[7].has_fair);
  EXPECT_EQ(c.preemptors(c.labels()[7]), Names{"/"});  // which is guaranteed what the others leave over
}

TEST(ShownLabels, NamesAFewOfThoseWhoCouldTake) {
  Shown c;
  std::vector<model::Qos> tree = {Shown::qos("a", 0)};
  for (int i = 0; i < 12; ++i) tree.push_back(Shown::qos("q" + std::to_string(10 + i), 2));
  c.apply(QosSet{tree});
  c.run(Shown::job(1, "a"), 1, 0, 8);
  const auto labels = c.labels({JobId(1)});
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].preemptors.some.size(), kMostPreemptors);
  EXPECT_TRUE(labels[0].preemptors.is_cut);
}

TEST(ShownLabels, WhoCouldTakeIsUnknownOnceTheStepsAreUsedUp) {
  Shown c;
  c.apply(QosSet{{Shown::qos("a", 0), Shown::qos("b", 24)}});
  c.run(Shown::job(1, "a"), 1, 0, 8);
  gw::sched::Labels labels(c.view);
  const std::vector<Victim> victims = labels.victims(0, Shown::kNow);
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_TRUE(Preemptors(c.view, labels.covers(), 10).of(victims).at(0).is_cut);
  EXPECT_FALSE(Preemptors(c.view, labels.covers()).of(victims).at(0).is_cut);
}

}  // namespace
}  // namespace gw::sched::testing
