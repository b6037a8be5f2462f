// The orders and weights that a configuration may name are those of the scheduler.
#include "config/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/order.h"

namespace gw::config {
namespace {

TEST(Orders, AreTheSchedulers) { EXPECT_THAT(sched::order_names(), testing::UnorderedElementsAreArray(kOrderNames)); }

TEST(Orders, WeightsAreTheSchedulers) {
  for (std::string_view name : kWeightNames)
    EXPECT_TRUE(sched::make_order("multifactor", {{std::string(name), 1}}).has_value()) << name;
  for (const sched::ScorePart& part : (*sched::make_order("multifactor"))->parts({}, {}))
    EXPECT_THAT(kWeightNames, testing::Contains(part.name));
}

}  // namespace
}  // namespace gw::config
