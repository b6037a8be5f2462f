// What GPUs do, through a stand-in for NVML.
#include "topo/gpu_sampler.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gw::topo {
namespace {

TEST(GpuSampler, TellsByDeviceFile) {
  ::setenv("FAKE_NVML", "switch", 1);
  const auto gpus = sample_gpus({GW_FAKE_NVML});
  ASSERT_EQ(gpus.size(), 7u) << "one tells of no utilization";
  EXPECT_EQ(gpus.at("/dev/nvidia5").busy_percent, 20u);
  EXPECT_EQ(gpus.at("/dev/nvidia5").mem, uint64_t{5} << 30);
}

TEST(GpuSampler, AbsenceAndFailureAreNormal) {
  EXPECT_TRUE(sample_gpus({"/nonexistent.so"}).empty());
  ::setenv("FAKE_NVML", "init", 1);
  EXPECT_TRUE(sample_gpus({GW_FAKE_NVML}).empty());
}

}  // namespace
}  // namespace gw::topo
