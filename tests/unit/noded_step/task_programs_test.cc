// What runs around a task, in which order, and what the output of a prolog means.
#include "noded/step/start/task_programs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gw::noded::step {
namespace {

using Words = std::vector<std::string>;

TEST(TaskPrograms, TheNodesOwnIsOutermost) {
  wire::StepSpec spec;
  wire::LaunchTasks launch;
  EXPECT_TRUE(programs_of(spec, launch).prologs.empty());
  EXPECT_TRUE(programs_of(spec, launch).epilogs.empty());
  spec.set_task_prolog("/node/prolog");
  spec.set_task_epilog("/node/epilog");
  spec.set_task_program_limit_us(7'000'000);
  launch.set_task_prolog("own-prolog");
  launch.set_task_epilog("own-epilog");
  const TaskPrograms programs = programs_of(spec, launch);
  EXPECT_EQ(programs.prologs, (Words{"/node/prolog", "own-prolog"}));
  EXPECT_EQ(programs.epilogs, (Words{"own-epilog", "/node/epilog"}));
  EXPECT_EQ(programs.limit, base::seconds(7));
}

TEST(TaskPrograms, ATaskWithoutPrologIsWhatItIs) {
  EXPECT_EQ(behind_prologs({}, TaskForm::kProgram, {"sleep", "1"}), (Words{"sleep", "1"}));
  const TaskPrograms two{{"/a", "b c"}, {}, base::seconds(9)};
  EXPECT_EQ(behind_prologs(two, TaskForm::kScript, {"/s/script", "-x"}),
            (Words{"/proc/self/exe", "--begin-task", "9", "2", "/a", "b c", "s0", "/s/script", "-x"}));
  const TaskPrograms login{{}, {}, base::seconds(9), base::seconds(30)};
  EXPECT_EQ(behind_prologs(login, TaskForm::kScript, {"/s/script"}),
            (Words{"/proc/self/exe", "--begin-task", "9", "0", "s30", "/s/script"}));
}

struct Said {
  const char* text;
  Words environment;
  const char* shown;
};

class PrologOutput : public ::testing::TestWithParam<Said> {};

TEST_P(PrologOutput, ChangesTheTask) {
  Environment environment;
  environment.set("HOME=/home/a");
  environment.set("OLD=1");
  EXPECT_EQ(take_prolog_output(GetParam().text, environment), GetParam().shown);
  EXPECT_EQ(environment.lines(), GetParam().environment);
}

const Said kSaid[] = {
    {"", {"HOME=/home/a", "OLD=1"}, ""},
    {"export NEW=2\n", {"HOME=/home/a", "NEW=2", "OLD=1"}, ""},
    {"export NEW=2", {"HOME=/home/a", "NEW=2", "OLD=1"}, ""},
    {"export  NEW =a = b \n", {"HOME=/home/a", "NEW=a = b ", "OLD=1"}, ""},
    {"export OLD=\nexport NONE\nexport =x\n", {"HOME=/home/a", "OLD="}, ""},
    {"unset OLD\nunset ABSENT\n", {"HOME=/home/a"}, ""},
    {"print  a line\nprint \nsaid\n export A=1\n", {"HOME=/home/a", "OLD=1"}, " a line\n\n"},
    {"exported A=1\nunsettled\nprinting\n", {"HOME=/home/a", "OLD=1"}, ""},
};
INSTANTIATE_TEST_SUITE_P(All, PrologOutput, ::testing::ValuesIn(kSaid));

TEST(TaskPrograms, OnlyScriptsHaveTheVariablesOfALogin) {
  wire::StepSpec spec;
  spec.set_login_seconds(30);
  EXPECT_EQ(programs_of(spec).login, base::Duration{});
  spec.set_script("#!/bin/sh\n");
  EXPECT_EQ(programs_of(spec).login, base::seconds(30));
}

std::string login_text(const Words& lines) {
  std::string text = std::string(1, '\0') + kLoginMark + std::string(1, '\0');
  for (const std::string& line : lines) text += line + '\0';
  return text;
}

TEST(LoginOutput, StandsBelowWhatIsThere) {
  Environment environment;
  environment.set("A=mine");
  environment.set("GANGWAY_COMMAND_PATH=/gw/bin");
  const std::string text = "A=banner\n" + login_text({"A=login", "B=x=\ny", "PATH=/site:/bin", "_=/usr/bin/env",
                                                      "SHLVL=1", "SLURM_TASK_PID=000000000000", "none"});
  ASSERT_TRUE(take_login_output(text, environment));
  EXPECT_EQ(environment.lines(),
            (Words{"A=mine", "B=x=\ny", "GANGWAY_COMMAND_PATH=/gw/bin", "PATH=/gw/bin:/site:/bin"}));
  ASSERT_TRUE(take_login_output(login_text({"PATH=/other", "C=1"}), environment));
  EXPECT_EQ(environment.get("PATH"), "/gw/bin:/site:/bin");
  EXPECT_EQ(environment.get("C"), "1");
  EXPECT_FALSE(take_login_output("This account is currently not available.\n", environment));
}

TEST(LoginOutput, FindsTheCommandsOnce) {
  Environment environment;
  environment.set("GANGWAY_COMMAND_PATH=/gw/slurm:/gw/bin");
  ASSERT_TRUE(take_login_output(login_text({"PATH=/bin:/gw/slurm:/gw/bin"}), environment));
  EXPECT_EQ(environment.get("PATH"), "/bin:/gw/slurm:/gw/bin");
}

TEST(TaskPrograms, OnlyGstepdCallsThem) {
  char two[] = "2", path[] = "/a", word[] = "x", zero[] = "0";
  char* too_few[] = {two, two, path, nullptr};
  EXPECT_EQ(begin_task(3, too_few), 125);
  EXPECT_EQ(end_task(3, too_few), 125);
  char* none[] = {two, zero, nullptr};
  char* no_number[] = {word, two, path, path, nullptr};
  EXPECT_EQ(begin_task(4, no_number), 125);
  EXPECT_EQ(begin_task(0, none), 125);
}

}  // namespace
}  // namespace gw::noded::step
