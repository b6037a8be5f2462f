// Choices inside a node, by examples. The property tests search for better ones.
#include "sched/units/unit_table.h"

#include <gtest/gtest.h>

#include "tests/unit/sched/unit_machines.h"

namespace gw::sched {
namespace {

using base::IndexSet;
using model::Locality;
using model::NodeTopology;
using testing::Links;

UnitTable table_of(const NodeTopology& t) { return UnitTable(std::make_shared<NodeTopology>(t)); }
IndexSet set(const std::string& list) { return IndexSet::parse(list).value(); }

struct GpuCase {
  const char* what;
  NodeTopology machine;
  const char* free;
  uint32_t count;
  const char* gpus;
  Locality level;
  uint64_t mbps;
};

TEST(UnitTable, Gpus) {
  const NodeTopology nvswitch = testing::eight(Links::kAll), bridged = testing::eight(Links::kPairs),
                     plain = testing::eight(Links::kNone);
  const GpuCase cases[] = {
      {"one of an idle node", nvswitch, "0-7", 1, "0", Locality::kGpu, 0},
      {"a switch in pieces before a whole one", nvswitch, "0-3,5", 1, "5", Locality::kGpu, 0},
      {"a whole switch for a pair", nvswitch, "1-3,6", 2, "1,6", Locality::kNvlink, 450'000},
      {"one that leaves the other socket whole", nvswitch, "0-3,6-7", 2, "6-7", Locality::kNvlink, 450'000},
      {"half a node is a socket", nvswitch, "0-7", 4, "0-3", Locality::kNvlink, 2'700'000},
      {"equal damage: on the same switch", nvswitch, "1-3", 2, "2-3", Locality::kNvlink, 450'000},
      {"a bridged pair, not just any", bridged, "1-2,4-5,7", 2, "4-5", Locality::kNvlink, 300'000},
      {"bridges broken: NUMA node, then lowest", bridged, "0,2,4,6", 2, "0,2", Locality::kNuma, 0},
      {"as much bandwidth as there is", bridged, "0,2,4-6", 3, "4-6", Locality::kNuma, 300'000},
      {"a switch", plain, "1-2,4-5", 2, "4-5", Locality::kPcie, 0},
      {"a NUMA node", plain, "1-3,5-7", 3, "1-3", Locality::kNuma, 0},
      {"a NUMA node in pieces before a whole one", plain, "0-6", 3, "4-6", Locality::kNuma, 0},
      {"across sockets, leaving a whole switch", plain, "0-2,5-7", 4, "0-2,5", Locality::kNode, 0},
      {"double links, then a switch", testing::cube_mesh(), "0-7", 2, "2-3", Locality::kNvlink, 50'000},
      {"a quad with all pairs linked", testing::cube_mesh(), "0-7", 4, "0-3", Locality::kNvlink, 225'000},
      {"no triple across the mesh", testing::cube_mesh(), "0-1,4-5,7", 3, "4-5,7", Locality::kNvlink, 100'000},
      {"the linked triple", testing::triples(), "0-1,3-5", 3, "3-5", Locality::kNvlink, 150'000},
      {"not out of the whole triple", testing::triples(), "0-2,4-5", 1, "4", Locality::kGpu, 0},
      {"a device with few partitions left", testing::partitions(4, 1, 6), "0-11,13,17", 2, "13,17", Locality::kNvlink,
       100'000},
      {"clusters of one socket", testing::clusters(), "1-3", 2, "2-3", Locality::kNvlink, 150'000},
      {"not out of the whole socket", testing::lonely(), "0-4", 1, "3", Locality::kGpu, 0},
      {"all alike", model::flat_topology(64, 1000, 64, "t4"), "3,9,12-63", 2, "3,9", Locality::kNuma, 0},
      {"more than a word of them", model::flat_topology(64, 1000, 130, "t4"), "60,70-129", 3, "60,70-71",
       Locality::kNuma, 0},
  };
  for (const GpuCase& c : cases) {
    SCOPED_TRACE(c.what);
    UnitTable table = table_of(c.machine);
    const GpuChoice* choice = table.gpus(set(c.free), c.count);
    ASSERT_NE(choice, nullptr);
    EXPECT_EQ(choice->gpus.text(), c.gpus);
    EXPECT_EQ(choice->level, c.level);
    EXPECT_EQ(choice->bandwidth_mbps, c.mbps);
    EXPECT_EQ(table.level(set(c.free), c.count), c.level);
    IndexSet left = set(c.free);
    left -= choice->gpus;
    const GpuGroups groups(c.machine);
    EXPECT_EQ(choice->damage, groups.value(set(c.free)) - groups.value(left));
  }
}

/// `gpus` GPUs on one switch, all linked, no two alike.
NodeTopology tangle(uint32_t gpus) {
  NodeTopology t = testing::board(1, 1, 1, 1);
  for (uint32_t g = 0; g < gpus; ++g) testing::add_gpu(t, 0, 0);
  for (uint32_t a = 0; a < gpus; ++a)
    for (uint32_t b = 0; b < a; ++b) testing::link(t, a, b, 1000 + (a * a + 7 * b * b) % 31);
  return t;
}

TEST(UnitTable, GpusThatTheMachineHasNotAreLeftOut) {
  for (const NodeTopology& t : {testing::eight(Links::kNone), testing::sixteen(), tangle(12)})
    EXPECT_EQ(table_of(t).gpus(set("2,40,70"), 1)->gpus.text(), "2");
}

TEST(UnitTable, NothingWhereThereIsNothing) {
  for (const NodeTopology& t : {testing::eight(Links::kNone), testing::sixteen(), testing::board(2, 1, 1, 4)}) {
    UnitTable table = table_of(t);
    EXPECT_EQ(table.gpus(set("0-3"), 0), nullptr);
    EXPECT_EQ(table.gpus(set("0-3"), 5), nullptr);
    EXPECT_EQ(table.gpus({}, 1), nullptr);
    EXPECT_EQ(table.gpus(set("20,70"), 1), nullptr) << "GPUs that the machine has not got";
    EXPECT_EQ(table.level(set("0-3"), 5), std::nullopt);
  }
}

TEST(UnitTable, AtMostTheWantedLevel) {
  UnitTable table = table_of(testing::eight(Links::kNone));
  EXPECT_EQ(table.gpus(set("0,2,4"), 2, Locality::kPcie), nullptr);
  EXPECT_NE(table.gpus(set("0,2,4"), 2, Locality::kNuma), nullptr);
  EXPECT_EQ(table.gpus(set("0,4"), 2, Locality::kNuma), nullptr);
  EXPECT_NE(table.gpus(set("0,4"), 2, Locality::kNode), nullptr);
  EXPECT_NE(table.gpus(set("0,4"), 2, Locality::kLeaf), nullptr);
  EXPECT_EQ(table.gpus(set("0-1"), 2, Locality::kGpu), nullptr);
  EXPECT_NE(table.gpus(set("0-1"), 1, Locality::kGpu), nullptr);
}

TEST(UnitTable, DamageComparesNodes) {
  UnitTable table = table_of(testing::eight(Links::kAll));
  const uint64_t whole = table.gpus(set("0-7"), 1)->damage, used = table.gpus(set("0-6"), 1)->damage,
                 alone = table.gpus(set("3"), 1)->damage;
  EXPECT_GT(whole, used);
  EXPECT_GT(used, alone);
  EXPECT_EQ(alone, 0u);
}

TEST(UnitTable, AnswersDoNotDependOnTheCache) {
  // More questions than are kept, then the first again, and in a copy.
  UnitTable table = table_of(testing::sixteen());
  std::vector<GpuChoice> first;
  for (uint64_t word = 1; word < 100; ++word) first.push_back(*table.gpus(IndexSet::from_words({&word, 1}), 1));
  for (uint64_t word = 1; word < 20'000; ++word) {
    const IndexSet free = IndexSet::from_words({&word, 1});
    const GpuChoice* choice = table.gpus(free, 1);
    ASSERT_TRUE(choice->gpus.size() == 1 && choice->gpus.is_subset_of(free)) << word;
  }
  table.gpus(set("0-15"), 16);
  table.gpus(set("0-15"), 15);
  UnitTable copy = table;
  for (uint64_t word = 1; word < 100; ++word) {
    EXPECT_EQ(*table.gpus(IndexSet::from_words({&word, 1}), 1), first[word - 1]);
    EXPECT_EQ(*copy.gpus(IndexSet::from_words({&word, 1}), 1), first[word - 1]);
  }
}

TEST(UnitTable, GivesUpOnATangleWithAnAnswer) {
  // Without a tree the search of 30 GPUs, no two alike, cannot end, but its answer is complete.
  const NodeTopology t = tangle(30);
  ASSERT_FALSE(GpuTree::build(GpuGroups(t)));
  const GpuChoice choice = GpuSearch(t).best(IndexSet::first(30), 15);
  EXPECT_EQ(choice.gpus.size(), 15u);
  EXPECT_EQ(choice.level, Locality::kNvlink);
}

struct CoreCase {
  const char* what;
  NodeTopology machine;
  const char* free;
  uint32_t count;
  const char* gpus;
  const char* free_gpus;
  const char* cores;
};

TEST(UnitTable, Cores) {
  const NodeTopology dgx = testing::eight(Links::kAll), dies = testing::dies(), clusters = testing::clusters(),
                     cpu = testing::board(2, 2, 2, 4);
  const CoreCase cases[] = {
      {"on the GPU's socket", dgx, "0-111", 4, "5", "0-4,6-7", "56-59"},
      {"shared out between sockets", dgx, "0-111", 5, "0,7", "1-6", "0-2,56-57"},
      {"shared out by GPUs, not by sockets", dgx, "0-111", 8, "0-2,7", "", "0-5,56-57"},
      {"one socket is full", dgx, "50-111", 10, "0-1", "", "50-59"},
      {"each die its own cache", dies, "0-63", 4, "0-1", "2-7", "48-49,56-57"},
      {"what one die lacks its brother's cache has", dies, "0-63", 12, "0", "1-7", "48-59"},
      {"cores near the job's GPUs first", dies, "0-49,56-63", 8, "0-1", "2-7", "48-49,56-61"},
      {"then the NUMA node, though a free GPU is near", dies, "0-63", 10, "0", "1", "48-57"},
      {"among equally far ones those that no free GPU is near", dies, "0-31", 4, "0", "1,4", "8-11"},
      {"the socket, sparing the other GPU there", clusters, "0-13,42-55", 6, "0", "1", "0-5"},
      {"near the GPU", clusters, "0-55", 16, "0", "1", "0-1,14-27"},
      {"no GPUs: the fullest NUMA node that holds it", cpu, "0-2,8-15,16-21,24-31", 5, "", "", "16-20"},
      {"no GPUs: the fullest cache that holds it", cpu, "0-3,5-7", 3, "", "", "5-7"},
      {"no GPUs: no NUMA node holds it", cpu, "0-3,8-13,16-19,24-31", 11, "", "", "0-2,24-31"},
      {"away from free GPUs", dgx, "0-111", 8, "", "0-3", "56-63"},
      {"what busy GPUs left over", dgx, "0-40,60-111", 10, "", "0-1,4-7", "0-9"},
      {"several NUMA nodes before a GPU's share", clusters, "0-55", 20, "", "0-1", "0-13,28-33"},
      {"all shares are owed: one NUMA node", dgx, "0-9,60-111", 12, "", "0-7", "60-71"},
      {"a die in use", dies, "0-63", 4, "", "1-7", "48-51"},
      {"all", dgx, "1,64,111", 3, "2", "", "1,64,111"},
      {"too few", dgx, "1,64,111", 4, "2", "", ""},
      {"none", dgx, "0-111", 0, "2", "", ""},
  };
  for (const CoreCase& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_EQ(table_of(c.machine).cores(set(c.free), c.count, set(c.gpus), set(c.free_gpus)).text(), c.cores);
  }
}

TEST(UnitTable, AJobsOwnGpusNeedNoSparing) {
  // GPU 0 is near all cores, GPU 1 near half of them: the job of GPU 0 takes the other half.
  NodeTopology t = testing::board(1, 2, 1, 4);
  for (const uint32_t numa : {0, 0}) testing::add_gpu(t, numa, 0);
  t.gpus[0].near_cores = {0, 1, 2, 3, 4, 5, 6, 7};
  for (const char* free_gpus : {"1", "0-1"})
    EXPECT_EQ(table_of(t).cores(set("0-7"), 3, set("0"), set(free_gpus)).text(), "4-6") << free_gpus;
}

TEST(UnitTable, AdaptersOfASwitchAreGivenOutInTurn) {
  const UnitTable table = table_of(testing::eight(Links::kAll));
  EXPECT_EQ(table.nics(set("0-7")), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(table.nics(set("1,6")), (std::vector<uint32_t>{1, 6}));
  EXPECT_TRUE(table.nics({}).empty());
  EXPECT_TRUE(table_of(testing::triples()).nics(set("0-5")).empty());
}

TEST(UnitTable, TheNearestAdapter) {
  // Adapter n lies one step further from GPU 0 than adapter n - 1: switch, host bridge, NUMA node, socket, elsewhere.
  NodeTopology t = testing::board(2, 2, 1, 1);
  testing::add_gpu(t, 0, 1);
  const auto nearest_without = [&](uint32_t removed) {
    NodeTopology cut = t;
    testing::add_nic(cut, 0, 1, 1);
    testing::add_nic(cut, 0, 2, 1);
    testing::add_nic(cut, 0, 3, 3);
    testing::add_nic(cut, 1, 4, 4);
    testing::add_nic(cut, 2, 5, 5);
    std::reverse(cut.nics.begin(), cut.nics.end());  // 4, 3, 2, 1, 0
    cut.nics.resize(5 - removed);
    return table_of(cut).nics(set("0"));
  };
  for (uint32_t removed = 0; removed < 5; ++removed)
    EXPECT_EQ(nearest_without(removed), (std::vector<uint32_t>{4 - removed}));
}

TEST(UnitTable, EthernetCountsOnlyWithoutInfiniBand) {
  NodeTopology t = testing::board(1, 1, 1, 1);
  testing::add_gpu(t, 0, 1);
  testing::add_nic(t, 0, 1, 1, "ethernet");
  EXPECT_EQ(table_of(t).nics(set("0")), std::vector<uint32_t>{0});
  testing::add_nic(t, 0, 2, 2, "infiniband");
  EXPECT_EQ(table_of(t).nics(set("0")), std::vector<uint32_t>{1});
}

TEST(UnitTable, NumaNodesOfGpusAndCores) {
  const UnitTable table = table_of(testing::dies());
  EXPECT_EQ(table.numa(set("0,4"), {}).text(), "0,3");
  EXPECT_EQ(table.numa({}, set("15-16")).text(), "0-1");
  EXPECT_EQ(table.numa(set("2"), set("63")).text(), "1,3");
  EXPECT_TRUE(table.numa({}, {}).empty());
}

}  // namespace
}  // namespace gw::sched
