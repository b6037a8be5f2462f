// Steps beside the run of their job, events on the left, effects on the right.
#include <gtest/gtest.h>

#include "tests/unit/noded_core/agent_script.h"

namespace gw::noded::testing {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

const Lines kLinked = {{"start", "connect"}, {"up", "> register"}, {"registered", ""}};
const Lines kScript = {{"prepare 7.1 go", "lookup 7.1"},
                       {"user 7.1", "launch 7.1"},
                       {"connected 7.1", ""},
                       {"ready 7.1", ""},
                       {"started 7.1", "> started 7.1"}};
const Lines kShare = {
    {"prepare 7.1 nodes=n1,n0", "contain 7.1"}, {"contained 7.1", "> prepared 7.1"}, {"go 7.1", "persist 7.1"}};

Lines running_step(const std::string& key, const std::string& number) {
  return {{"step " + key, "lookup " + key},
          {"user " + key, "launch " + key},
          {"connected " + key, ""},
          {"ready " + key, "> prepared " + key + " at h:" + number + " k"},
          {"started " + key, ""}};
}
const Lines kStep0 = running_step("7.1.s0", "1");
const Lines kStep1 = running_step("7.1.s1", "2");

void play(AgentScript& script, const Lines& lines) {
  for (const auto& [event, effects] : lines) ASSERT_EQ(script(event), effects) << "after: " << event;
}

struct Case {
  std::string name;
  std::vector<Lines> lines;
};

class AgentSteps : public ::testing::TestWithParam<Case> {};

TEST_P(AgentSteps, HasTheseEffects) {
  AgentScript script;
  for (const Lines& lines : GetParam().lines) play(script, lines);
}

const std::vector<Case> kCases = {
    {"whole_life",
     {kLinked,
      kScript,
      kStep0,
      {{"step 7.1.s0", "> prepared 7.1.s0 at h:1 k"},
       {"exit 7.1.s0 3", "> exited 7.1.s0 3:0; 7.1.s0 < stop 30"},
       {"ack-exit 7.1.s0", ""},
       {"clean 7.1.s0", "> done 7.1.s0"},
       {"wait 6", "> done 7.1.s0"},
       {"ack-done 7.1.s0", "7.1.s0 < forget; forget 7.1.s0"},
       {"gone 7.1.s0", ""},
       {"step 7.1.s0", ""},  // late: it is over
       {"step 7.1.s1", "lookup 7.1.s1"},
       {"exit 7.1", "> exited 7.1 0:0; > done 7.1.s1; 7.1 < stop 30"}}}},
    {"within_an_allocation_of_one_node",
     {kLinked,
      {{"prepare 7.1 go allocation", "contain 7.1"}, {"contained 7.1", "persist 7.1; > started 7.1"}},
      kStep0,
      {{"stop 7.1", "7.1.s0 < stop 5"}, {"clean 7.1.s0", "> done 7.1.s0; release 7.1"}}}},
    {"are_asked_what_they_use",
     {kLinked,
      kScript,
      kStep0,
      {{"use 7.1.s0 5", "7.1.s0 < use 5"},
       {"use 7.1 5", "7.1 < use 5"},
       {"uses 7.1 6 100", ""},  // nobody asked
       {"uses 7.1 5 100", "measure gpus 0-1 of 7.1 100"},
       {"uses 7.1.s0 5 200", "measure gpus 0-1 of 7.1.s0 200"},
       {"uses 7.1.s0 5 200", ""},
       {"use 7.1.s3 7", "> uses 7.1.s3 (nothing of it runs here)"},
       {"lost 7.1.s0", ""},
       {"use 7.1.s0 8", "> uses 7.1.s0 (its shepherd is out of touch)"}}}},
    {"of_an_allocation_use_what_its_share_does", {kLinked, kShare, {{"use 7.1 5", "measure 7.1 gpus 0-1"}}}},
    {"of_a_job_that_is_not_here",
     {kLinked,
      {{"step 7.1.s0", "> failed 7.1.s0 (no run of job 7 is on n0)"},
       {"step 7.1.s0", "> failed 7.1.s0 (no run of job 7 is on n0)"},
       {"down", ""},
       {"wait 1", "connect"},
       {"up", "> register"},
       {"registered 7.1.s0", "> failed 7.1.s0 (no run of job 7 is on n0)"}}}},
    {"of_a_job_that_is_not_ready",
     {kLinked, {{"prepare 7.1 go", "lookup 7.1"}, {"step 7.1.s0", "> failed 7.1.s0 (job 7 is not ready on n0 yet)"}}}},
    {"of_a_job_that_ends",
     {kLinked,
      kScript,
      {{"stop 7.1", "7.1 < stop 5"}, {"step 7.1.s0", "> failed 7.1.s0 (job 7 is being ended on n0)"}}}},
    {"with_a_share_that_is_not_here",
     {kLinked,
      kScript,
      {{"step 7.1.s0 gpus=4", "> failed 7.1.s0 (the controller gave GPU 4, but this node has 4)"},
       {"step 7.1.s1 tasks=0", "> failed 7.1.s1 (the controller gave 0 tasks, but 1 to 16384 fit a node)"},
       {"step 7.1.s2 uid=0", "> failed 7.1.s2 (root may not run jobs here (jobs.allow_root_jobs))"}}}},
    {"stopped_before_it_began",
     {kLinked, kScript, {{"stop 7.1.s0", "> done 7.1.s0"}, {"step 7.1.s0", ""}, {"ack-done 7.1.s0", ""}}}},
    {"stopped_during_lookup",
     {kLinked, kScript, {{"step 7.1.s0", "lookup 7.1.s0"}, {"stop 7.1.s0", "> done 7.1.s0"}, {"user 7.1.s0", ""}}}},
    {"stopped_before_the_shepherd_answers",
     {kLinked,
      kScript,
      {{"step 7.1.s0", "lookup 7.1.s0"},
       {"user 7.1.s0", "launch 7.1.s0"},
       {"stop 7.1.s0", ""},
       {"connected 7.1.s0", "7.1.s0 < stop 5"},
       {"ready 7.1.s0", ""},
       {"clean 7.1.s0", "> done 7.1.s0"}}}},
    {"cannot_start",
     {kLinked,
      kScript,
      {{"step 7.1.s0", "lookup 7.1.s0"},
       {"nouser 7.1.s0", "> failed 7.1.s0 (no user 1000 on n0); forget 7.1.s0"},
       {"step 7.1.s1", "lookup 7.1.s1"},
       {"user 7.1.s1", "launch 7.1.s1"},
       {"launch-failed 7.1.s1", "release 7.1.s1"},
       {"released 7.1.s1", "> failed 7.1.s1 (no launcher) node; forget 7.1.s1"},
       {"step 7.1.s2", "lookup 7.1.s2"},
       {"user 7.1.s2", "launch 7.1.s2"},
       {"connected 7.1.s2", ""},
       {"never 7.1.s2", "7.1.s2 < kill"},
       {"clean 7.1.s2", "> failed 7.1.s2 (output); 7.1.s2 < forget; forget 7.1.s2"},
       {"step 7.1.s2", "> failed 7.1.s2 (output)"}}}},
    {"no_client_came",
     {kLinked,
      kScript,
      {{"step 7.1.s0", "lookup 7.1.s0"},
       {"user 7.1.s0", "launch 7.1.s0"},
       {"connected 7.1.s0", ""},
       {"ready 7.1.s0", "> prepared 7.1.s0 at h:1 k"},
       {"never 7.1.s0", "> exited 7.1.s0 0:0 (output); 7.1.s0 < stop 30"},
       {"clean 7.1.s0", "> done 7.1.s0"}}}},
    {"signals",
     {kLinked,
      kScript,
      kStep0,
      kStep1,
      {{"signal 7.1 10", "7.1 < signal 10; 7.1.s0 < signal 10; 7.1.s1 < signal 10"},
       {"signal 7.1 10 batch", "7.1 < signal 10"},
       {"signal 7.1.s1 10", "7.1.s1 < signal 10"},
       {"notice 7.1 gap", "7.1 < notice gap"},
       {"notice 7.1.s1 gap", "7.1.s1 < notice gap"},
       {"notice 7.1.s2 gap", ""},
       {"signal 7.1.s2 10", ""}}}},
    {"end_with_the_script",
     {kLinked,
      kScript,
      kStep0,
      {{"exit 7.1", "> exited 7.1 0:0; 7.1.s0 < stop 30; 7.1 < stop 30"},
       {"clean 7.1", ""},
       {"wait 6", "> exited 7.1 0:0"},
       {"stop 7.1", "7.1.s0 < stop 5"},
       {"stop 7.1", ""},
       {"exit 7.1.s0", "> exited 7.1.s0 0:0"},
       {"gone 7.1", ""},
       {"clean 7.1.s0", "> done 7.1.s0; > done 7.1"}}}},
    {"end_with_the_share",
     {kLinked,
      kShare,
      kStep0,
      kStep1,
      {{"stop 7.1", "7.1.s0 < stop 5; 7.1.s1 < stop 5"},
       {"stop 7.1", ""},
       {"step 7.1.s2", "> failed 7.1.s2 (job 7 is being ended on n0)"},
       {"clean 7.1.s1", "> done 7.1.s1"},
       {"kill 7.1", "7.1.s0 < kill"},
       {"clean 7.1.s0", "> done 7.1.s0; release 7.1"},
       {"released 7.1", "> done 7.1"},
       {"ack-done 7.1", "forget 7.1"},
       {"ack-done 7.1.s0", "7.1.s0 < forget; forget 7.1.s0"}}}},
    {"the_steps_first",
     {kLinked,
      kScript,
      kStep0,
      {{"stop 7.1", "7.1.s0 < stop 5; 7.1 < stop 5"}, {"clean 7.1.s0", "> done 7.1.s0"}, {"clean 7.1", "> done 7.1"}}}},
    {"stopped_during_lookup_with_its_job",
     {kLinked, kShare, {{"step 7.1.s0", "lookup 7.1.s0"}, {"stop 7.1", "> done 7.1.s0; release 7.1"}}}},
    {"make_way_with_their_job",
     {kLinked,
      kScript,
      kStep0,
      {{"stop 7.1 signo=10 for=17", "7.1.s0 ! 10 for 17; 7.1.s0 < stop 5; 7.1 ! 10 for 17; 7.1 < stop 5"}}}},
    {"shepherd_of_a_step_dies",
     {kLinked,
      kScript,
      kStep0,
      {{"gone 7.1.s0 9",
        "> exited 7.1.s0 0:0 (shepherd of step 7.0 died: signal 9; its processes were killed); release 7.1.s0"},
       {"released 7.1.s0", "> done 7.1.s0"},
       {"signal 7.1 10", "7.1 < signal 10"}}}},
    {"shepherd_of_a_step_dies_before_it_is_ready",
     {kLinked,
      kScript,
      {{"step 7.1.s0", "lookup 7.1.s0"},
       {"user 7.1.s0", "launch 7.1.s0"},
       {"gone 7.1.s0 9", "release 7.1.s0"},
       {"released 7.1.s0",
        "> failed 7.1.s0 (shepherd of step 7.0 died: signal 9; its processes were killed) node; forget 7.1.s0"}}}},
    {"shepherd_of_the_script_dies",
     {kLinked,
      kScript,
      kStep0,
      {{"gone 7.1 9", "> exited 7.1 0:0 (shepherd of job 7 died: signal 9; its processes were killed); 7.1.s0 < kill"},
       {"clean 7.1.s0", "> done 7.1.s0; release 7.1"},
       {"released 7.1", "> done 7.1"}}}},
    {"later_attempt_waits_for_steps",
     {kLinked,
      kScript,
      kStep0,
      {{"prepare 7.2 go", "7.1.s0 < kill; 7.1 < kill"},
       {"clean 7.1", ""},
       {"step 7.2.s0", "> failed 7.2.s0 (job 7 is not ready on n0 yet)"},
       {"clean 7.1.s0", "> done 7.1.s0; > done 7.1; lookup 7.2"}}}},
    {"lease",
     {kLinked,
      {{"prepare 7.1 nodes=n1,n0 lease=30", "contain 7.1"},
       {"contained 7.1", "> prepared 7.1"},
       {"go 7.1", "persist 7.1"},
       {"step 7.1.s0", "lookup 7.1.s0"},
       {"user 7.1.s0", "launch 7.1.s0"},
       {"connected 7.1.s0", ""},
       {"wait 9", ""},
       {"beat", "7.1.s0 < renew"},
       {"wait 21", "> beat"},
       {"down", ""},
       {"wait 10", "connect; 7.1.s0 < lease over"},
       {"clean 7.1.s0", "release 7.1"},
       {"released 7.1", ""},
       {"up", "> register 7.1=4 7.1.s0=4"},
       {"registered 7.1 7.1.s0", "> done 7.1 lease; > done 7.1.s0 lease"}}}},
    {"registration",
     {kLinked,
      kShare,
      kStep0,
      kStep1,
      {{"step 7.1.s2", "lookup 7.1.s2"},
       {"exit 7.1.s1", "> exited 7.1.s1 0:0; 7.1.s1 < stop 30"},
       {"down", ""},
       {"wait 1", "connect"},
       {"up", "> register 7.1=2 7.1.s0=2@h:1 7.1.s1=3 7.1.s2=0"},
       {"registered 7.1 7.1.s0 7.1.s1",
        "> prepared 7.1.s0 at h:1 k; > exited 7.1.s1 0:0; > done 7.1.s2; > done 7.1.s2"}}}},
    {"unwanted_step",
     {kLinked,
      kShare,
      kStep0,
      kStep1,
      {{"down", ""},
       {"wait 1", "connect"},
       {"up", "> register 7.1=2 7.1.s0=2@h:1 7.1.s1=2@h:2"},
       {"registered 7.1 7.1.s1", "7.1.s0 < kill; > prepared 7.1.s1 at h:2 k"},
       {"clean 7.1.s0", "> done 7.1.s0"}}}},
    {"unwanted_job",
     {kLinked,
      kShare,
      kStep0,
      {{"down", ""},
       {"wait 1", "connect"},
       {"up", "> register 7.1=2 7.1.s0=2@h:1"},
       {"registered", "7.1.s0 < kill"},
       {"clean 7.1.s0", "> done 7.1.s0; release 7.1"}}}},
    {"suspended_with_a_script",
     {kLinked,
      kScript,
      kStep0,
      {{"suspend 7.1 1", "7.1 ! 0 for 0; 7.1 < suspend 1; 7.1.s0 ! 0 for 0; 7.1.s0 < suspend 1"},
       {"stands 7.1 1", ""},
       {"stands 7.1.s0 1", "> suspended 7.1 1"},
       {"stands 7.1.s0 1", ""},
       {"lost 7.1.s0", ""},
       {"connected 7.1.s0", "7.1.s0 ! 0 for 0; 7.1.s0 < suspend 1"},
       {"resume 7.1 1", "7.1 < resume 1; 7.1.s0 < resume 1"},
       {"lost 7.1.s0", ""},
       {"connected 7.1.s0", "7.1.s0 < resume 1"}}}},
    {"suspended_without_a_script",
     {kLinked,
      kShare,
      kStep0,
      kStep1,
      {{"suspend 7.1 1 signo=12", "7.1.s0 ! 12 for 0; 7.1.s0 < suspend 1; 7.1.s1 ! 12 for 0; 7.1.s1 < suspend 1"},
       {"stands 7.1.s1 1", ""},
       {"exit 7.1.s0", "> exited 7.1.s0 0:0; 7.1.s0 < stop 30"},
       {"clean 7.1.s0", "> done 7.1.s0; > suspended 7.1 1"},  // the other stands
       {"step 7.1.s2", "lookup 7.1.s2"},
       {"user 7.1.s2", "launch 7.1.s2"},
       {"connected 7.1.s2", "7.1.s2 ! 12 for 0; 7.1.s2 < suspend 1"},
       {"stands 7.1.s2 1", ""},
       {"suspend 7.1 1", "7.1.s1 ! 0 for 0; 7.1.s1 < suspend 1; 7.1.s2 ! 0 for 0; 7.1.s2 < suspend 1"},
       {"stands 7.1.s1 1", "> suspended 7.1 1"},
       {"resume 7.1 1", "7.1.s1 < resume 1; 7.1.s2 < resume 1"}}}},
    {"a_step_that_cannot_be_suspended",
     {kLinked,
      kScript,
      kStep0,
      {{"suspend 7.1 1", "7.1 ! 0 for 0; 7.1 < suspend 1; 7.1.s0 ! 0 for 0; 7.1.s0 < suspend 1"},
       {"stands 7.1 1", ""},
       {"stands 7.1.s0 1 cannot", "> suspended 7.1 1 (cannot); 7.1 < resume 1"}}}},
};

INSTANTIATE_TEST_SUITE_P(Table, AgentSteps, ::testing::ValuesIn(kCases), [](const auto& c) { return c.param.name; });

// --- after a restart of the daemon ---

RecoveredRun found(RunKey key, bool has_shepherd = true) {
  RecoveredRun run;
  run.record.set_job(key.job);
  run.record.set_attempt(key.attempt);
  run.record.set_step(key.step);
  run.record.set_has_script(has_shepherd);
  run.record.set_boot_id("boot-1");
  run.record.set_go(!has_shepherd);
  run.record.set_is_contained(!has_shepherd);
  run.has_step_dir = run.shepherd_answers = has_shepherd;
  return run;
}

TEST(AgentStepsRecovery, AStepGoesOn) {
  AgentScript script;
  const auto effects = script.agent.on_recovered(script.now, {found({7, 1}, false), found({7, 1, 1})});
  EXPECT_EQ(describe(effects), "connect");
  play(script, {{"connected 7.1.s0", ""},
                {"ready 7.1.s0", ""},
                {"started 7.1.s0", ""},
                {"up", "> register 7.1=2 7.1.s0=2@h:1"},
                {"registered 7.1 7.1.s0", "> prepared 7.1.s0 at h:1 k"},
                {"exit 7.1.s0 1", "> exited 7.1.s0 1:0; 7.1.s0 < stop 0"},
                {"clean 7.1.s0", "> done 7.1.s0"}});
}

TEST(AgentStepsRecovery, AStepWhoseShepherdAnswersLate) {
  AgentScript script;
  const auto effects = script.agent.on_recovered(script.now, {found({7, 1}), found({7, 1, 1})});
  EXPECT_EQ(describe(effects), "connect");
  play(script, {{"up", "> register 7.1=0 7.1.s0=0"},
                {"registered 7.1 7.1.s0", ""},
                {"connected 7.1.s0", ""},
                {"ready 7.1.s0", "> prepared 7.1.s0 at h:1 k"},
                {"step 7.1.s0", "> prepared 7.1.s0 at h:1 k"},
                {"step 7.1.s1", "lookup 7.1.s1"}});
}

TEST(AgentStepsRecovery, AJobThatEndedMeanwhileWaitsForItsSteps) {
  AgentScript script;
  RecoveredRun job = found({7, 1});
  job.shepherd_answers = false;
  job.exit.emplace().set_code(4);
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {job, found({7, 1, 1})})), "connect");
  play(script, {{"connected 7.1.s0", "7.1.s0 < kill"},
                {"up", "> register 7.1=3 7.1.s0=0"},
                {"registered 7.1 7.1.s0", "> exited 7.1 4:0"},
                {"clean 7.1.s0", "> done 7.1.s0; release 7.1"},
                {"released 7.1", "> done 7.1"}});
}

TEST(AgentStepsRecovery, RemainsOfAnEarlierBoot) {
  AgentScript script;
  RecoveredRun job = found({7, 1}, false), dead = found({7, 1, 1}), alive = found({7, 1, 2});
  for (RecoveredRun* run : {&job, &dead, &alive}) run->record.set_boot_id("boot-0");
  dead.shepherd_answers = false;
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {job, dead, alive})), "release 7.1.s0");
  play(script, {{"released 7.1.s0", "forget 7.1.s0"},
                {"connected 7.1.s1", "7.1.s1 < kill"},
                {"clean 7.1.s1", "7.1.s1 < forget; forget 7.1.s1; release 7.1"},
                {"released 7.1", "forget 7.1; connect"}});
}

}  // namespace
}  // namespace gw::noded::testing
