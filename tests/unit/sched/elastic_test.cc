// Elastic gangs in the scheduler: what scenarios cannot say.
#include <gtest/gtest.h>

#include "cluster_builder.h"
#include "model/suspension.h"
#include "sched/cycle/plan.h"
#include "sched/place/place.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using testing::machine;
using testing::pending;

/// One node of eight GPUs; a QOS of one job, whose gang of one to eight runs with one.
struct Alone : Cluster {
  PendingJob gang = pending(1, testing::gang(1, 1));

  Alone() : Cluster(3, machine(16, 8, 64'000)) {
    std::vector<model::Qos> tree(1);
    tree[0].name = "q";
    tree[0].max_jobs = 1;
    apply(QosSet{tree});
    gang.qos = "q";
    gang.most_tasks = 3;
    gang.grows_by_node = true;
    apply(JobQueued{gang});
    carry_out();
  }
  /// Starts and growth; what it did.
  size_t carry_out() {
    size_t count = 0;
    for (const Group& g : plan(view, {}, {}).groups) {
      for (const Decision& d : g.decisions) {
        const auto job = std::make_shared<const PendingJob>(gang);
        if (const auto* s = std::get_if<Start>(&d))
          ++count, apply(JobPlaced{s->job, "main", s->allocation, {}, base::Time::never(), job});
        if (const auto* more = std::get_if<Grow>(&d)) {
          const auto extension = std::make_shared<const PendingJob>(extension_of(gang, more->extension, 1));
          ++count, apply(JobPlaced{more->extension, "main", more->allocation, {}, base::Time::never(), extension});
        }
      }
    }
    return count;
  }
};

TEST(Elastic, IsOneJobHoweverManyExtensionsItHas) {
  Alone c;
  EXPECT_EQ(c.carry_out(), 2U);
  EXPECT_EQ(c.view.present_tasks(JobId(1)), 3U);
  EXPECT_EQ(c.carry_out(), 0U);
}

/// What stays of a suspended job has an id from the numbers of extensions.
TEST(Elastic, GrowsWhileAnotherJobIsSuspended) {
  for (const uint32_t holder : {kFirstHoldingId, kFirstHoldingId + 1, kFirstHoldingId + 7}) {
    Alone c;
    const PendingJob other = pending(2, testing::gang(1, 1));
    const auto whole = place(c.view.capacity(), c.partition(), other.request).allocation;
    ASSERT_TRUE(whole);
    const auto remains = std::make_shared<const PendingJob>(kept_part_of(other, JobId(holder)));
    c.apply(
        JobPlaced{JobId(holder), "main", model::kept_in_suspension(*whole, true), {}, base::Time::never(), remains});
    EXPECT_EQ(c.carry_out(), 2U) << holder;
    EXPECT_EQ(c.view.present_tasks(JobId(1)), 3U) << holder;
  }
}

TEST(Elastic, WhatLeavesCountsNoMore) {
  Alone c;
  c.carry_out();
  const JobId extension = *c.view.extensions_of(JobId(1)).begin();
  c.apply(EndExpected{extension, base::Time{1'000'000}, true});
  EXPECT_EQ(c.view.present_tasks(JobId(1)), 2U);
  const NodeId node = c.view.capacity().holdings().at(extension).nodes.front();
  c.apply(ShareReleased{extension, node});
  EXPECT_EQ(c.view.extensions_of(JobId(1)).size(), 1U);
  EXPECT_EQ(c.carry_out(), 1U);
  EXPECT_GT(c.view.extensions_of(JobId(1)).rbegin()->value, extension.value);
}

}  // namespace
}  // namespace gw::sched
