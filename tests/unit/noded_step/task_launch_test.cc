// The launch of a step that does not come to its tasks: what is refused, given up or called off before any runs.
#include "noded/step/tasks/task_launch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_containment.h"
#include "model/job_state.h"
#include "test_client.h"

namespace gw::noded::step {
namespace {

struct LaunchScene {
  io::Loop loop;
  wire::StepSpec spec;
  FakeContainment contain;
  MpiSupport support;
  std::string hosts;
  Audience audience;
  TaskSet tasks;
  int changes = 0;
  TaskStreams streams{loop, audience, [] {}};
  StepMpi mpi{loop, spec, contain, support, hosts, tasks, {[] { return false; }, [](const std::string&) {}, [] {}}};
  TaskLaunch launch{loop, spec, contain, hosts, {audience, streams, tasks, mpi}, {[this] { ++changes; }, [] {}}};

  LaunchScene() {
    spec.mutable_access()->add_places();
    spec.mutable_access()->set_launch_limit_us(1000);
  }
  std::string detail() const {
    const auto exit = launch.exit(false);
    return exit ? exit->detail() : "";
  }
};

TEST(TaskLaunch, IsAwaitedForALimitedTime) {
  LaunchScene s;
  s.launch.await();
  EXPECT_TRUE(s.launch.is_awaited());
  ASSERT_TRUE(s.loop.run_until([&] { return s.launch.is_over(); }, base::seconds(20)));
  EXPECT_EQ(s.detail(), "no client said what to run");
  EXPECT_TRUE(s.launch.exit(false)->never_started());
  EXPECT_TRUE(s.launch.exit(true)) << "it failed, so there is something to tell";
  EXPECT_EQ(s.changes, 1);
}

TEST(TaskLaunch, ARefusedOrderEndsIt) {
  LaunchScene s;
  s.launch.launch(launch_of({{"true"}, {"true"}}));
  EXPECT_TRUE(s.launch.is_over() && s.launch.is_ending());
  EXPECT_NE(s.detail().find("has 2 tasks"), std::string::npos) << s.detail();
  EXPECT_EQ(s.launch.exit(false)->reason(), static_cast<uint32_t>(model::EndReason::kLaunchFailed));
}

TEST(TaskLaunch, StoppedBeforeItBeganThereIsNothingToTell) {
  LaunchScene s;
  s.launch.stop({});
  EXPECT_TRUE(s.launch.is_over());
  EXPECT_FALSE(s.launch.exit(true));
  s.launch.launch(launch_sh("exit 0"));
  EXPECT_EQ(s.tasks.size(), 0u) << "it is too late";
}

TEST(TaskLaunch, EndedByItsClientBeforeItBeganItHasNoFault) {
  LaunchScene s;
  s.launch.end("ended by its client", kEndGrace);
  EXPECT_TRUE(s.launch.is_over());
  const auto exit = s.launch.exit(false);
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->never_started());
  EXPECT_EQ(exit->detail(), "");
  EXPECT_EQ(s.contain.done, (std::vector<std::string>{})) << "there is nobody to signal";
}

TEST(TaskLaunch, FailuresKeepTheFirstReasonAndTheWorstCode) {
  LaunchScene s;
  s.launch.fail({base::ErrorCode::kInvalid, "first", ""}, 2);
  s.launch.fail({base::ErrorCode::kInvalid, "second", ""}, 127);
  s.launch.fail({base::ErrorCode::kInvalid, "third", ""}, 1);
  EXPECT_EQ(s.detail(), "first");
  EXPECT_EQ(s.launch.exit(false)->code(), 127);
}

}  // namespace
}  // namespace gw::noded::step
