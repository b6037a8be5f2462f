// Placement of one gang: what fits, how it is dealt out, which indices, and why not.
#include "sched/place/place.h"

#include <gtest/gtest.h>

#include "cluster_builder.h"

namespace gw::sched {
namespace {

using testing::Cluster;
using testing::gang;
using testing::machine;
using testing::tasks;

std::vector<uint32_t> task_counts(const model::Allocation& a) {
  std::vector<uint32_t> out;
  for (const auto& s : a.shares) out.push_back(s.tasks);
  return out;
}

TEST(Place, GangGetsWholeNodes) {
  Cluster c(4, machine(16, 8, 64'000));
  const Placement p = place(c.view.capacity(), c.partition(), gang(2, 8));
  ASSERT_TRUE(p.allocation);
  ASSERT_EQ(p.allocation->shares.size(), 2U);
  for (const auto& s : p.allocation->shares) EXPECT_EQ(s.gpus.text(), "0-7");
}

TEST(Place, WholeCoresAreGiven) {
  Cluster c(1, machine(16, 0, 64'000));
  const Placement p = place(c.view.capacity(), c.partition(), tasks(1, 3));
  ASSERT_TRUE(p.allocation);
  EXPECT_EQ(p.allocation->shares[0].cores.size(), 2U);
  EXPECT_EQ(p.allocation->shares[0].cpus, 4U);
}

TEST(Place, CpusAsCoresAtLeastSoManyOrOneForAll) {
  Cluster c(1, machine(16, 0, 64'000));  // two threads a core
  model::Request r = tasks(2, 3);
  r.mem_per_cpu_mb = 1'000;
  const auto placed = [&] { return place(c.view.capacity(), c.partition(), r).allocation->shares[0]; };
  EXPECT_EQ(placed().cores.size(), 3U);
  EXPECT_EQ(placed().mem_mb, 6'000U);
  r.whole_cores = true;
  EXPECT_EQ(placed().cores.size(), 6U);
  EXPECT_EQ(placed().mem_mb, 6'000U) << "memory goes by the CPUs asked for";
  r.min_cpus = 20;
  EXPECT_EQ(placed().cores.size(), 10U);
  r.overcommit = true;
  r.whole_cores = false;
  r.min_cpus = 0;
  EXPECT_EQ(placed().cores.size(), 1U);
  r.tasks = 1'000;
  EXPECT_EQ(placed().tasks, 1'000U);
  r.min_cpus = 33;
  EXPECT_FALSE(place(c.view.capacity(), c.partition(), r).allocation);
}

/// Takes memory of a node.
void take_memory(Cluster& c, uint32_t job, uint32_t node, uint64_t mem_mb) {
  model::NodeShare share;
  share.node = base::NodeId(node);
  share.name = "n" + std::to_string(node);
  share.cores.insert(0);
  share.cpus = 2;
  share.mem_mb = mem_mb;
  model::Allocation a;
  a.shares.push_back(share);
  c.apply(JobPlaced{JobId(job), "main", a, base::Time{1}, base::Time::never(), nullptr});
}

TEST(Place, GpusThatMemoryIsTooShortForAreNoGpus) {
  Cluster c(2, machine(32, 8, 64'000));
  model::Request r = tasks(6);
  r.gpu_counting = model::GpuCounting::kPerJob;
  r.gpus = 6;
  r.mem_per_gpu_mb = 8'000;
  for (const uint32_t node : {1U, 2U}) take_memory(c, node, node, 40'000);  // for three of them it is enough
  const Placement p = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(p.allocation);
  ASSERT_EQ(p.allocation->shares.size(), 2U);
  EXPECT_EQ(p.allocation->shares[0].gpus.size(), 3U);
  EXPECT_EQ(p.allocation->shares[1].gpus.size(), 3U);
}

TEST(Place, WhereTheFirstNodeCannotHoldTheMostItIsDealtOutEvenly) {
  Cluster c(2, machine(16, 8, 64'000));
  model::Request r = tasks(8, 2);  // of 16 cores on each node
  r.gpu_counting = model::GpuCounting::kPerJob;
  r.gpus = 10;
  r.cpus_per_gpu = 5;
  const Placement p = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(p.allocation) << "eight GPUs of one node would need forty CPUs of thirty-two";
  EXPECT_EQ(p.allocation->shares.size(), 2U);
}

TEST(Place, FewestNodesWithoutNodesGiven) {
  Cluster c(4, machine(4, 0, 64'000));  // 8 CPUs each
  const Placement p = place(c.view.capacity(), c.partition(), tasks(12, 2));
  ASSERT_TRUE(p.allocation);  // 12 x 2 CPUs = 3 nodes of 8
  EXPECT_EQ(task_counts(*p.allocation), (std::vector<uint32_t>{4, 4, 4}));
}

TEST(Place, TasksAreDealtEvenlyOverNodesGiven) {
  Cluster c(3, machine(16, 0, 64'000));
  model::Request r = tasks(5);
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = 3;
  const Placement p = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(p.allocation);
  EXPECT_EQ(task_counts(*p.allocation), (std::vector<uint32_t>{2, 2, 1}));
}

TEST(Place, RangeTakesAsManyNodesAsThereAre) {
  Cluster c(3, machine(16, 8, 64'000));
  model::Request r = gang(2, 8);
  r.max_nodes = 4;
  const Placement p = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(p.allocation);
  EXPECT_EQ(p.allocation->shares.size(), 3U);
}

TEST(Place, GpusPerJobSpreadOverNodesGiven) {
  Cluster c(2, machine(16, 8, 64'000));
  model::Request r = gang(2, 9);
  r.gpu_counting = model::GpuCounting::kPerJob;
  const Placement p = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(p.allocation);
  EXPECT_EQ(p.allocation->shares[0].gpus.size() + p.allocation->shares[1].gpus.size(), 9U);
  EXPECT_GE(p.allocation->shares[1].gpus.size(), 4U);
}

TEST(Place, GpusPerJobWithoutNodesTakesEnoughNodes) {
  Cluster c(3, machine(16, 8, 64'000));
  model::Request r;
  r.gpu_counting = model::GpuCounting::kPerJob;
  r.gpus = 16;
  const Placement p = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(p.allocation);
  EXPECT_EQ(p.allocation->total_gpus(), 16U);
  EXPECT_EQ(p.allocation->shares.size(), 2U);
}

TEST(Place, FullestNodeFirstKeepsWholeNodesWhole) {
  Cluster c(2, machine(16, 8, 64'000));
  const Placement first = place(c.view.capacity(), c.partition(), gang(1, 2));
  ASSERT_TRUE(c.view.capacity().allocate(JobId(1), "main", *first.allocation, {}, base::Time::never()));
  const Placement second = place(c.view.capacity(), c.partition(), gang(1, 2));
  ASSERT_TRUE(second.allocation);
  EXPECT_EQ(second.allocation->shares[0].node, first.allocation->shares[0].node);
  EXPECT_FALSE(second.allocation->shares[0].gpus.intersects(first.allocation->shares[0].gpus));
}

TEST(Place, CpuJobsKeepOffGpuNodes) {
  Cluster c(1, machine(16, 8, 64'000));
  c.apply(NodeSet{testing::node_facts(2, machine(16, 0, 64'000))});
  PartitionFacts p = c.partition();
  p.nodes = {"n1", "n2"};
  c.apply(PartitionSet{p});
  const Placement placed = place(c.view.capacity(), c.partition(), tasks(1));
  ASSERT_TRUE(placed.allocation);
  EXPECT_EQ(placed.allocation->shares[0].name, "n2");
}

TEST(Place, RequiredNodeIsTaken) {
  Cluster c(3, machine(16, 8, 64'000));
  model::Request r = gang(2, 1);
  r.nodelist = {"n3"};
  const Placement p = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(p.allocation);
  EXPECT_EQ(p.allocation->shares[1].name, "n3");
}

TEST(Place, ExclusiveTakesTheWholeIdleNode) {
  Cluster c(2, machine(16, 8, 64'000));
  const Placement small = place(c.view.capacity(), c.partition(), tasks(1));
  ASSERT_TRUE(c.view.capacity().allocate(JobId(1), "main", *small.allocation, {}, base::Time::never()));
  model::Request r = tasks(1);
  r.exclusive = true;
  const Placement p = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(p.allocation);
  EXPECT_NE(p.allocation->shares[0].node, small.allocation->shares[0].node);
  EXPECT_EQ(p.allocation->shares[0].cores.size(), 16U);
  EXPECT_EQ(p.allocation->shares[0].gpus.size(), 8U);
}

TEST(Place, MemoryUnaskedIsProportional) {
  Cluster c(1, machine(16, 8, 64'000));
  EXPECT_EQ(place(c.view.capacity(), c.partition(), tasks(1)).allocation->shares[0].mem_mb, 4'000U);
  model::Request r = gang(1, 2);
  r.mem_per_node_mb = 0;
  EXPECT_EQ(place(c.view.capacity(), c.partition(), r).allocation->shares[0].mem_mb, 14'400U);
}

struct Part {
  const char* title;
  uint32_t gpus, tasks, cpus_per_task;
  uint32_t cores;  ///< Of 32 with 8 GPUs, two threads each.
};

TEST(Place, CoresUnaskedAreInProportionToTheGpus) {
  const Part kParts[] = {{"nine tenths of four", 1, 1, 1, 3},
                         {"of eight", 2, 1, 1, 7},
                         {"of all", 8, 1, 1, 28},
                         {"the tasks' if these are more", 1, 10, 1, 5},
                         {"the least of both", 2, 4, 1, 7}};
  Cluster c(1, machine(32, 8, 64'000));
  for (const Part& part : kParts) {
    model::Request r = tasks(part.tasks, part.cpus_per_task);
    r.gpu_counting = model::GpuCounting::kPerJob;
    r.gpus = part.gpus;
    r.nodes_given = true;
    EXPECT_EQ(place(c.view.capacity(), c.partition(), r).allocation->shares[0].cores.size(), (part.tasks + 1) / 2)
        << part.title << ", with -c";
    r.cpus_by_gpus = true;
    EXPECT_EQ(place(c.view.capacity(), c.partition(), r).allocation->shares[0].cores.size(), part.cores) << part.title;
  }
  model::Request r = gang(1, 1);
  r.cpus_by_gpus = true;
  PartitionFacts facts = c.partition();
  facts.default_cpus_per_gpu = 2;
  c.apply(PartitionSet{facts});
  EXPECT_EQ(place(c.view.capacity(), c.partition(), r).allocation->shares[0].cores.size(), 1U) << "the partition's";
}

struct Refusal {
  const char* what;
  model::Request request;
  const char* expected;
};

TEST(CouldEverRun, NamesTheTightestClauseAndTheOffer) {
  Cluster c(2, machine(16, 4, 64'000));
  std::vector<Refusal> table;
  table.push_back({"too many GPUs", gang(1, 8), "8 GPUs on one node asked; the largest node in partition main has 4"});
  table.push_back({"too many nodes", gang(3, 1), "3 nodes asked; partition main has 2"});
  table.push_back(
      {"too many CPUs", tasks(1, 64), "64 CPUs on one node asked; the largest node in partition main offers 32"});
  model::Request memory = tasks(1);
  memory.mem_per_node_mb = 100'000;
  table.push_back({"memory", memory, "memory on one node asked; the largest node in partition main offers 62.50G"});
  model::Request type = gang(1, 1);
  type.gpu_type = "a100";
  table.push_back({"type", type, "GPU type a100 asked; partition main has h100"});
  model::Request features = tasks(1);
  features.features = {{"ib"}};
  table.push_back({"features", features, "no node of partition main has the features ib"});
  model::Request unknown = tasks(1);
  unknown.nodelist = {"x9"};
  table.push_back({"unknown node", unknown, "--nodelist names the unknown node x9"});
  for (const Refusal& row : table) {
    const base::Status verdict = could_ever_run(c.view.capacity(), c.partition(), row.request);
    ASSERT_FALSE(verdict) << row.what;
    EXPECT_NE(verdict.error().what.find(row.expected), std::string::npos) << verdict.error().what;
  }
}

TEST(CouldEverRun, SaysWhatMayHaveBeenMeant) {
  Cluster c(2, machine(16, 4, 64'000));
  model::Request type = gang(1, 1), node = tasks(1), excluded = tasks(1);
  type.gpu_type = "h10";
  node.nodelist = {"n9"};
  excluded.exclude = {"login7"};
  const std::vector<std::pair<model::Request, std::string>> table = {
      {type, "did you mean \"h100\"?"},
      {node, "did you mean \"n1\"? partition main has n[1-2]"},
      {excluded, "partition main has n[1-2]"},
  };
  for (const auto& [request, hint] : table) {
    const base::Status verdict = could_ever_run(c.view.capacity(), c.partition(), request);
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().hint, hint) << verdict.error().what;
  }
}

TEST(CouldEverRun, BusyAndDrainedNodesCount) {
  Cluster c(1, machine(16, 8, 64'000));
  NodeFacts drained = c.view.capacity().node(NodeId(1))->facts;
  drained.usable = false;
  drained.unusable_why = "drained: disk";
  c.apply(NodeSet{drained});
  EXPECT_TRUE(could_ever_run(c.view.capacity(), c.partition(), gang(1, 8)));
  const Placement now = place(c.view.capacity(), c.partition(), gang(1, 8));
  EXPECT_FALSE(now.allocation);
  EXPECT_NE(explain(now.diagnosis, "main").find("1 is drained: disk"), std::string::npos);
}

/// Nodes that are alike but for their daemons are told apart.
TEST(Place, NodeDaemonsThatAreTooOldGetNothing) {
  const auto set_version = [](Cluster& c, uint32_t id, model::Version version) {
    NodeFacts facts = c.view.capacity().node(NodeId(id))->facts;
    facts.version = version;
    c.apply(NodeSet{facts});
  };
  Cluster c(3, machine(16, 8, 64'000));
  model::Request r = gang(1, 8);
  r.least_version = model::version(0, 2, 0);
  for (uint32_t id : {1U, 2U, 3U}) set_version(c, id, model::version(0, 1, 9));
  const Placement none = place(c.view.capacity(), c.partition(), r);
  EXPECT_FALSE(none.allocation);
  EXPECT_EQ(none.diagnosis.ruled_out.at(BlockerKind::kOldNodeDaemon), 3U);
  EXPECT_EQ(explain(none.diagnosis, "main"),
            "needs 1 node; of 3 in partition main: 3 have node daemons that are too old for it");
  EXPECT_TRUE(place(c.view.capacity(), c.partition(), gang(3, 8)).allocation) << "others go there";
  set_version(c, 2, model::version(0, 2, 0));
  const Placement one = place(c.view.capacity(), c.partition(), r);
  ASSERT_TRUE(one.allocation);
  EXPECT_EQ(one.allocation->shares.front().name, "n2");
  r = gang(2, 8);
  r.least_version = model::version(0, 2, 0);
  EXPECT_FALSE(place(c.view.capacity(), c.partition(), r).allocation);
  set_version(c, 3, 0);
  EXPECT_TRUE(place(c.view.capacity(), c.partition(), r).allocation) << "a version that is not known rules nothing out";
}

TEST(Capacity, GivesNothingTwiceAndTakesEachShareBackOnce) {
  Cluster c(1, machine(16, 8, 64'000));
  Capacity& capacity = c.view.capacity();
  const auto a = place(capacity, c.partition(), gang(1, 4)).allocation;
  ASSERT_TRUE(capacity.allocate(JobId(1), "main", *a, {}, base::Time::never()));
  EXPECT_FALSE(capacity.allocate(JobId(2), "main", *a, {}, base::Time::never()));
  EXPECT_TRUE(capacity.audit());
  capacity.release(JobId(1), NodeId(1));
  capacity.release(JobId(1), NodeId(1));
  EXPECT_EQ(capacity.node(NodeId(1))->free.gpus.size(), 8U);
  EXPECT_TRUE(capacity.audit());
}

TEST(Capacity, OfflineGpuOfARunningJobComesBackOffline) {
  Cluster c(1, machine(16, 8, 64'000));
  Capacity& capacity = c.view.capacity();
  ASSERT_TRUE(capacity.allocate(JobId(1), "main", *place(capacity, c.partition(), gang(1, 8)).allocation, {}, {}));
  NodeFacts facts = capacity.node(NodeId(1))->facts;
  facts.gpus.erase(3);
  c.apply(NodeSet{facts});
  capacity.release_all(JobId(1));
  EXPECT_EQ(capacity.node(NodeId(1))->free.gpus.text(), "0-2,4-7");
  EXPECT_TRUE(capacity.audit());
}

}  // namespace
}  // namespace gw::sched
