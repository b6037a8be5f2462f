// What GPUs do, through a stand-in for NVML.
#include "topo/gpu_sampler.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gw::topo {
namespace {

TEST(GpuSampler, TellsByDeviceFile) {
  ::setenv("FAKE_NVML", "switch", 1);
  const GpuSampler sampler({GW_FAKE_NVML});
  const auto gpus = sampler.sample();
  ASSERT_EQ(gpus.size(), 7u) << "one tells of no utilization";
  EXPECT_EQ(gpus.at("/dev/nvidia5").busy_percent, 20u);
  EXPECT_EQ(gpus.at("/dev/nvidia5").mem, uint64_t{5} << 30);
  EXPECT_EQ(sampler.sample().size(), 7u) << "it is held open";
}

TEST(GpuSampler, AbsenceAndFailureAreNormal) {
  EXPECT_TRUE(GpuSampler({"/nonexistent.so"}).sample().empty());
  ::setenv("FAKE_NVML", "init", 1);
  EXPECT_TRUE(GpuSampler({GW_FAKE_NVML}).sample().empty());
}

}  // namespace
}  // namespace gw::topo
