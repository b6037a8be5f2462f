// How a waiting job stands in the tree of quotas, as people are shown it.
#include "sched/view/quota_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_builder.h"

namespace gw::sched::testing {
namespace {

constexpr Time kAsked{3'600'000'000};
constexpr uint64_t kGpus = model::kWholeGpu;

/// Two nodes of eight GPUs; "a" and "b" below "dept", which is guaranteed all of them, and "c" beside it.
struct Tree : Cluster {
  Tree() : Cluster(2, machine(32, 8, 512'000)) {}

  static model::Qos qos(const std::string& name, const std::string& parent, uint64_t gpus) {
    model::Qos out;
    out.name = name;
    out.parent = parent;
    if (gpus > 0) out.guaranteed["gpu"] = gpus * kGpus;
    return out;
  }
  void set(uint64_t a, uint64_t b) { apply(QosSet{{qos("dept", "", 16), qos("a", "dept", a), qos("b", "dept", b)}}); }
  /// A job holds all of a node.
  void run(uint32_t id, const std::string& of, uint32_t node, bool preemptible = true) {
    PendingJob job = pending(id, gang(1, 8));
    job.qos = of;
    job.preemptible = preemptible;
    model::NodeShare share;
    share.node = NodeId(node);
    share.gpus = base::IndexSet::first(8);
    model::Allocation allocation;
    allocation.shares = {share};
    apply(JobPlaced{job.id, "main", allocation, Time{1}, Time::never(), std::make_shared<const PendingJob>(job)});
  }
  QuotaPath of(const std::string& name, uint32_t gpus = 8) {
    PendingJob job = pending(9, gang(1, gpus));
    job.qos = name;
    apply(JobQueued{job});
    return quota_path_of(view, job, kAsked);
  }
};

TEST(QuotaPath, ALenderSeesWhoBorrowsAndThatItMayTakeItBack) {
  Tree t;
  t.set(8, 8);
  t.run(1, "b", 1);
  t.run(2, "b", 2);
  const QuotaPath path = t.of("a");
  EXPECT_EQ(path.asked, 8 * kGpus);
  ASSERT_EQ(path.steps.size(), 2U) << "its own and the one above it; the root is everybody's";
  EXPECT_EQ(path.steps[0], (QuotaStep{"a", 0, 8 * kGpus, 8 * kGpus, kNoLimit}));
  EXPECT_EQ(path.steps[1].name, "dept");
  EXPECT_EQ(path.steps[1].held, 16 * kGpus);
  ASSERT_EQ(path.holders.size(), 1U);
  const QuotaHolder& b = path.holders[0];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.beside, "a");
  EXPECT_EQ(b.held, 16 * kGpus);
  EXPECT_EQ(b.beyond, 8 * kGpus);
  EXPECT_EQ(b.lent, 8 * kGpus);
  EXPECT_TRUE(b.verdict.may);
  EXPECT_EQ(b.verdict.rule, 5);
  EXPECT_EQ(b.verdict.gpu_milli, 8 * kGpus);
}

TEST(QuotaPath, WhatCanNeverBePreemptedIsNotTakenBack) {
  Tree t;
  t.set(8, 8);
  t.run(1, "b", 1, false);
  t.run(2, "b", 2, false);
  const QuotaPath path = t.of("a");
  ASSERT_EQ(path.holders.size(), 1U);
  EXPECT_EQ(path.holders[0].beyond, 8 * kGpus);
  EXPECT_FALSE(path.holders[0].verdict.may);
  EXPECT_FALSE(path.holders[0].verdict.lines.empty()) << "it says why";
}

TEST(QuotaPath, WhoeverHoldsNoMoreThanHisDueIsNotNamed) {
  Tree t;
  t.set(8, 8);
  t.run(1, "b", 1);
  t.run(2, "a", 2);
  EXPECT_TRUE(t.of("a").holders.empty());
}

TEST(QuotaPath, JobsOfAQosItselfAreCalledByItsName) {
  Tree t;
  t.set(8, 0);
  t.run(1, "dept", 1);
  t.run(2, "dept", 2);
  const QuotaPath path = t.of("a");
  ASSERT_EQ(path.holders.size(), 1U);
  EXPECT_EQ(path.holders[0].name, "dept");
  EXPECT_EQ(t.of("dept").steps.size(), 1U) << "what runs at it itself is no QOS of its own";
}

TEST(QuotaPath, WithoutQosOrGpusThereIsNone) {
  Tree t;
  EXPECT_TRUE(t.of("").steps.empty());
  t.set(8, 8);
  EXPECT_TRUE(t.of("a", 0).steps.empty());
}

}  // namespace
}  // namespace gw::sched::testing
