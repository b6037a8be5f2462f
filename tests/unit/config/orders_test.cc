// The orders and weights that a configuration may name are those of the scheduler.
#include "config/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "config/config.h"
#include "sched/queue/orders.h"

namespace gw::config {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Orders, AreTheSchedulers) {
  std::vector<std::string> names;
  for (const InTreeOrder& order : in_tree_orders()) names.emplace_back(order.name);
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
  for (const InTreeOrder& order : in_tree_orders()) {
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

}  // namespace
}  // namespace gw::config
