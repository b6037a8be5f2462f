// What an administrator's program is given, what is heard of it, and when it is killed.
#include "program/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace gw::program {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ProgramResult shell(const std::string& script, base::Duration limit = base::seconds(60),
                    const std::string& input = {}) {
  return run_program({"/bin/sh", {"-c", script, "name", "-x", "a b"}, limit, {"SLURM_JOB_ID=7"}, input});
}

TEST(RunProgram, HasItsArgumentsItsInputAndNoOtherEnvironment) {
  const ProgramResult result =
      shell("echo \"$1|$2|$(cat)\"; env | grep -c =; echo $SLURM_JOB_ID; exit 3", base::seconds(60), "the text");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.text, StartsWith("-x|a b|the text\n"));
  EXPECT_THAT(result.text, HasSubstr("\n7\n"));
  EXPECT_EQ(shell("env | grep -v -e ^PATH= -e ^SLURM_JOB_ID= -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD=").text, "");
}

TEST(RunProgram, InputAndOutputAreCut) {
  EXPECT_EQ(shell("wc -c", base::seconds(60), std::string(2 << 20, 'x')).text,
            std::to_string(kMostProgramInput) + "\n");
  const ProgramResult result = shell("yes | head -c 1000000; exit 0");
  EXPECT_EQ(result.exit_code, 0) << "it may say more than is kept";
  EXPECT_LE(result.text.size(), 6'000u);
  EXPECT_EQ(shell("exit 0", base::seconds(60), "nobody reads this").exit_code, 0);
}

TEST(RunProgram, IsKilledAtItsLimit) {
  for (const char* script : {"sleep 100", "exec >&- 2>&-; sleep 100", "trap '' TERM; while :; do sleep 1; done"}) {
    const ProgramResult result = shell(script, base::milliseconds(200));
    EXPECT_EQ(result.exit_code, 128 + SIGKILL) << script;
    EXPECT_THAT(result.text, HasSubstr("killed: it took longer than")) << script;
  }
}

TEST(RunProgram, WhatItLeavesBehindIsNotAwaited) {
  const ProgramResult result = shell("sleep 100 & echo $!", base::seconds(60));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(::kill(std::stoi(result.text), SIGKILL), 0) << "it goes on";
}

TEST(RunProgram, SignalsAreAsTheSystemHasThem) {
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(shell("kill -PIPE $$; exit 0").exit_code, 128 + SIGPIPE);
  ::signal(SIGPIPE, SIG_DFL);
}

TEST(RunProgram, OneThatIsNotThereIsNamed) {
  const ProgramResult result = run_program({"/no/such/program", {}});
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.text, "/no/such/program: No such file or directory");
}

}  // namespace
}  // namespace gw::program
