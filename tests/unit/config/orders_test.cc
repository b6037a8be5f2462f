// The orders and weights that a configuration may name are those of the scheduler.
#include "sched/queue/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "config/config.h"
#include "config/plugins.h"
#include "sched/policy/rate_model.h"
#include "sched/policy/share_policy.h"

namespace gw::config {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Orders, AreTheSchedulers) {
  std::vector<std::string> names;
  for (const InTreePlugin& order : in_tree_orders()) names.emplace_back(order.name);
  EXPECT_EQ(names, sched::order_names());
}

/// A file is all that an order takes: nothing lists it.
TEST(Orders, AreThoseOfTheFolder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(GW_SOURCE_DIR "/plugins/order"))
    if (entry.path().extension() == ".cc") files.insert(entry.path().stem());
  EXPECT_GE(files.size(), 5U);
  EXPECT_THAT(sched::order_names(), testing::UnorderedElementsAreArray(files));
  for (const std::string& name : files) {
    const auto order = sched::make_order(name);
    ASSERT_TRUE(order.has_value()) << name;
    EXPECT_EQ((*order)->name(), name);
    const auto config = parse("controller: {user: root}\nscheduler: {order: " + name + "}\n", "f");
    EXPECT_TRUE(config.has_value()) << name;
  }
}

TEST(Orders, AreDocumented) {
  const std::string page = text_of(GW_SOURCE_DIR "/docs/policies.md");
  for (const std::string& name : sched::order_names()) EXPECT_THAT(page, testing::HasSubstr("| `" + name + "`"));
}

TEST(Orders, WeightsAreTheSchedulers) {
  size_t weights = 0;
  for (const InTreePlugin& order : in_tree_orders()) {
    const std::string name(order.name);
    for (const std::string_view weight : order.weights) {
      EXPECT_TRUE(sched::make_order(name, {{std::string(weight), 1}}).has_value()) << name << " " << weight;
      ++weights;
    }
    if (order.weights.empty()) continue;
    const sched::PendingJob none;
    const auto parts = (*sched::make_order(name))->parts(sched::waiting_facts(none, {}), {});
    for (const sched::ScorePart& part : parts)
      if (parts.size() > 1) EXPECT_THAT(order.weights, testing::Contains(part.name)) << name;
  }
  EXPECT_GE(weights, 7U);
}

/// The same of the other kinds.
TEST(Policies, AreTheSchedulersAndDocumented) {
  const std::string page = text_of(GW_SOURCE_DIR "/docs/policies.md");
  const auto names_of = [&](std::span<const InTreePlugin> all) {
    std::vector<std::string> out;
    for (const InTreePlugin& one : all) {
      out.emplace_back(one.name);
      EXPECT_THAT(page, testing::HasSubstr("| `" + out.back() + "`"));
      for (const std::string_view weight : one.weights)
        EXPECT_THAT(page, testing::HasSubstr("`" + std::string(weight))) << one.name;
    }
    return out;
  };
  EXPECT_EQ(names_of(in_tree_shares()), sched::share_names());
  EXPECT_EQ(names_of(in_tree_rates()), sched::rate_model_names());
  for (const InTreePlugin& one : in_tree_shares())
    for (const std::string_view weight : one.weights)
      EXPECT_TRUE(sched::make_share(one.name, {{std::string(weight), 1}}).has_value()) << one.name << " " << weight;
}

}  // namespace
}  // namespace gw::config
