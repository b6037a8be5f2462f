// Exports of real machines, where a folder with them is given in GANGWAY_SHARED_TOPOLOGIES. The expected facts were
// taken from the files by hand, with lstopo.
#include <gtest/gtest.h>

#include <cstdlib>

#include "topo/reader.h"
#include "topo/render.h"

namespace gw::topo {
namespace {

struct Facts {
  const char* file;
  const char* type;
  uint32_t gpus, sockets, numa, cores, threads, nics;
  const char* link_name;
  uint64_t mbps;             // between any two GPUs; 0: no links
  uint32_t near_cores;       // of every GPU
  uint32_t switch_partners;  // other GPUs on the switch of GPU 0
  const char* first_pci;
  const char* last_pci;
  std::vector<uint32_t> numa_of_gpus;
  const char* nic_names;
};

const std::vector<Facts> kFacts{
    {"nvidia-dgx2-16xv100-nvswitch.xml",
     "v100",
     16,
     2,
     2,
     4,
     4,
     0,
     "NVLink",
     150'000,
     2,
     1,
     "0000:34:00.0",
     "0000:e7:00.0",
     {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
     ""},
    {"intel-spr-4xh100-sxm-nvlink-snc4.xml",
     "h100",
     4,
     2,
     8,
     112,
     224,
     6,
     "NVLink",
     150'000,
     14,
     0,
     "0000:4e:00.0",
     "0000:db:00.0",
     {3, 1, 7, 5},
     "eno8303 eno8403 mlx5_0 mlx5_1 mlx5_2 mlx5_3 "},
    {"power9-lassen-4xv100-4ib.xml",
     "v100",
     4,
     2,
     2,
     40,
     160,
     6,
     "",
     0,
     20,
     1,
     "0004:04:00.0",
     "0035:04:00.0",
     {0, 0, 1, 1},
     "mlx5_0 mlx5_1 enP5p1s0f0 enP5p1s0f1 mlx5_2 mlx5_3 "},
    {"aws-g4dn-metal-8xt4-pcie.xml",
     "t4",
     8,
     2,
     2,
     48,
     96,
     2,
     "",
     0,
     24,
     0,
     "0000:18:00.0",
     "0000:f5:00.0",
     {0, 0, 0, 0, 1, 1, 1, 1},
     "rdmap197s0 eth0 "},
    {"tioga-4xmi250x-8gcd-xgmi.xml",
     "mi250x",
     8,
     1,
     4,
     64,
     128,
     5,
     "xGMI",
     100'000,
     8,
     0,
     "0000:c1:00.0",
     "0000:de:00.0",
     {3, 3, 1, 1, 0, 0, 2, 2},
     "ens2 hsi0 hsi1 hsi2 hsi3 "},
    {"tuolumne-4xmi300a-spx.xml",
     "mi300a",
     4,
     4,
     4,
     96,
     192,
     5,
     "xGMI",
     100'000,
     24,
     0,
     "0000:02:00.0",
     "0003:02:00.0",
     {0, 1, 2, 3},
     "hsi0 enp129s0 hsi1 hsi2 hsi3 "},
    {"tuolumne-4xmi300a-cpx.xml",
     "mi300a",
     24,
     4,
     4,
     96,
     192,
     5,
     "xGMI",
     100'000,
     24,
     5,
     "0000:02:00.0",
     "0003:02:00.0",
     {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3},
     "hsi0 enp129s0 hsi1 hsi2 hsi3 "},
    {"corona-8xmi50-rsmi.xml",
     "mi50",
     8,
     2,
     2,
     48,
     96,
     3,
     "",
     0,
     24,
     0,
     "0000:03:00.0",
     "0000:e3:00.0",
     {0, 0, 0, 0, 1, 1, 1, 1},
     "mlx5_0 eno1 eno2 "},
};

/// The folder with the files, named by GANGWAY_SHARED_TOPOLOGIES; without it there is nothing to instantiate.
std::vector<std::string> folders() {
  const char* folder = std::getenv("GANGWAY_SHARED_TOPOLOGIES");
  if (folder == nullptr) return {};
  return {folder};
}

class RealMachines : public ::testing::TestWithParam<std::string> {
 protected:
  model::NodeTopology read(const std::string& file) const {
    auto node = read_xml_file(GetParam() + "/" + file);
    EXPECT_TRUE(node) << (node ? "" : node.error().text());
    return node ? *node : model::NodeTopology{};
  }
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealMachines);
INSTANTIATE_TEST_SUITE_P(Folder, RealMachines, ::testing::ValuesIn(folders()),
                         [](const auto&) { return std::string("Given"); });

void check_gpus(const Facts& f, const model::NodeTopology& node) {
  ASSERT_EQ(node.gpus.size(), f.gpus);
  EXPECT_EQ(node.gpus.front().pci, f.first_pci);
  EXPECT_EQ(node.gpus.back().pci, f.last_pci);
  uint32_t partners = 0;
  for (uint32_t g = 0; g < f.gpus; ++g) {
    EXPECT_EQ(node.gpus[g].type, f.type);
    EXPECT_EQ(node.gpus[g].numa, f.numa_of_gpus[g]) << g;
    EXPECT_EQ(node.gpus[g].near_cores.size(), f.near_cores);
    for (const auto c : node.gpus[g].near_cores) EXPECT_EQ(node.cores[c].numa, node.gpus[g].numa);
    partners += g > 0 && node.gpus[g].pcie_switch == node.gpus[0].pcie_switch ? 1U : 0U;
    for (uint32_t o = 0; o < f.gpus; ++o) EXPECT_EQ(node.link_mbps(g, o), g == o ? 0 : f.mbps);
  }
  EXPECT_EQ(partners, f.switch_partners);
}

TEST_P(RealMachines, FactsHold) {
  for (const auto& f : kFacts) {
    SCOPED_TRACE(f.file);
    const auto node = read(f.file);
    EXPECT_EQ(node.sockets, f.sockets);
    EXPECT_EQ(node.numa_nodes.size(), f.numa);
    EXPECT_EQ(node.cores.size(), f.cores);
    EXPECT_EQ(node.cpu_count(), f.threads);
    EXPECT_EQ(node.link_name, f.link_name);
    EXPECT_EQ(node.gpu_links.empty(), f.mbps == 0);
    std::string nics;
    for (const auto& nic : node.nics) nics += nic.name + " ";
    EXPECT_EQ(nics, f.nic_names);
    EXPECT_EQ(node.nics.size(), f.nics);
    check_gpus(f, node);
    EXPECT_FALSE(draw(node, {}, 80, true).empty());
    EXPECT_FALSE(to_json(node, {}).empty());
  }
}

TEST_P(RealMachines, Details) {
  const auto lassen = read("power9-lassen-4xv100-4ib.xml");
  EXPECT_EQ(lassen.numa_nodes[0].os_index, 0U);
  EXPECT_EQ(lassen.numa_nodes[1].os_index, 8U);
  EXPECT_EQ(lassen.cores[0].pus, (std::vector<uint32_t>{8, 9, 10, 11}));

  const auto tioga = read("tioga-4xmi250x-8gcd-xgmi.xml");
  EXPECT_EQ(tioga.gpus[0].near_cores.front(), 48U);
  EXPECT_EQ(tioga.gpus[4].near_cores.front(), 0U);
  for (const auto& gpu : tioga.gpus) {
    for (const auto c : gpu.near_cores) EXPECT_EQ(tioga.cores[c].l3, tioga.cores[gpu.near_cores[0]].l3);
  }

  const auto dell = read("intel-spr-4xh100-sxm-nvlink-snc4.xml");
  EXPECT_EQ(dell.gpus[0].uuid, "");
  EXPECT_EQ(link_word(dell, 0, 1), "NV6");
  for (const auto& [gpu, nic] : {std::pair{0U, 2U}, {0U, 3U}, {1U, 4U}, {3U, 5U}})
    EXPECT_EQ(nic_word(dell, gpu, nic), "PIX");
  for (uint32_t nic = 0; nic < 6; ++nic) EXPECT_NE(nic_word(dell, 2, nic), "PIX");

  const auto aws = read("aws-g4dn-metal-8xt4-pcie.xml");
  EXPECT_EQ(link_word(aws, 0, 1), "PHB");
  EXPECT_EQ(link_word(aws, 0, 2), "NODE");
  EXPECT_EQ(link_word(aws, 0, 4), "SYS");
  EXPECT_EQ(aws.nics[0].pcie_switch, aws.nics[1].pcie_switch);

  const auto corona = read("corona-8xmi50-rsmi.xml");
  EXPECT_EQ(corona.gpus[0].uuid, "GPU-4c04714172e6268f") << "rsmi2 comes first on the bus";
  EXPECT_EQ(nic_word(corona, 6, 0), "PHB");
}

}  // namespace
}  // namespace gw::topo
