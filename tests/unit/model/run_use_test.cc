// What runs used, added up over tasks and nodes.
#include "model/run_use.h"

#include <gtest/gtest.h>

namespace gw::model {
namespace {

TEST(RunUse, OfTasksTheMostTheLeastAndTheSum) {
  RunUse use;
  EXPECT_TRUE(use.empty());
  use.add_task(4, {10, 200, 0, 0, 0, 1});
  use.add_task(7, {30, 100, 0, 0, 0, 1});
  EXPECT_EQ(use.tasks, 2u);
  const UseSpread cpu = use.of(UseKind::kCpu), rss = use.of(UseKind::kRss);
  EXPECT_EQ(std::tuple(cpu.sum, cpu.most, cpu.most_task, cpu.least, cpu.least_task), std::tuple(40, 30, 7u, 10, 4u));
  EXPECT_EQ(std::tuple(rss.sum, rss.most, rss.most_task, rss.least, rss.least_task), std::tuple(300, 200, 4u, 100, 7u));
  EXPECT_EQ(use.of(UseKind::kPages).most_task, 4u) << "of equals the first";
}

TEST(RunUse, OfNodesTheirNamesStayWithTheExtremes) {
  RunUse a, b, all;
  a.add_task(0, {10, 0, 0, 0, 0, 0});
  a.user_us = 10;
  b.add_task(1, {5, 0, 0, 0, 0, 0});
  b.system_us = 5;
  all.merge(a, "n1");
  all.merge(b, "n2");
  EXPECT_EQ(all.tasks, 2u);
  EXPECT_EQ(all.user_us + all.system_us, 15u);
  const UseSpread& cpu = all.of(UseKind::kCpu);
  EXPECT_EQ(std::tuple(*cpu.most_node, cpu.most_task, *cpu.least_node, cpu.least_task), std::tuple("n1", 0u, "n2", 1u));
}

TEST(RunUse, ANodeWithoutTasksAddsItsTimesAlone) {
  RunUse some, none, all;
  some.add_task(3, {5, 5, 5, 5, 5, 5});
  none.user_us = 100;
  all.merge(none, "n0");
  all.merge(some, "n1");
  EXPECT_EQ(all.of(UseKind::kCpu).least, 5u);
  EXPECT_EQ(*all.of(UseKind::kCpu).least_node, "n1");
  EXPECT_EQ(all.user_us, 100u);
}

TEST(RunUse, GpusOfNodesAreAddedUp) {
  RunUse a, b, all;
  a.gpu = {2, 100, 60, 10, 90, 500, 800};
  b.gpu = {1, 50, 50, 0, 100, 400, 400};
  EXPECT_FALSE(a.empty());
  all.merge(a, "n0");
  all.merge(b, "n1");
  EXPECT_EQ(all.gpu, (GpuUse{3, 150, 110, 10, 100, 500, 1200}));
  EXPECT_EQ(all.tasks, 0u);
}

/// A node says any numbers.
TEST(RunUse, SumsStopAtTheLargestNumber) {
  RunUse huge, all;
  huge.add_task(0, {UINT64_MAX, UINT64_MAX, 0, 0, 0, 0});
  huge.user_us = UINT64_MAX;
  huge.tasks = UINT32_MAX;
  huge.gpu = {UINT32_MAX, UINT64_MAX, 1, 1, 1, 1, UINT64_MAX};
  all.merge(huge, "a");
  all.merge(huge, "b");
  EXPECT_EQ(all.of(UseKind::kCpu).sum, UINT64_MAX);
  EXPECT_EQ(all.user_us, UINT64_MAX);
  EXPECT_EQ(all.tasks, UINT32_MAX);
  EXPECT_EQ(std::tuple(all.gpu.gpus, all.gpu.seen_us, all.gpu.sum_mem), std::tuple(UINT32_MAX, UINT64_MAX, UINT64_MAX));
}

}  // namespace
}  // namespace gw::model
