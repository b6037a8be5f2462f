// Loading orders: the project's own, the one of the documentation, and what is refused.
#include "plugin/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "plugin/policies.h"
#include "sched/cycle/plan.h"
#include "tests/unit/sched/cluster_builder.h"

namespace gw::plugin {
namespace {

using testing::AllOf;
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
    const sched::JobFacts facts = sched::waiting_facts(job, context.now);
    EXPECT_EQ((*loaded)->name(), name);
    EXPECT_DOUBLE_EQ((*loaded)->score(facts, context), linked->score(facts, context)) << name;
    EXPECT_DOUBLE_EQ((*loaded)->key(facts), linked->key(facts)) << name;
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
      {"old_interface", "made for order interface 6, this program has 7"},
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

/// What is loaded runs inside the controller: nobody else may be able to put it there.
TEST(Orders, WhatOthersCanWriteIsRefused) {
  namespace fs = std::filesystem;
  const fs::path dir = fs::path(::testing::TempDir()) / "orders_of_others";
  fs::create_directories(dir);
  const fs::path file = dir / "order_largest.so";
  fs::copy_file(fs::path(GW_ORDER_FIXTURES) / "order_largest.so", file, fs::copy_options::overwrite_existing);
  const auto mode = [](const fs::path& path, unsigned bits) { fs::permissions(path, fs::perms(bits)); };
  mode(dir, 0755), mode(file, 0644);
  EXPECT_TRUE(Orders({dir.string()}).make("largest", {}).has_value());
  mode(file, 0646);
  EXPECT_THAT(Orders({dir.string()}).make("largest", {}).error().text(),
              AllOf(HasSubstr("order_largest.so can be written by others"), HasSubstr("chmod go-w")));
  mode(file, 0644), mode(dir, 0757);
  EXPECT_THAT(Orders({dir.string()}).make("largest", {}).error().text(), HasSubstr("can be written by others"));
  mode(dir, 0755);
  fs::remove_all(dir);
}

TEST(Plugins, OfTheOtherKindsAreLoadedAndDecideAsThoseLinkedIn) {
  const Folders folders({GW_ORDER_DIR});
  EXPECT_EQ(folders.names(share_kind()), sched::share_names());
  for (const std::string& name : sched::share_names()) {
    const auto loaded = load_share(folders, name, {});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().text();
    EXPECT_EQ(loaded->name, name);
    EXPECT_EQ(loaded->version, GANGWAY_VERSION);
    std::vector<sched::Side> sides = {{30, 100, 1, 0}, {10, 100, 3, 2}, {0, 5, 1, 0}}, same = sides;
    loaded->policy->divide(90, sides, 0);
    (*sched::make_share(name))->divide(90, same, 0);
    for (size_t i = 0; i < sides.size(); ++i) EXPECT_EQ(sides[i].gets, same[i].gets) << name;
  }
  EXPECT_THAT(load_share(folders, "capacity", {{"dead", 1}}).error().text(), HasSubstr("unknown weight dead"));
  EXPECT_THAT(load_share(folders, "capacty", {}).error().text(),
              AllOf(HasSubstr("unknown share capacty: no share_capacty.so in "), HasSubstr("\"capacity\"?")));
  EXPECT_EQ(folders.names(rate_kind()), sched::rate_model_names());
  for (const std::string& name : sched::rate_model_names()) {
    const auto loaded = load_rate_model(folders, name, {});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().text();
    EXPECT_EQ((*loaded)->name(), name);
    EXPECT_DOUBLE_EQ((*loaded)->rate({2, 8, 50}, {}), (*sched::make_rate_model(name))->rate({2, 8, 50}, {})) << name;
  }
  EXPECT_THAT(load_rate_model(folders, "capacity", {}).error().text(), HasSubstr("unknown rate capacity"));
  EXPECT_EQ(folders.names(filter_kind()), sched::filter_names());
  for (const std::string& name : sched::filter_names()) {
    const auto loaded = load_filter(folders, name, {});
    ASSERT_TRUE(loaded.has_value()) << loaded.error().text();
    EXPECT_EQ(loaded->version, GANGWAY_VERSION);
    EXPECT_EQ(loaded->policy->kept_for(), (*sched::make_filter(name))->kept_for());
  }
}

TEST(Orders, AFileThatIsNoPluginIsRefused) {
  EXPECT_THAT(load_file(order_kind(), "/dev/null", "null").error().text(), HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace gw::plugin
