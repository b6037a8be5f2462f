// Input and output of tasks that are not there: the test holds their ends.
#include "noded/step/tasks/task_streams.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "test_client.h"

namespace gw::noded::step {
namespace {

struct Ends {
  io::Loop loop;
  Audience audience;
  int done = 0;
  TaskStreams streams{loop, audience, [this] { ++done; }};

  bool wait(const std::function<bool()>& is_so) { return loop.run_until(is_so, base::seconds(20)); }
  TaskEnds open() {
    auto ends = streams.open(launch_sh(""), ::getuid());
    EXPECT_TRUE(ends && ends->size() == 1);
    return std::move(ends->front());
  }
};

std::string read_some(const proc::OwnedFd& fd) {
  char bytes[64];
  const ssize_t n = ::read(fd.get(), bytes, sizeof bytes);
  return n < 0 ? "error" : std::string(bytes, static_cast<size_t>(n));
}

TEST(TaskStreams, InputWaitsForTasksAndIsRefusedAfterThem) {
  Ends e;
  EXPECT_EQ(e.streams.on_input("early"), 0u);
  {
    const TaskEnds ends = e.open();
    e.streams.begin();
    EXPECT_EQ(e.streams.on_input("word"), 4u);
    EXPECT_EQ(read_some(ends.input), "word");
    e.streams.on_input_end();
    EXPECT_EQ(read_some(ends.input), "");
  }
  e.streams.drain();
  EXPECT_EQ(e.streams.on_input("late"), 4u) << "taken and dropped";
}

TEST(TaskStreams, AnEndOfInputThatCameBeforeTheLaunchHoldsForIt) {
  Ends e;
  e.streams.on_input_end();
  const TaskEnds ends = e.open();
  e.streams.begin();
  EXPECT_EQ(read_some(ends.input), "");
}

TEST(TaskStreams, AreDrainedWhenTheLastWriterHasGone) {
  Ends e;
  EXPECT_TRUE(e.streams.is_drained()) << "nothing was launched";
  TaskEnds ends = e.open();
  e.streams.begin();
  EXPECT_EQ(e.streams.open_outputs(), (std::vector{wire::output_channel(0), wire::error_channel(0)}));
  EXPECT_EQ(::write(ends.output.get(), "abc", 3), 3);
  ends.output.reset();
  ASSERT_TRUE(e.wait([&] { return e.done == 1; }));
  EXPECT_EQ(e.streams.open_outputs(), (std::vector{wire::error_channel(0)}));
  EXPECT_EQ(::write(ends.error.get(), "abcd", 4), 4);
  e.streams.drain();
  EXPECT_EQ(e.streams.untaken(), 4u);
  EXPECT_FALSE(e.streams.is_drained());
  ends.error.reset();
  ASSERT_TRUE(e.wait([&] { return e.streams.is_drained(); }));
  EXPECT_EQ(e.streams.untaken(), 0u);
}

TEST(TaskStreams, AProcessLeftBehindHoldsAnOutputForATimeOnly) {
  Ends e;
  const TaskEnds ends = e.open();
  e.streams.begin();
  e.streams.drain();
  EXPECT_FALSE(e.streams.is_drained());
  EXPECT_TRUE(e.wait([&] { return e.streams.is_drained(); }));
}

TEST(TaskStreams, WithoutALaunchThereIsNothingToDrain) {
  Ends e;
  e.streams.drain();
  EXPECT_TRUE(e.streams.is_drained());
  EXPECT_EQ(e.streams.terminal(), -1);
  EXPECT_EQ(e.streams.on_input("late"), 4u);
}

TEST(TaskStreams, TheTerminalGoesWithTheTasks) {
  Ends e;
  wire::LaunchTasks launch = launch_sh("");
  launch.set_pty(true);
  launch.set_rows(24);
  launch.set_columns(80);
  auto ends = e.streams.open(launch, ::getuid());
  ASSERT_TRUE(ends);
  EXPECT_TRUE(ends->front().terminal);
  EXPECT_GE(e.streams.terminal(), 0);
  e.streams.drain();
  EXPECT_EQ(e.streams.terminal(), -1);
}

}  // namespace
}  // namespace gw::noded::step
