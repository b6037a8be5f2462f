// Loading orders: the project's own, the one of the documentation, and what is refused.
#include "plugin/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/cycle/plan.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::plugin {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

Orders all() { return Orders({GW_ORDER_FIXTURES, GW_ORDER_DIR}); }

TEST(Orders, TheProjectsOwnAreLoadedAndRankAsThoseLinkedIn) {
  EXPECT_THAT(all().names(), IsSupersetOf(sched::order_names()));
  sched::PendingJob job = sched::testing::pending(7, sched::testing::gang(2, 4));
  job.time_limit = base::hours(3);
  job.nice = 5;
  job.qos_priority = 30;
  sched::OrderContext context;
  context.now = base::Time{9'000'000'000};
  context.size = {64, 8, 2};
  for (const std::string& name : sched::order_names()) {
    const auto loaded = all().make(name, {});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().text();
    const auto linked = *sched::make_order(name);
    EXPECT_EQ((*loaded)->name(), name);
    EXPECT_DOUBLE_EQ((*loaded)->score(job, context), linked->score(job, context)) << name;
    EXPECT_DOUBLE_EQ((*loaded)->key(job), linked->key(job)) << name;
    EXPECT_EQ((*loaded)->is_strict(), linked->is_strict()) << name;
    EXPECT_EQ((*loaded)->is_preemptive(), linked->is_preemptive()) << name;
  }
}

TEST(Orders, TheOneOfTheDocumentationServesTheLargestFirst) {
  sched::testing::Cluster cluster(1, sched::testing::machine(8, 4, 32'000));
  sched::Policy policy;
  ASSERT_TRUE(all().set(policy, "largest", {}).has_value());
  EXPECT_EQ(policy.order_version, GANGWAY_VERSION);
  cluster.apply(sched::PolicySet{policy});
  for (uint32_t id : {1, 2, 3})
    cluster.apply(sched::JobQueued{sched::testing::pending(id, sched::testing::gang(1, id))});
  const sched::Plan plan = sched::plan(cluster.view, base::Time{1'000'000}, {});
  std::vector<uint32_t> started;
  for (const sched::Group& group : plan.groups)
    if (const auto* start = std::get_if<sched::Start>(&group.decisions.front())) started.push_back(start->job.value);
  EXPECT_THAT(started, testing::ElementsAre(3, 1));
}

TEST(Orders, SnapshotsTellTheWeights) {
  sched::Policy policy;
  ASSERT_TRUE(all().set(policy, "multifactor", {{"age", 5}}).has_value());
  EXPECT_EQ(policy.order_weights, (sched::Weights{{"age", 5}}));
}

TEST(Orders, WhatDoesNotFitIsOneError) {
  const std::pair<const char*, const char*> cases[] = {
      {"old_interface", "made for order interface 1, this program has 2"},
      {"other_build", "comes from another build (0123456789abcdef, not "},
      {"other_name", "calls itself \"plain\""},
      {"no_factory", "exports no gangway_order_plugin"},
      {"no_plugin", "its factory returned nothing"},
      {"larges", "did you mean \"largest\"?"},
      {"../fifo", "unknown order ../fifo"},
      {"", "unknown order"},
  };
  for (const auto& [name, what] : cases) {
    const auto order = all().make(name, {});
    ASSERT_FALSE(order.has_value()) << name;
    EXPECT_THAT(order.error().text(), HasSubstr(what));
  }
}

TEST(Orders, UnknownWeightsAreRefused) {
  EXPECT_THAT(all().make("multifactor", {{"agee", 1}}).error().text(), HasSubstr("unknown weight agee"));
  EXPECT_THAT(all().make("fifo", {{"age", 1}}).error().text(), HasSubstr("no weights"));
}

TEST(Orders, AFileThatIsNoPluginIsRefused) {
  EXPECT_THAT(load_order("/dev/null", "null").error().text(), HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace gw::plugin
