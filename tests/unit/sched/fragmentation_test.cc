// The measure of fragmentation by partition and type of GPU, for ginfo and monitoring.
#include "sched/place/fragmentation.h"

#include <gtest/gtest.h>

#include "cluster_builder.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using testing::machine;
using testing::node_facts;
using testing::run_on;

TaskShape task(uint32_t gpus, uint32_t cpus = 0) {
  TaskShape s;
  s.gpus = gpus;
  s.cpus = cpus;
  return s;
}

TEST(FragmentationByPartition, CountsFreeUnusableAndTheLargestGang) {
  Cluster c(4, machine(16, 8, 64'000));
  Workload workload;
  workload.add(task(8), 1);
  workload.add(task(2), 3);
  auto lines = fragmentation(c.view.capacity(), workload);
  ASSERT_EQ(lines.size(), 1U) << "one type: no further lines";
  EXPECT_EQ(lines[0], (PartitionFragmentation{"main", "", {32, 32, 0, 32}, 4}));
  run_on(c, 1, 1, 1, 1);  // 7 free: of no use to an 8-GPU task
  run_on(c, 2, 2, 7, 7);  // 1 free: of no use to any
  run_on(c, 3, 3, 0, 9);  // 8 free, but cores for 7
  lines = fragmentation(c.view.capacity(), workload);
  EXPECT_EQ(lines[0].figures.free_gpus, 7 + 1 + 8 + 8);
  EXPECT_DOUBLE_EQ(lines[0].figures.fragmented_gpus, 7 * 0.25 + 1);
  EXPECT_EQ(lines[0].figures.largest_gang, 8U);
}

TEST(FragmentationByPartition, NothingStartsInAPartitionThatIsDown) {
  Cluster c(2, machine(16, 8, 64'000));
  PartitionFacts down = c.partition();
  down.is_up = false;
  c.apply(PartitionSet{down});
  const auto lines = fragmentation(c.view.capacity(), Workload());
  EXPECT_EQ(lines[0].figures.free_gpus, 16);
  EXPECT_EQ(lines[0].figures.largest_gang, 0U);
  EXPECT_EQ(lines[0].workload, 0U);
}

TEST(FragmentationByPartition, ByTypeWhereThereAreSeveral) {
  Cluster c(2, machine(16, 8, 64'000));
  c.apply(NodeSet{node_facts(3, machine(16, 4, 64'000, "l40s"))});
  model::NodeTopology both = machine(16, 4, 64'000);
  both.gpus[3].type = "l40s";
  c.apply(NodeSet{node_facts(4, both)});
  NodeFacts lost = node_facts(5, machine(16, 8, 64'000));
  lost.usable = false;
  c.apply(NodeSet{lost});
  PartitionFacts p = c.partition();
  p.nodes = {"n1", "n2", "n3", "n4", "n5"};
  c.apply(PartitionSet{p});
  Workload workload;
  TaskShape typed = task(1);
  typed.gpu_type = "h100";
  workload.add(typed);
  const auto lines = fragmentation(c.view.capacity(), workload);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], (PartitionFragmentation{"main", "", {24, 24, 4, 24}, 1}));
  EXPECT_EQ(lines[1], (PartitionFragmentation{"main", "h100", {16, 16, 0, 16}, 1}));
  EXPECT_EQ(lines[2], (PartitionFragmentation{"main", "h100+l40s", {4, 4, 0, 4}, 1}));
  EXPECT_EQ(lines[3], (PartitionFragmentation{"main", "l40s", {4, 4, 4, 4}, 1}));
}

}  // namespace
}  // namespace gw::sched
