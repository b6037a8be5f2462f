// The command line of a job's prolog or epilog, also where the controller asks for what none would.
#include "ctld/gscriptd/job_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/job.h"

namespace gw::ctld {
namespace {

using model::JobProgram;
using testing::ElementsAre;

config::Config with_programs() {
  config::Config config;
  config.job_prolog = "/site/prolog";
  config.job_epilog = "/site/epilog";
  config.job_program_limit = base::seconds(7);
  config.program_limit = base::seconds(9);
  return config;
}

wire::ScriptJob a_run(JobProgram program, const std::string& name = "JOB_ID", const std::string& value = "7") {
  wire::ScriptJob job;
  job.set_program(static_cast<uint32_t>(program));
  job.add_variables()->set_name(name);
  job.mutable_variables(0)->set_value(value);
  return job;
}

TEST(JobCall, IsWhatTheConfigurationSaysWithTheVariablesUnderBothNames) {
  const auto prolog = job_call(a_run(JobProgram::kProlog), with_programs());
  ASSERT_TRUE(prolog);
  EXPECT_EQ(prolog->program, "/site/prolog");
  EXPECT_EQ(prolog->limit, base::seconds(7));
  EXPECT_TRUE(prolog->keeps_end);
  EXPECT_THAT(prolog->variables, ElementsAre("SLURM_JOB_ID=7", "GANGWAY_JOB_ID=7"));
  EXPECT_EQ(job_call(a_run(JobProgram::kEpilog), with_programs())->program, "/site/epilog");
}

TEST(JobCall, WhereNoneIsConfiguredNoneHasRun) {
  config::Config config = with_programs();
  config.job_epilog = "";
  const auto call = job_call(a_run(JobProgram::kEpilog), config);
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().what, "controller.epilog of the configuration names no program");
}

TEST(JobCall, WhatNoControllerWouldSayIsRefused) {
  const config::Config config = with_programs();
  EXPECT_FALSE(job_call(a_run(JobProgram::kNone), config));
  EXPECT_FALSE(job_call(a_run(static_cast<JobProgram>(9)), config));
  for (const char* name : {"", "a", "JOB=ID", "LD PRELOAD"})
    EXPECT_FALSE(job_call(a_run(JobProgram::kProlog, name), config)) << name;
  EXPECT_FALSE(job_call(a_run(JobProgram::kProlog, "JOB_NAME", std::string((64 << 10) + 1, 'x')), config));
  EXPECT_FALSE(job_call(a_run(JobProgram::kProlog, "JOB_NAME", std::string("a\0b", 3)), config));
  EXPECT_TRUE(job_call(a_run(JobProgram::kProlog, "JOB_NAME", "a\n=b"), config)) << "as its user wrote it";
}

}  // namespace
}  // namespace gw::ctld
