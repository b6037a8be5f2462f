// NodeTopology: counts, locality of GPU pairs, every invariant, and the hash of a make.
#include "model/topology.h"

#include <gtest/gtest.h>

#include <functional>

namespace gw::model {
namespace {

/// Two sockets with a NUMA node, two cores of two threads and two GPUs each; GPUs 0 and 3 are linked.
NodeTopology two_sockets() {
  NodeTopology t;
  t.sockets = 2;
  t.memory_mb = 2048;
  t.numa_nodes = {{0, 0, 1024}, {8, 1, 1024}};
  t.cores = {{0, 0, 0, {0, 4}}, {0, 0, 0, {1, 5}}, {1, 1, 1, {2, 6}}, {1, 1, 1, {3, 7}}};
  for (uint32_t i = 0; i < 4; ++i) {
    Gpu gpu;
    gpu.type = "a100";
    gpu.pci = "0000:" + std::to_string(i + 1) + "0:00.0";
    gpu.socket = gpu.numa = i / 2;
    gpu.pcie_switch = i < 2 ? 0 : i;
    gpu.near_cores = i < 2 ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{2, 3};
    t.gpus.push_back(gpu);
  }
  t.nics.push_back({"mlx5_0", "0000:12:00.0", "infiniband", 0, 0, 0, 0});
  t.gpu_links.assign(4, std::vector<uint64_t>(4, 0));
  t.gpu_links[0][3] = t.gpu_links[3][0] = 50'000;
  return t;
}

TEST(Topology, Counts) {
  EXPECT_EQ(two_sockets().cpu_count(), 8u);
  EXPECT_EQ(two_sockets().threads_per_core(), 2u);
  EXPECT_EQ(NodeTopology().threads_per_core(), 1u);
  EXPECT_EQ(two_sockets().link_mbps(0, 3), 50'000u);
  EXPECT_EQ(two_sockets().link_mbps(0, 9), 0u);
}

TEST(Topology, LocalityTightestFirst) {
  const NodeTopology t = two_sockets();
  EXPECT_EQ(locality(t, 1, 1), GpuLocality::kSame);
  EXPECT_EQ(locality(t, 0, 3), GpuLocality::kNvlink);
  EXPECT_EQ(locality(t, 0, 1), GpuLocality::kPcieSwitch);
  EXPECT_EQ(locality(t, 2, 3), GpuLocality::kNuma);
  EXPECT_EQ(locality(t, 0, 2), GpuLocality::kNode);
  NodeTopology numa_per_gpu = t;
  numa_per_gpu.numa_nodes.push_back({9, 1, 0});
  numa_per_gpu.gpus[3].numa = 2;
  EXPECT_EQ(locality(numa_per_gpu, 2, 3), GpuLocality::kSocket);
}

TEST(Topology, ValidatesEachInvariant) {
  struct Case {
    const char* part;
    std::function<void(NodeTopology&)> spoil;
  };
  const Case cases[] = {
      {"NUMA node 1 is on socket 2 of 2", [](NodeTopology& t) { t.numa_nodes[1].socket = 2; }},
      {"core 3 is on NUMA node 2 of 2", [](NodeTopology& t) { t.cores[3].numa = 2; }},
      {"core 0 is on socket 7 of 2", [](NodeTopology& t) { t.cores[0].socket = 7; }},
      {"core 1 has no processor", [](NodeTopology& t) { t.cores[1].pus.clear(); }},
      {"processor 0 belongs to two cores", [](NodeTopology& t) { t.cores[2].pus[0] = 0; }},
      {"processor 70000 belongs to two cores", [](NodeTopology& t) { t.cores[1].pus[0] = t.cores[2].pus[1] = 70'000; }},
      {"GPU 2 is on NUMA node 5 of 2", [](NodeTopology& t) { t.gpus[2].numa = 5; }},
      {"GPU 1 is not in PCI order", [](NodeTopology& t) { std::swap(t.gpus[0].pci, t.gpus[1].pci); }},
      {"GPU 0 is near core 4, which is none", [](NodeTopology& t) { t.gpus[0].near_cores = {4}; }},
      {"near cores of GPU 0 are not ascending",
       [](NodeTopology& t) {
         t.gpus[0].near_cores = {1, 0};
       }},
      {"NIC mlx5_0 is on NUMA node 9 of 2", [](NodeTopology& t) { t.nics[0].numa = 9; }},
      {"3 rows of GPU links for 4 GPUs", [](NodeTopology& t) { t.gpu_links.pop_back(); }},
      {"row 2 of the GPU links is not 4 long", [](NodeTopology& t) { t.gpu_links[2].pop_back(); }},
      {"GPU 1 is linked to itself", [](NodeTopology& t) { t.gpu_links[1][1] = 1; }},
      {"GPU link 0-3 is not symmetric", [](NodeTopology& t) { t.gpu_links[0][3] = 1; }},
  };
  EXPECT_TRUE(validate(two_sockets()));
  EXPECT_TRUE(validate(NodeTopology()));
  for (const Case& c : cases) {
    NodeTopology t = two_sockets();
    c.spoil(t);
    const auto status = validate(t);
    ASSERT_FALSE(status) << c.part;
    EXPECT_NE(status.error().what.find(c.part), std::string::npos) << status.error().what;
  }
}

TEST(Topology, HashIsOfTheMake) {
  const uint64_t hash = make_hash(two_sockets());
  NodeTopology other = two_sockets();
  other.gpus[0].uuid = "GPU-1";
  other.gpus[0].devices = {"/dev/nvidia0"};
  EXPECT_EQ(make_hash(other), hash) << "what differs between two machines of one make must not count";
  other = two_sockets();
  other.gpu_links[0][1] = other.gpu_links[1][0] = 1;
  EXPECT_NE(make_hash(other), hash);
  other = two_sockets();
  other.gpus[0].type = "h100";
  EXPECT_NE(make_hash(other), hash);
  other = two_sockets();
  other.cores[0].pus.pop_back();
  EXPECT_NE(make_hash(other), hash);
}

TEST(Topology, FlatIsValid) {
  const NodeTopology t = flat_topology(4, 8192, 2, "t4");
  EXPECT_TRUE(validate(t));
  EXPECT_EQ(t.cpu_count(), 4u);
  EXPECT_EQ(t.memory_mb, 8192u);
  EXPECT_EQ(t.gpus.size(), 2u);
  EXPECT_EQ(locality(t, 0, 1), GpuLocality::kNuma);
}

}  // namespace
}  // namespace gw::model
