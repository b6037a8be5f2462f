// What looks at GPUs come to, in the reports of the runs that have them.
#include "noded/core/gpu_watch.h"

#include <gtest/gtest.h>

#include "tests/unit/noded_core/agent_script.h"

namespace gw::noded::testing {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30, kSecondUs = 1'000'000;

void start(AgentScript& script) {
  for (const char* line : {"start", "up", "registered", "prepare 7.1 go gpus=0-1", "user 7.1", "connected 7.1",
                           "ready 7.1", "started 7.1"})
    script(line);
}

void look(AgentScript& script, int64_t after_seconds, const GpuLooks& looks) {
  script.pass(base::seconds(after_seconds));
  EXPECT_EQ(describe(script.agent.on_gpu_looks(script.now, looks)), "");
}

wire::Done done_in(const Effects& effects) {
  for (const Effect& effect : effects)
    if (const auto* send = std::get_if<SendToController>(&effect); send != nullptr && send->message.has_done())
      return send->message.done();
  ADD_FAILURE() << "no Done";
  return {};
}

wire::GpuUse end(AgentScript& script) {
  script("exit 7.1");
  return done_in(script.play("clean 7.1")).use().gpu();
}

TEST(GpuWatch, LooksAreAddedUpGpuByGpu) {
  AgentScript script;
  start(script);
  look(script, 10, {{0, {100, 3 * kGiB}}, {1, {0, kGiB}}, {2, {90, 9 * kGiB}}});
  look(script, 10, {{0, {50, 5 * kGiB}}, {1, {20, kGiB}}});
  const wire::GpuUse use = end(script);
  EXPECT_EQ(use.gpus(), 2u) << "GPU 2 is another's";
  EXPECT_NEAR(static_cast<double>(use.seen_us()), 40 * kSecondUs, 0.1 * kSecondUs);
  EXPECT_NEAR(static_cast<double>(use.busy_us()), 17 * kSecondUs, 0.1 * kSecondUs);
  EXPECT_NEAR(static_cast<double>(use.idle_us()), 10 * kSecondUs, 0.1 * kSecondUs);
  EXPECT_EQ(use.most_busy(), 100u);
  EXPECT_EQ(use.most_mem(), 5 * kGiB);
  EXPECT_EQ(use.sum_mem(), 6 * kGiB);
}

TEST(GpuWatch, AJobAndItsStepAreSeenBoth) {
  AgentScript script;
  start(script);
  for (const char* line : {"step 7.1.s0 gpus=1", "user 7.1.s0", "connected 7.1.s0", "ready 7.1.s0", "started 7.1.s0"})
    script(line);
  look(script, 10, {{0, {10, kGiB}}, {1, {40, 2 * kGiB}}});
  script("exit 7.1.s0");
  const wire::GpuUse step = done_in(script.play("clean 7.1.s0")).use().gpu();
  EXPECT_EQ(step.gpus(), 1u);
  EXPECT_EQ(step.most_busy(), 40u);
  EXPECT_EQ(end(script).gpus(), 2u);
}

TEST(GpuWatch, ALongPauseIsNotTakenForWork) {
  AgentScript script;
  start(script);
  look(script, 10, {{0, {100, kGiB}}});
  look(script, 3600, {{0, {100, kGiB}}});
  const wire::GpuUse use = end(script);
  EXPECT_NEAR(static_cast<double>(use.seen_us()), 40 * kSecondUs, 0.1 * kSecondUs);
}

TEST(GpuWatch, OnlyRunsThatRunAreWatched) {
  AgentScript script;
  EXPECT_FALSE(script.agent.wants_gpu_looks());
  start(script);
  EXPECT_TRUE(script.agent.wants_gpu_looks());
  script("suspend 7.1 1");
  EXPECT_FALSE(script.agent.wants_gpu_looks());
  look(script, 10, {{0, {0, kGiB}}});
  script("resume 7.1 1");
  EXPECT_TRUE(script.agent.wants_gpu_looks());
  EXPECT_EQ(end(script).gpus(), 0u) << "nothing was seen of it while it was suspended";
  EXPECT_FALSE(script.agent.wants_gpu_looks());
}

/// A share without a script here is watched from the start of the gang, and reports when it is released.
TEST(GpuWatch, OtherNodesOfAGangReportToo) {
  AgentScript script;
  for (const char* line : {"start", "up", "registered", "prepare 7.1 nodes=n1,n0", "contained 7.1"}) script(line);
  EXPECT_FALSE(script.agent.wants_gpu_looks());
  script("go 7.1");
  look(script, 10, {{0, {30, kGiB}}});
  look(script, 10, {{0, {30, kGiB}}});
  script("stop 7.1");
  const wire::GpuUse use = done_in(script.play("released 7.1")).use().gpu();
  EXPECT_EQ(use.gpus(), 1u);
  EXPECT_GE(use.seen_us(), 10 * kSecondUs);
}

}  // namespace
}  // namespace gw::noded::testing
