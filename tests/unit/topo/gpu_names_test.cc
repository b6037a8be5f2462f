// Short GPU types, which PCI devices count as GPUs, and identities.
#include "topo/gpu_names.h"

#include <gtest/gtest.h>

namespace gw::topo {
namespace {

TEST(GpuNames, TypeFromModel) {
  const std::pair<const char*, const char*> cases[] = {{"NVIDIA H100 80GB HBM3", "h100"},
                                                       {"NVIDIA A100-SXM4-80GB", "a100"},
                                                       {"NVIDIA A100-PCIE-40GB", "a100"},
                                                       {"NVIDIA A10G", "a10g"},
                                                       {"Tesla V100-SXM3-32GB-H", "v100"},
                                                       {"Tesla T4", "t4"},
                                                       {"NVIDIA L40S", "l40s"},
                                                       {"NVIDIA GH200 480GB", "gh200"},
                                                       {"NVIDIA GeForce RTX 4090", "rtx4090"},
                                                       {"NVIDIA GeForce GTX 1080 Ti", "gtx1080ti"},
                                                       {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
                                                       {"NVIDIA RTX A6000", "a6000"},
                                                       {"AMD Instinct MI300X", "mi300x"},
                                                       {"Aqua Vanjaram [Instinct MI300A]", "mi300a"},
                                                       {"deon Instinct MI50 32GB", "mi50"},
                                                       {"Intel(R) Data Center GPU Max 1550", "max1550"},
                                                       {"AMD Radeon Graphics", ""},
                                                       {"80GB HBM3", ""},
                                                       {"", ""}};
  for (const auto& [model, type] : cases) EXPECT_EQ(type_from_model(model), type) << model;
}

TEST(GpuNames, FamilyNamesGiveWayToThePciTable) {
  EXPECT_EQ(gpu_type("AMD INSTINCT MI200 (MCM) OAM LC MBA HPE C2", "", kPciAmd, 0x7408), "mi250x");
  EXPECT_EQ(gpu_type("AMD INSTINCT MI200", "", kPciAmd, 0xffff), "mi200");
  EXPECT_EQ(gpu_type("", "", kPciNvidia, 0x20f1), "a100");
  EXPECT_EQ(gpu_type("", "GH100 [H100 SXM5 80GB]", kPciNvidia, 0xffff), "h100");
  EXPECT_EQ(gpu_type("", "", kPciNvidia, 0xffff), "gpu");
}

TEST(GpuNames, WhichPciDevicesAreGpus) {
  EXPECT_TRUE(is_compute_gpu(0x0302, kPciNvidia, 0x2330));
  EXPECT_TRUE(is_compute_gpu(0x0300, kPciNvidia, 0x2684));
  EXPECT_TRUE(is_compute_gpu(0x0380, kPciAmd, 0x7408));
  EXPECT_TRUE(is_compute_gpu(0x1200, kPciAmd, 0x74a0));
  EXPECT_TRUE(is_compute_gpu(0x0380, kPciIntel, 0x0bd5));
  EXPECT_FALSE(is_compute_gpu(0x0300, 0x1a03, 0x2000)) << "ASPEED management controller";
  EXPECT_FALSE(is_compute_gpu(0x0300, 0x102b, 0x0536)) << "Matrox management controller";
  EXPECT_FALSE(is_compute_gpu(0x0300, kPciAmd, 0x515e)) << "ATI ES1000";
  EXPECT_FALSE(is_compute_gpu(0x0300, kPciIntel, 0x9bc5)) << "integrated graphics";
  EXPECT_FALSE(is_compute_gpu(0x0680, kPciNvidia, 0x22a3)) << "NVSwitch";
}

TEST(GpuNames, Identities) {
  EXPECT_EQ(clean_uuid("GPU-00000000-0000-0000-0000-000000000000"), "");
  EXPECT_EQ(clean_uuid("GPU-d3977428-7a30"), "GPU-d3977428-7a30");
  EXPECT_EQ(amd_uuid("0000000000000000"), "");
  EXPECT_EQ(amd_uuid(""), "");
  EXPECT_EQ(amd_uuid("f62596172e6212b"), "GPU-0f62596172e6212b");
  EXPECT_EQ(vendor_name(kPciAmd), "amd");
  EXPECT_EQ(vendor_name(0x1da3), "1da3");
  EXPECT_EQ(memory_from_model("Tesla V100-SXM3-32GB-H"), 32'768U);
  EXPECT_EQ(memory_from_model("Tesla T4"), 0U);
}

}  // namespace
}  // namespace gw::topo
