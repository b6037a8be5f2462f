// The made-up machines, read back through hwloc.
#include "topo/generate.h"

#include <gtest/gtest.h>

#include "tests/unit/topo/leaks.h"
#include "topo/load.h"
#include "topo/reader.h"

namespace gw::topo {
namespace {

model::NodeTopology machine(const std::string& name) {
  const auto xml = generate_xml(name);
  EXPECT_TRUE(xml) << name;
  auto node = read_xml_text(*xml);
  EXPECT_TRUE(node) << (node ? "" : node.error().text());
  return node ? *node : model::NodeTopology{};
}

void expect_eight_gpu_tree(const model::NodeTopology& node) {
  EXPECT_EQ(node.sockets, 2U);
  ASSERT_EQ(node.numa_nodes.size(), 2U);
  ASSERT_EQ(node.cores.size(), 112U);
  EXPECT_EQ(node.cpu_count(), 224U);
  EXPECT_EQ(node.cores[0].pus, (std::vector<uint32_t>{0, 112}));
  EXPECT_EQ(node.cores[111].pus, (std::vector<uint32_t>{111, 223}));
  EXPECT_EQ(node.cores[55].socket, 0U);
  EXPECT_EQ(node.cores[56].socket, 1U);
  ASSERT_EQ(node.gpus.size(), 8U);
  ASSERT_EQ(node.nics.size(), 8U);
  for (uint32_t g = 0; g < 8; ++g) {
    const auto& gpu = node.gpus[g];
    EXPECT_EQ(gpu.socket, g / 4);
    EXPECT_EQ(gpu.numa, g / 4);
    ASSERT_EQ(gpu.near_cores.size(), 56U);
    EXPECT_EQ(gpu.near_cores.front(), g / 4 * 56);
    EXPECT_EQ(gpu.vendor, "nvidia");
    EXPECT_EQ(gpu.uuid.size(), 40U);
    EXPECT_TRUE(gpu.devices.empty());
    for (uint32_t o = 0; o < 8; ++o) {
      EXPECT_EQ(gpu.pcie_switch == node.gpus[o].pcie_switch, g / 2 == o / 2) << g << " " << o;
      EXPECT_EQ(gpu.host_bridge == node.gpus[o].host_bridge, g / 2 == o / 2) << g << " " << o;
      EXPECT_EQ(gpu.pcie_switch == node.nics[o].pcie_switch, g / 2 == o / 2) << g << " " << o;
    }
  }
  for (uint32_t n = 0; n < 8; ++n) {
    EXPECT_EQ(node.nics[n].name, "mlx5_" + std::to_string(n));
    EXPECT_EQ(node.nics[n].kind, "infiniband");
  }
}

TEST(Generate, DgxH100) {
  const auto node = machine("dgx-h100");
  expect_eight_gpu_tree(node);
  EXPECT_EQ(node.product, "NVIDIA DGX H100");
  EXPECT_EQ(node.memory_mb, 2U << 20);
  EXPECT_EQ(node.gpus[0].type, "h100");
  EXPECT_EQ(node.gpus[0].memory_mb, 81'081U);
  EXPECT_EQ(node.link_name, "NVLink");
  for (uint32_t a = 0; a < 8; ++a) {
    for (uint32_t b = 0; b < 8; ++b) EXPECT_EQ(node.link_mbps(a, b), a == b ? 0U : 450'000U);
  }
}

TEST(Generate, A100PcieHasBridgedPairs) {
  const auto node = machine("a100-pcie");
  expect_eight_gpu_tree(node);
  EXPECT_EQ(node.gpus[0].type, "a100");
  EXPECT_EQ(node.memory_mb, 1U << 20);
  for (uint32_t a = 0; a < 8; ++a) {
    for (uint32_t b = 0; b < 8; ++b) EXPECT_EQ(node.link_mbps(a, b), a != b && a / 2 == b / 2 ? 300'000U : 0U);
  }
}

TEST(Generate, L40sHasNoLinks) {
  const auto node = machine("l40s");
  expect_eight_gpu_tree(node);
  EXPECT_EQ(node.gpus[0].type, "l40s");
  EXPECT_TRUE(node.gpu_links.empty());
  EXPECT_TRUE(node.link_name.empty());
}

TEST(Generate, CpuOnly) {
  const auto node = machine("cpu");
  EXPECT_EQ(node.sockets, 2U);
  EXPECT_EQ(node.cores.size(), 64U);
  EXPECT_TRUE(node.gpus.empty());
  EXPECT_TRUE(node.nics.empty());
  EXPECT_EQ(node.memory_mb, 512U << 10);
}

TEST(Generate, EveryNameLoadsAndIsStable) {
  for (const auto& name : generated_names()) {
    EXPECT_EQ(*generate_xml(name), *generate_xml(name));
    const auto node = load(name);
    ASSERT_TRUE(node) << name;
    EXPECT_EQ(*node, machine(name));
  }
}

TEST(Load, UnknownNameGuesses) {
  const auto node = load("dgx-h10");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, base::ErrorCode::kNotFound);
  EXPECT_NE(node.error().text().find("did you mean \"dgx-h100\"?"), std::string::npos) << node.error().text();
  EXPECT_EQ(load("").error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(generate_xml("l40").error().code, base::ErrorCode::kNotFound);
}

TEST(Load, MissingFileIsNamed) {
  const auto node = load("./no-such-file.xml");
  ASSERT_FALSE(node);
  EXPECT_NE(node.error().what.find("no-such-file.xml"), std::string::npos);
  EXPECT_NE(node.error().what.find("No such file"), std::string::npos);
}

TEST(Load, LiveMachineHasCores) {
  const ThirdPartyLeaks allowed;
  const auto node = load("live");
  ASSERT_TRUE(node) << node.error().text();
  EXPECT_FALSE(node->cores.empty());
  EXPECT_GT(node->memory_mb, 0U);
}

}  // namespace
}  // namespace gw::topo
