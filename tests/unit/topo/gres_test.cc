// NVML and ROCm SMI through stand-in libraries.
#include "topo/gres.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "topo/load.h"

namespace gw::topo {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

GresReport run(model::NodeTopology& node, const char* mode) {
  ::setenv("FAKE_NVML", mode, 1);
  const auto report = add_live_gres(node, {.nvml = {"/nonexistent.so", GW_FAKE_NVML}, .rocm_smi = {GW_FAKE_ROCM_SMI}});
  EXPECT_TRUE(model::validate(node));
  return report;
}

TEST(Gres, AbsenceIsNormal) {
  auto node = *load("dgx-h100");
  const auto before = node;
  const auto report = add_live_gres(node, {.nvml = {"/nonexistent.so"}, .rocm_smi = {}});
  EXPECT_FALSE(report.nvml);
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_EQ(node, before);
}

TEST(Gres, NvmlCompletesGpus) {
  auto node = *load("l40s");
  const auto before = node;
  const auto report = run(node, "");
  EXPECT_TRUE(report.nvml);
  EXPECT_FALSE(report.rocm_smi) << "no AMD GPU: not opened";
  EXPECT_EQ(node.gpus[1].uuid, "GPU-11111111-2222-3333-4444-000000000001");
  EXPECT_EQ(node.gpus[1].model, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(node.gpus[1].type, "a100");
  EXPECT_EQ(node.gpus[1].memory_mb, 81'920U);
  EXPECT_EQ(node.gpus[1].devices, std::vector<std::string>{"/dev/nvidia6"});
  EXPECT_EQ(node.link_name, "NVLink");
  EXPECT_EQ(node.link_mbps(0, 1), 300'000U);
  EXPECT_EQ(node.link_mbps(3, 2), 300'000U);
  EXPECT_EQ(node.link_mbps(1, 2), 0U);
  EXPECT_EQ(node.link_mbps(4, 5), 0U);
  EXPECT_EQ(node.gpus[6], before.gpus[6]) << "what NVML does not see keeps what hwloc said";
}

TEST(Gres, NvmlWarnsOfMissingGpus) {
  auto node = *load("l40s");
  const auto warnings = run(node, "").warnings;
  EXPECT_THAT(warnings, Contains(HasSubstr("cannot read its GPU 6")));
  EXPECT_THAT(warnings, Contains(HasSubstr("GPU 6 at 0000:73:00.0")));
  EXPECT_THAT(warnings, Contains(HasSubstr("GPU 7 at 0000:74:00.0")));
  EXPECT_THAT(warnings, Contains(HasSubstr("0000:99:00.0 that is not on the PCI bus")));
  EXPECT_EQ(warnings.size(), 4U);
}

TEST(Gres, SwitchedGpusAreAllLinked) {
  auto node = *load("l40s");
  run(node, "switch");
  for (uint32_t a = 0; a < 7; ++a) {
    for (uint32_t b = 0; b < 7; ++b) EXPECT_EQ(node.link_mbps(a, b), a == b ? 0U : 300'000U);
    EXPECT_EQ(node.link_mbps(a, 7), 0U) << "NVML does not see GPU 7";
  }
}

TEST(Gres, ADriverThatDoesNotStart) {
  auto node = *load("dgx-h100");
  const auto before = node;
  const auto report = run(node, "init");
  EXPECT_FALSE(report.nvml);
  EXPECT_THAT(report.warnings, Contains("NVML does not start: Driver Not Loaded"));
  EXPECT_EQ(node, before);
}

TEST(Gres, ALibraryWithoutTheFunctions) {
  auto node = *load("dgx-h100");
  const auto report = add_live_gres(node, {.nvml = {GW_FAKE_ROCM_SMI}, .rocm_smi = {}});
  EXPECT_THAT(report.warnings, Contains(HasSubstr("too old")));
}

model::NodeTopology two_amd_gpus() {
  auto node = model::flat_topology(4, 1024, 3, "mi300x");
  const char* slots[] = {"0000:11:00.0", "0000:12:00.0", "0000:13:00.0"};
  for (size_t i = 0; i < 3; ++i) {
    node.gpus[i].pci = slots[i];
    node.gpus[i].vendor = "amd";
  }
  return node;
}

TEST(Gres, RocmSmiSplitsPartitions) {
  auto node = two_amd_gpus();
  const auto report = run(node, "");
  EXPECT_TRUE(report.rocm_smi);
  ASSERT_EQ(node.gpus.size(), 7U) << "two GPUs in three parts, one that the driver does not see";
  EXPECT_THAT(report.warnings, Contains(HasSubstr("0000:13:00.0 is on the PCI bus")));
  EXPECT_EQ(node.gpus[4].pci, "0000:12:00.0");
  EXPECT_EQ(node.gpus[4].partition, 1U);
  EXPECT_EQ(node.gpus[4].uuid, "GPU-000000000000abc4");
  EXPECT_EQ(node.gpus[4].devices, (std::vector<std::string>{"/dev/kfd", "/dev/dri/renderD132"}));
  EXPECT_EQ(node.gpus[4].memory_mb, 65'536U);
  EXPECT_EQ(node.gpus[4].pcie_switch, node.gpus[3].pcie_switch);
  EXPECT_EQ(node.link_name, "xGMI");
  EXPECT_EQ(node.link_mbps(0, 5), 50'000U);
  EXPECT_EQ(node.link_mbps(0, 6), 0U);
}

}  // namespace
}  // namespace gw::topo
