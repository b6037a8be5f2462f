// What processes used, as their ends tell it.
#include "noded/step/tasks/used.h"

#include <gtest/gtest.h>

#include "sanitized.h"
#include "scene.h"
#include "wire/convert.h"

namespace gw::noded::step {
namespace {

using model::UseKind;

rusage usage_of_end(long user_ms, long rss_kb, long written = 0) {
  rusage r{};
  r.ru_utime = {user_ms / 1000, user_ms % 1000 * 1000};
  r.ru_stime = {0, 1000};
  r.ru_maxrss = rss_kb;
  r.ru_oublock = written;
  return r;
}

TEST(Used, ATaskAloneHasWhatNobodyWaitedFor) {
  Used used;
  used.add(10, usage_of_end(1500, 100, 2));
  used.add(11, usage_of_end(500, 300, 1));
  used.name(10, 0);
  const model::RunUse use = used.total();
  EXPECT_EQ(use.tasks, 1u);
  EXPECT_EQ(use.user_us, 2'000'000u);
  EXPECT_EQ(use.system_us, 2'000u);
  EXPECT_EQ(use.of(UseKind::kCpu).most, 2'002'000u);
  EXPECT_EQ(use.of(UseKind::kRss).most, 300u * 1024) << "one after the other";
  EXPECT_EQ(use.of(UseKind::kWritten).sum, 3u * 512);
}

TEST(Used, AmongSeveralItIsNobodys) {
  Used used;
  used.add(10, usage_of_end(10, 100));
  used.add(11, usage_of_end(20, 200));
  used.add(12, usage_of_end(1000, 900));
  used.name(11, 1);
  used.name(10, 0);
  used.name(10, 0);
  const model::RunUse use = used.total();
  EXPECT_EQ(use.tasks, 2u);
  EXPECT_EQ(use.of(UseKind::kRss).most, 200u * 1024);
  EXPECT_EQ(use.of(UseKind::kCpu).sum, 32'000u);
  EXPECT_EQ(use.user_us, 1'030'000u);
}

TEST(Used, WhatIsSeenOfATaskTogetherCountsIfItIsMore) {
  Used used;
  wire::NodeUsage now;
  wire::TaskUsage& task = *now.add_tasks();
  task.set_rank(5);
  task.set_rss(10 << 20);
  task.set_vm(50 << 20);
  task.set_peak_vm(70 << 20);
  used.look(now);
  task.set_rss(5 << 20);
  used.look(now);
  used.add(10, usage_of_end(10, 1024));
  used.name(10, 5);
  EXPECT_EQ(used.total().of(UseKind::kRss).most, 10u << 20);
  EXPECT_EQ(used.total().of(UseKind::kVm).most, 70u << 20);
}

/// Processes whose parents have gone may be any number, and numbers of processes are given again.
TEST(Used, OfManyNothingIsLost) {
  Used used;
  for (int round = 0; round < 3; ++round)
    for (pid_t pid = 1; pid <= 20'000; ++pid) used.add(pid, usage_of_end(1, 10));
  used.name(5, 0);
  const model::RunUse use = used.total();
  EXPECT_EQ(use.user_us, 60'000'000u);
  EXPECT_EQ(use.of(UseKind::kCpu).sum, 120'000'000u);
}

TEST(Used, AShepherdSaysItOfEachTaskWhenAllIsGone) {
  Scene s(2);
  const std::string hold = "x=$(head -c 30000000 /dev/zero | tr '\\0' x); ";
  TestClient& client = s.run(launch_of({{"sh", "-c", hold + ":"}, {"sh", "-c", ":"}}));
  EXPECT_TRUE(client.wait_over());
  ASSERT_TRUE(wait_exit(*s.peer));
  s.peer->send(stop(0, true));
  const auto clean = s.peer->wait([](const wire::FromShepherd& m) { return m.has_clean(); });
  s.peer->send(forget());
  ASSERT_TRUE(clean);
  const model::RunUse use = wire::from_wire(clean->clean().use());
  EXPECT_EQ(use.tasks, 2u);
  EXPECT_GT(use.of(UseKind::kRss).most, 30'000'000u);
  if (!kIsSanitized) {
    EXPECT_EQ(use.of(UseKind::kRss).most_task, 0u);
    EXPECT_EQ(use.of(UseKind::kRss).least_task, 1u);
  }
  EXPECT_GT(use.user_us + use.system_us, 0u);
}

}  // namespace
}  // namespace gw::noded::step
