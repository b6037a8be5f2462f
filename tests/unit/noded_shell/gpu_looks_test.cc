// Looks at GPUs through a stand-in for NVML, beside a loop.
#include "noded/shell/gpu_looks.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gw::noded {
namespace {

const std::map<std::string, uint32_t> kFiles = {{"/dev/nvidia5", 1}, {"/dev/nvidia6", 0}, {"/dev/nvidia99", 2}};

TEST(GpuLooks, AreByTheNumbersOnTheNode) {
  ::setenv("FAKE_NVML", "switch", 1);
  io::Loop loop;
  GpuLooksTaker taker(loop, kFiles, {GW_FAKE_NVML});
  GpuLooks seen;
  taker.look([&](const GpuLooks& looks) {
    seen = looks;
    loop.stop();
  });
  loop.run();
  ASSERT_EQ(seen.size(), 2u) << "one is not there";
  EXPECT_EQ(seen.at(1).busy_percent, 20u);
  EXPECT_EQ(seen.at(1).mem, uint64_t{5} << 30);
}

TEST(GpuLooks, GoOnWhileTheyAreWanted) {
  ::setenv("FAKE_NVML", "switch", 1);
  io::Loop loop;
  GpuLooksTaker taker(loop, kFiles, {GW_FAKE_NVML}, base::milliseconds(1));
  int looks = 0, asked = 0;
  taker.watch(
      [&] {
        if (++asked > 50) loop.stop();
        return looks < 3;
      },
      [&](const GpuLooks&) { ++looks; });
  loop.run();
  EXPECT_EQ(looks, 3) << "none after they were not wanted any more";
}

TEST(GpuLooks, WithoutGpusNothingIsWatched) {
  io::Loop loop;
  GpuLooksTaker taker(loop, {}, {GW_FAKE_NVML}, base::milliseconds(1));
  EXPECT_FALSE(taker.has_gpus());
  bool is_asked = false;
  taker.watch([&] { return is_asked = true; }, [](const GpuLooks&) {});
  const io::Timer end = loop.after(base::milliseconds(20), [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(is_asked);
}

}  // namespace
}  // namespace gw::noded
