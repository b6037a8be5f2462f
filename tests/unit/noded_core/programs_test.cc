// Prolog and epilog of the node: when they run, what they are told, and what becomes of the run when they fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "noded/core/job_env.h"
#include "tests/unit/noded_core/agent_script.h"

namespace gw::noded::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Lines = std::vector<std::pair<std::string, std::string>>;

AgentConfig with_programs(const std::string& prolog = "/prolog", const std::string& epilog = "/epilog") {
  AgentConfig config = AgentScript::config();
  config.node.prolog = prolog;
  config.node.epilog = epilog;
  return config;
}

struct ProgramCase {
  std::string name;
  AgentConfig config;
  Lines lines;
};

const std::vector<ProgramCase> kProgramCases = {
    {"around_a_script",
     with_programs(),
     {{"prepare 7.1 go", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"epilog 7.1", ""},  // that is not what runs
      {"prolog 7.1", "launch 7.1"},
      {"prolog 7.1", ""},
      {"connected 7.1", ""},
      {"ready 7.1", ""},
      {"started 7.1", "> started 7.1"},
      {"exit 7.1 3", "> exited 7.1 3:0; 7.1 < stop 30"},
      {"ack-exit 7.1", ""},
      {"stop 7.1", "7.1 < stop 5"},
      {"clean 7.1", "epilog 7.1"},
      {"stop 7.1", ""},
      {"clean 7.1", ""},
      {"epilog 7.1", "persist 7.1; > done 7.1"},
      {"ack-done 7.1", "7.1 < forget; forget 7.1"}}},
    {"around_a_share",
     with_programs(),
     {{"prepare 7.1 nodes=n1,n0", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"go 7.1", ""},
      {"prolog 7.1", "contain 7.1"},
      {"contained 7.1", "persist 7.1"},
      {"stop 7.1", "release 7.1"},
      {"released 7.1", "epilog 7.1"},
      {"epilog 7.1", "persist 7.1; > done 7.1"}}},
    {"no_epilog",
     with_programs("/prolog", ""),
     {{"prepare 7.1 nodes=n1,n0", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"prolog 7.1", "contain 7.1"},
      {"contained 7.1", "> prepared 7.1"},
      {"stop 7.1", "release 7.1"},
      {"released 7.1", "> done 7.1"}}},
    {"no_prolog",
     with_programs("", "/epilog"),
     {{"prepare 7.1 nodes=n1,n0", "lookup 7.1"},
      {"user 7.1", "contain 7.1"},
      {"contained 7.1", "> prepared 7.1"},
      {"stop 7.1", "release 7.1"},
      {"released 7.1", "epilog 7.1"},
      {"epilog 7.1", "persist 7.1; > done 7.1"}}},
    {"the_prolog_fails",
     with_programs(),
     {{"prepare 7.1 go", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"prolog 7.1 fails", "keep unfit 7; > unfit 7.1 (prolog failed: exit code 3); epilog 7.1"},
      {"prepare 7.1 go", ""},
      {"epilog 7.1", "persist 7.1; > failed 7.1 (prolog failed: exit code 3) node; forget 7.1"},
      {"prepare 7.1 go", "> failed 7.1 (prolog failed: exit code 3) node"},
      {"prepare 7.2 go", "lookup 7.2"}}},
    {"the_epilog_fails",
     with_programs(),
     {{"prepare 7.1 nodes=n1,n0", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"prolog 7.1", "contain 7.1"},
      {"contained 7.1", "> prepared 7.1"},
      {"stop 7.1", "release 7.1"},
      {"released 7.1", "epilog 7.1"},
      {"epilog 7.1 fails", "keep unfit 7; > unfit 7.1 (epilog failed: exit code 3); persist 7.1; > done 7.1"}}},
    {"what_failed_is_told_until_it_was_heard",
     with_programs(),
     {{"prepare 7.1 go", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"prepare 8.1 go", "lookup 8.1"},
      {"user 8.1", "prolog 8.1 first"},
      {"down", ""},
      {"prolog 7.1 fails", "keep unfit 7; epilog 7.1"},
      {"prolog 8.1 fails", "keep unfit 7 8; epilog 8.1"},
      {"wait 30", "connect"},
      {"up", "> register 7.1=3 8.1=3"},
      {"registered 7.1 8.1", "> unfit 7.1 (prolog failed: exit code 3); > unfit 8.1 (prolog failed: exit code 3)"},
      {"unfit-heard 7.1 epilog", ""},
      {"unfit-heard 7.1", "keep unfit 8"},
      {"unfit-heard 7.1", ""},
      {"unfit-heard 8.1", "keep unfit"}}},
    {"the_record_of_the_prolog_cannot_be_written",
     with_programs(),
     {{"prepare 7.1 go", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"launch-failed 7.1", "> failed 7.1 (no launcher) node; forget 7.1"}}},
    {"the_next_attempt_waits_however_long_the_epilog_takes",
     with_programs(),
     {{"prepare 7.1 nodes=n1,n0", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"prepare 7.2 nodes=n1,n0", ""},
      {"wait 35", "> beat"},
      {"prolog 7.1", "epilog 7.1"},
      {"wait 35", "disconnect"},
      {"epilog 7.1", "persist 7.1; lookup 7.2"}}},
    {"stopped_in_the_prolog",
     with_programs(),
     {{"prepare 7.1 go", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"kill 7.1", ""},
      {"kill 7.1", ""},
      {"prolog 7.1", "epilog 7.1"},
      {"epilog 7.1", "persist 7.1; > done 7.1"}}},
    {"stopped_in_a_prolog_that_fails",
     with_programs(),
     {{"prepare 7.1 go", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"stop 7.1", ""},
      {"prolog 7.1 fails", "keep unfit 7; > unfit 7.1 (prolog failed: exit code 3); epilog 7.1"},
      {"epilog 7.1", "persist 7.1; > done 7.1"}}},
    {"the_next_attempt_waits_for_the_epilog",
     with_programs(),
     {{"prepare 7.1 nodes=n1,n0", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"prolog 7.1", "contain 7.1"},
      {"contained 7.1", "> prepared 7.1"},
      {"prepare 7.2 nodes=n1,n0", "release 7.1"},
      {"released 7.1", "epilog 7.1"},
      {"epilog 7.1", "persist 7.1; > done 7.1; lookup 7.2"}}},
    {"nobody_of_that_name",
     with_programs(),
     {{"prepare 7.1 nodes=n1,n0", "lookup 7.1"}, {"nouser 7.1", "> failed 7.1 (no user 1000 on n0); forget 7.1"}}},
    {"not_of_steps",
     with_programs(),
     {{"prepare 7.1 nodes=n1,n0", "lookup 7.1"},
      {"user 7.1", "prolog 7.1 first"},
      {"prolog 7.1", "contain 7.1"},
      {"contained 7.1", "> prepared 7.1"},
      {"go 7.1", "persist 7.1"},
      {"step 7.1.s0", "lookup 7.1.s0"},
      {"user 7.1.s0", "launch 7.1.s0"},
      {"connected 7.1.s0", ""},
      {"stop 7.1", "7.1.s0 < stop 5"},
      {"clean 7.1.s0", "> done 7.1.s0; release 7.1"},
      {"released 7.1", "epilog 7.1"}}}};

class NodePrograms : public ::testing::TestWithParam<ProgramCase> {};

TEST_P(NodePrograms, RunWhenTheyAreDue) {
  AgentScript script(GetParam().config);
  for (const char* line : {"start", "up", "registered"}) static_cast<void>(script(line));
  for (const auto& [event, effects] : GetParam().lines) ASSERT_EQ(script(event), effects) << "after: " << event;
}

INSTANTIATE_TEST_SUITE_P(All, NodePrograms, ::testing::ValuesIn(kProgramCases),
                         [](const auto& i) { return i.param.name; });

/// The record as it is on disk when a program begins.
wire::RunRecord record_of(const Effects& effects) {
  for (const Effect& effect : effects)
    if (const auto* program = std::get_if<RunProgram>(&effect)) return program->record;
  ADD_FAILURE() << "no program runs";
  return {};
}

TEST(NodeProgramsAfterARestart, AProgramThatEndedWithItsDaemonIsFollowedByTheEpilog) {
  AgentScript before(with_programs());
  for (const char* line : {"start", "up", "registered", "prepare 7.1 go"}) static_cast<void>(before(line));
  RecoveredRun found;
  found.record = record_of(before.play("user 7.1"));

  AgentScript after(with_programs());
  EXPECT_EQ(describe(after.agent.on_recovered(after.now, {found})), "epilog 7.1; connect");
  EXPECT_EQ(after("up"), "> register 7.1=3");
  EXPECT_EQ(after("epilog 7.1"), "persist 7.1; forget 7.1");
  const Effects told = after.play("registered 7.1");
  EXPECT_EQ(describe(told), "> failed 7.1 (the node daemon ended while the prolog ran) node");
  for (const Effect& effect : told)
    if (const auto* sent = std::get_if<SendToController>(&effect))
      EXPECT_EQ(sent->message.prepare_failed().reason(), static_cast<uint32_t>(model::EndReason::kNodeDown))
          << "for which nobody is blamed";
}

TEST(NodeProgramsAfterARestart, AnEpilogIsRunAgainFromItsBeginning) {
  AgentScript before(with_programs());
  for (const char* line :
       {"start", "up", "registered", "prepare 7.1 nodes=n1,n0", "user 7.1", "prolog 7.1", "contained 7.1", "stop 7.1"})
    static_cast<void>(before(line));
  RecoveredRun found;
  found.record = record_of(before.play("released 7.1"));
  EXPECT_FALSE(found.record.in_prolog());

  AgentScript after(with_programs());
  EXPECT_EQ(describe(after.agent.on_recovered(after.now, {found})), "epilog 7.1; connect")
      << "its share was released: it is not prepared any more";
  EXPECT_EQ(after("up"), "> register 7.1=3");
  EXPECT_EQ(after("registered 7.1"), "");
  EXPECT_EQ(after("epilog 7.1"), "persist 7.1; > done 7.1");
}

TEST(NodeProgramsAfterARestart, TheFailureBeforeAnEpilogIsToldAfterIt) {
  AgentScript before(with_programs());
  for (const char* line : {"start", "up", "registered", "prepare 7.1 go", "user 7.1"}) static_cast<void>(before(line));
  RecoveredRun found;
  found.record = record_of(before.play("prolog 7.1 fails"));

  AgentConfig config = with_programs();
  wire::Unfit& unfit = *config.unfit.add_all();
  unfit.set_job(7);
  unfit.set_attempt(1);
  unfit.set_why("prolog failed: exit code 3");
  AgentScript after(config);
  EXPECT_EQ(describe(after.agent.on_recovered(after.now, {found})), "epilog 7.1; connect");
  static_cast<void>(after("up"));
  EXPECT_EQ(after("registered 7.1"), "> unfit 7.1 (prolog failed: exit code 3)");
  EXPECT_EQ(after("epilog 7.1"), "persist 7.1; > failed 7.1 (prolog failed: exit code 3) node; forget 7.1");
}

TEST(NodeProgramsAfterARestart, TheEpilogOfAnEarlierBootComesBeforeNewJobs) {
  AgentScript before(with_programs());
  for (const char* line : {"start", "up", "registered", "prepare 7.1 go"}) static_cast<void>(before(line));
  RecoveredRun found;
  found.record = record_of(before.play("user 7.1"));
  AgentConfig config = with_programs();
  config.boot_id = "boot-2";
  AgentScript after(config);
  EXPECT_EQ(describe(after.agent.on_recovered(after.now, {found})), "epilog 7.1");
  EXPECT_EQ(after("epilog 7.1"), "persist 7.1; forget 7.1; connect");
}

TEST(NodeProgramsEnvironment, SaysWhoseJobItIsAndNothingThatHeChose) {
  const NodeFacts node = with_programs().node;
  wire::Prepare order;
  order.set_job(7);
  order.set_cluster("c");
  order.set_partition("main");
  order.set_environment(std::string("SECRET=1\0LD_PRELOAD=/home/ann/x.so\0", 35));
  order.mutable_spec()->set_uid(1000);
  order.mutable_spec()->set_name(std::string(200'000, 'x'));
  order.mutable_spec()->mutable_launch()->set_work_dir("/home/ann/w");
  *order.mutable_gang() = test_gang({"n1", "n0"});
  *order.mutable_share() = test_share("n0");
  const auto lines = program_environment(node, order, {"ann", 1000, 100, {100}, "/home/ann", "/bin/sh"}, {});
  for (const char* line :
       {"SLURM_JOB_ID=7", "SLURM_JOB_USER=ann", "SLURM_JOB_UID=1000", "SLURM_JOB_PARTITION=main",
        "SLURM_CLUSTER_NAME=c", "SLURMD_NODENAME=n0", "SLURM_JOB_NODELIST=n[1,0]", "SLURM_JOB_WORK_DIR=/home/ann/w",
        "SLURM_JOB_GPUS=0,1", "CUDA_VISIBLE_DEVICES=0,1", "SLURM_NODEID=1", "GANGWAY_JOB_ID=7"})
    EXPECT_THAT(lines, Contains(line));
  for (const char* name : {"SECRET=", "LD_PRELOAD=", "HOME=", "SLURM_PROCID=", "SLURM_JOB_NAME="})
    EXPECT_THAT(lines, Not(Contains(StartsWith(name))));
}

}  // namespace
}  // namespace gw::noded::testing
