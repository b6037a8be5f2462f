// Prologs and epilogs on their way to gscriptd: what waits for what, and what is said when no answer comes.
#include "ctld/shell/scripts/job_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/ctld_shell/fake_gscriptd.h"

namespace gw::ctld {
namespace {

using model::JobProgram;

class JobProgramsTest : public testing::Test {
 protected:
  ~JobProgramsTest() override { std::filesystem::remove_all(folder); }

  static config::Config config_of(const std::string& folder) {
    std::filesystem::create_directories(folder);
    config::Config config;
    config.run_dir = folder;
    config.job_prolog = config.job_epilog = "/site/program";
    return config;
  }
  void run(uint32_t uid, JobProgram program) {
    programs.run({uid, base::JobId(7), 1, program, {{"JOB_ID", "7"}}}, [this](ProgramEnd end) { ends.push_back(end); });
  }
  void wait_for(size_t asked) {
    ASSERT_TRUE(loop.run_until([&] { return first.got.size() >= asked; }, base::seconds(20))) << first.got.size();
  }
  void wait_for_ends(size_t count) {
    ASSERT_TRUE(loop.run_until([&] { return ends.size() >= count; }, base::seconds(20))) << ends.size();
  }

  std::string folder = testing::TempDir() + "programs." + std::to_string(::getpid());
  config::Config config = config_of(folder);
  io::Loop loop;
  FakeGscriptd first{loop, config::script_socket(config)};
  JobPrograms programs{loop, config};
  std::vector<ProgramEnd> ends;
};

TEST_F(JobProgramsTest, WhatItSaysIsTold) {
  run(1, JobProgram::kProlog);
  wait_for(1);
  EXPECT_EQ(first.got[0].job().program(), 1u);
  EXPECT_EQ(first.got[0].job().variables(0).name(), "JOB_ID");
  wire::FromScripts result;
  result.set_exit_code(3);
  result.set_output("no room");
  first.answer(first.got[0], result);
  wait_for_ends(1);
  EXPECT_EQ(ends[0].run, ProgramRun::kRan);
  EXPECT_EQ(ends[0].exit_code, 3);
  EXPECT_EQ(ends[0].text, "no room");
  run(1, JobProgram::kProlog);
  wait_for(2);
  result.set_exit_code(-1);
  first.answer(first.got[1], result);
  wait_for_ends(2);
  EXPECT_EQ(ends[1].run, ProgramRun::kNotStarted);
  run(1, JobProgram::kProlog);
  wait_for(3);
  result.set_not_taken(true);
  first.answer(first.got[2], result);
  wait_for_ends(3);
  EXPECT_EQ(ends[2].run, ProgramRun::kNotTaken);
}

TEST_F(JobProgramsTest, OneUserLeavesRoomForOthersAndWhatWaitsIsBounded) {
  for (size_t i = 0; i < JobPrograms::kMostOfUser + JobPrograms::kMostUnderWayOfUser + 5; ++i)
    run(1, JobProgram::kEpilog);
  run(2, JobProgram::kEpilog);
  wait_for(JobPrograms::kMostUnderWayOfUser + 1);
  loop.run_until([] { return false; }, base::milliseconds(50));
  EXPECT_EQ(first.got.size(), JobPrograms::kMostUnderWayOfUser + 1);
  ASSERT_FALSE(ends.empty()) << "those beyond the bound are answered at once";
  for (const ProgramEnd& end : ends) EXPECT_EQ(end.run, ProgramRun::kNotTaken);
}

TEST_F(JobProgramsTest, WhatIsOnItsWayWhenGscriptdEndsIsRepeated) {
  run(1, JobProgram::kEpilog);
  wait_for(1);
  first.leave();
  wait_for(2);
  EXPECT_TRUE(ends.empty());
  first.answer(first.got[1]);
  wait_for_ends(1);
  EXPECT_EQ(ends[0].run, ProgramRun::kRan);
}

}  // namespace
}  // namespace gw::ctld
