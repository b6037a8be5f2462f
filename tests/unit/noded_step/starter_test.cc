// Many tasks of one node: that they start together or not at all, and that none is lost however short it lives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "sanitized.h"
#include "scene.h"

namespace gw::noded::step {
namespace {

using ::testing::AnyOf;

using Phase = stream::StepState::Phase;

constexpr uint32_t kMany = kIsSanitized ? 12 : 60;

wire::LaunchTasks many(const std::string& script) {
  return launch_of(std::vector<std::vector<std::string>>(kMany, {"/bin/sh", "-c", script}));
}

TEST(Starter, TasksThatEndAtOnceAreNotLost) {
  Scene s(kMany);
  TestClient& client = s.run(many("echo $SLURM_PROCID; exit $SLURM_PROCID"));
  EXPECT_TRUE(client.wait_over());
  for (uint32_t rank = 0; rank < kMany; ++rank) {
    EXPECT_EQ(client.ended(rank), (stream::TaskEnded{rank, static_cast<uint8_t>(rank), 0}));
    EXPECT_EQ(client.out(rank), std::to_string(rank) + "\n");
  }
  EXPECT_EQ(s.leave().code(), kMany - 1);
}

TEST(Starter, EachTaskIsAChildOfTheShepherdInASessionOfItsOwn) {
  Scene s(kMany);
  // Under sanitizers only when the starter has gone: see spawn_sibling().
  const std::string wait =
      "until [ $(cut -d' ' -f4 /proc/$$/stat) = " + std::to_string(s.node.shepherd()) + " ]; do sleep 0.3; done; ";
  TestClient& client = s.run(many(wait + "cut -d' ' -f6 /proc/$$/stat; echo $SLURM_TASK_PID; echo $$"));
  EXPECT_TRUE(client.wait_over());
  for (uint32_t place = 0; place < kMany; ++place) {
    const std::string out = client.out(place);
    const std::string pid = out.substr(0, out.find('\n') + 1);
    EXPECT_EQ(out, pid + pid + pid);
  }
  s.leave();
}

TEST(Starter, NoTaskRunsWhereOneOfTheNodeCannot) {
  Scene s(kMany);
  wire::LaunchTasks launch = many("echo ran > " + s.node.dir() + "/ran");
  wire::TaskStream& output = *launch.mutable_tasks(kMany - 1)->mutable_output();
  output.set_kind(wire::TaskStream::kFile);
  output.set_path("/proc/no/such/file");
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_TRUE(client.state(Phase::kEnding)
                  ->starts_with("task " + std::to_string(kMany - 1) + ": output path /proc/no/such/file: "))
      << *client.state(Phase::kEnding);
  EXPECT_EQ(s.node.file("ran"), "<missing>");
  EXPECT_TRUE(s.leave().never_started());
}

struct Missing {
  const char* program;
  const char* text;
  int code;
};

TEST(Starter, NoTaskRunsWhereAProgramIsMissing) {
  const Missing kMissing[] = {{"no-such-program", "no-such-program: No such file or directory", 127},
                              {"./script", "./script: interpreter /no/such/shell: No such file or directory", 126}};
  for (const Missing& missing : kMissing) {
    SCOPED_TRACE(missing.program);
    Scene s(2);
    std::ofstream(s.node.dir() + "/script") << "#!/no/such/shell\n";
    ASSERT_EQ(::chmod((s.node.dir() + "/script").c_str(), 0755), 0);
    wire::LaunchTasks launch = launch_of({{"/usr/bin/touch", s.node.dir() + "/ran"}, {missing.program}});
    launch.set_work_dir(s.node.dir());
    TestClient& client = s.run(launch);
    EXPECT_TRUE(client.wait_over());
    EXPECT_EQ(client.state(Phase::kEnding), std::string("task 1: ") + missing.text);
    EXPECT_EQ(client.ended(1)->exit_code, missing.code);
    EXPECT_EQ(s.node.file("ran"), "<missing>");
    EXPECT_TRUE(s.leave().never_started());
  }
}

// What one task needs before its program runs must not be taken from what the next ones may have.
TEST(Starter, LimitsOfMemoryHoldForTheProgramsAlone) {
  Scene s(kMany);
  wire::LaunchTasks launch = many("exit 3");
  constexpr uint64_t kEnough = 16 << 20;
  (*launch.mutable_limits())["AS"] = kEnough;
  for (int i = 0; i < 3000; ++i) launch.add_env("VARIABLE_" + std::to_string(i) + "=some value");
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  for (uint32_t rank = 0; rank < kMany; ++rank) EXPECT_EQ(client.ended(rank), (stream::TaskEnded{rank, 3, 0})) << rank;
  s.leave();
}

TEST(Starter, WhatIsKeptEndsIfItsClientGoesBeforeItMayRun) {
  Scene s(2);
  wire::LaunchTasks launch = many("echo ran > " + s.node.dir() + "/ran");
  launch.mutable_tasks()->DeleteSubrange(2, launch.tasks_size() - 2);
  launch.set_go(false);
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_state(Phase::kStarting));
  client.go_away();
  EXPECT_TRUE(s.leave().never_started());
  EXPECT_EQ(s.node.file("ran"), "<missing>");
}

/// The starter of that shepherd's step; 0 if there is none.
pid_t starter_of(pid_t shepherd) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "status");
    bool is_starter = false;
    for (std::string line; std::getline(file, line);) {
      is_starter |= line == "Name:\tgstepd-starter";
      if (is_starter && line == "PPid:\t" + std::to_string(shepherd)) return std::stoi(entry.path().filename());
    }
  }
  return 0;
}

// It has the user's id, so that he can.
TEST(Starter, MayBeKilled) {
  Scene s(2);
  wire::LaunchTasks launch = launch_of({{"true"}, {"true"}});
  launch.set_go(false);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_state(Phase::kStarting));
  const pid_t starter = starter_of(s.node.shepherd());
  ASSERT_GT(starter, 0);
  ::kill(starter, SIGKILL);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.state(Phase::kEnding), "task 0 died before its program started");
  EXPECT_TRUE(s.leave().never_started());
}

// Whether it has started none, some or all of them: nobody is left behind.
TEST(Starter, MayBeCalledOffAtAnyTime) {
  for (const int started : {0, 1, static_cast<int>(kMany / 3)}) {
    SCOPED_TRACE(started);
    Scene s(kMany);
    TestClient& client = s.run(many("trap '' TERM; while :; do sleep 100; done"));
    const auto is_started = [](const stream::Control& c) { return std::holds_alternative<stream::TaskStarted>(c); };
    EXPECT_TRUE(client.wait(
        [&] { return std::count_if(client.controls.begin(), client.controls.end(), is_started) >= started; }));
    wire::StepOrder order;
    order.mutable_end()->set_grace_us(0);
    client.order(order);
    EXPECT_TRUE(client.wait_over());
    // SIGTERM comes first: one whose shell has not got as far as to ignore it ends by that.
    for (uint32_t rank = 0; rank < kMany; ++rank)
      EXPECT_THAT(client.ended(rank), AnyOf(stream::TaskEnded{rank, 0, SIGKILL}, stream::TaskEnded{rank, 0, SIGTERM}))
          << rank;
    s.leave();
  }
}

}  // namespace
}  // namespace gw::noded::step
