// What runs around a task, in which order, and what the output of a prolog means.
#include "noded/step/start/task_programs.h"

#include <gtest/gtest.h>

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
            (Words{"/proc/self/exe", "--begin-task", "9", "2", "/a", "b c", "s", "/s/script", "-x"}));
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

TEST(TaskPrograms, OnlyGstepdCallsThem) {
  char two[] = "2", path[] = "/a", word[] = "x", zero[] = "0";
  char* too_few[] = {two, two, path, nullptr};
  EXPECT_EQ(begin_task(3, too_few), 125);
  EXPECT_EQ(end_task(3, too_few), 125);
  char* none[] = {two, zero, nullptr};
  EXPECT_EQ(end_task(2, none), 125);
  char* no_number[] = {word, two, path, path, nullptr};
  EXPECT_EQ(begin_task(4, no_number), 125);
  EXPECT_EQ(begin_task(0, none), 125);
}

}  // namespace
}  // namespace gw::noded::step
