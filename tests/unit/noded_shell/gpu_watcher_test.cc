// Looks at GPUs through a stand-in for NVML, beside a loop.
#include "noded/shell/gpu_watcher.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gw::noded {
namespace {

const std::map<std::string, uint32_t> kFiles = {{"/dev/nvidia5", 1}, {"/dev/nvidia6", 0}, {"/dev/nvidia99", 2}};

TEST(GpuWatcher, AreByTheNumbersOnTheNode) {
  ::setenv("FAKE_NVML", "switch", 1);
  io::Loop loop;
  GpuWatcher watcher(loop, kFiles, {GW_FAKE_NVML});
  GpuLooks seen;
  watcher.look([&](const GpuLooks& looks) {
    seen = looks;
    loop.stop();
  });
  loop.run();
  ASSERT_EQ(seen.size(), 2u) << "one is not there";
  EXPECT_EQ(seen.at(1).busy_percent, 20u);
  EXPECT_EQ(seen.at(1).mem, uint64_t{5} << 30);
}

TEST(GpuWatcher, GoOnWhileTheyAreWanted) {
  ::setenv("FAKE_NVML", "switch", 1);
  io::Loop loop;
  GpuWatcher watcher(loop, kFiles, {GW_FAKE_NVML}, base::milliseconds(1));
  int looks = 0, asked = 0;
  watcher.watch(
      [&] {
        if (++asked > 50) loop.stop();
        return looks < 3;
      },
      [&](const GpuLooks&) { ++looks; });
  loop.run();
  EXPECT_EQ(looks, 3) << "none after they were not wanted any more";
}

TEST(GpuWatcher, WithoutGpusNothingIsWatched) {
  io::Loop loop;
  GpuWatcher watcher(loop, {}, {GW_FAKE_NVML}, base::milliseconds(1));
  EXPECT_FALSE(watcher.has_gpus());
  bool is_asked = false;
  watcher.watch([&] { return is_asked = true; }, [](const GpuLooks&) {});
  const io::Timer end = loop.after(base::milliseconds(20), [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(is_asked);
}

}  // namespace
}  // namespace gw::noded
