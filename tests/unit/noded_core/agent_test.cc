// The node agent's life of a run, events on the left, effects on the right.
#include <gtest/gtest.h>

#include "tests/unit/noded_core/agent_script.h"

namespace gw::noded::testing {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

const Lines kLinked = {{"start", "connect"}, {"up", "> register"}, {"registered", ""}};
const Lines kRunning = {{"prepare 7.1 go", "lookup 7.1"},
                        {"user 7.1", "launch 7.1"},
                        {"connected 7.1", ""},
                        {"ready 7.1", ""},
                        {"started 7.1", "> started 7.1"}};

void play(AgentScript& script, const Lines& lines) {
  for (const auto& [event, effects] : lines) ASSERT_EQ(script(event), effects) << "after: " << event;
}

struct Case {
  std::string name;
  std::vector<Lines> lines;
};

class AgentLife : public ::testing::TestWithParam<Case> {};

TEST_P(AgentLife, HasTheseEffects) {
  AgentScript script;
  for (const Lines& lines : GetParam().lines) play(script, lines);
}

const std::vector<Case> kCases = {
    {"whole_life",
     {kLinked,
      kRunning,
      {{"exit 7.1 3", "> exited 7.1 3:0; 7.1 < stop 30"},
       {"ack-exit 7.1", ""},
       {"stop 7.1", "7.1 < stop 5"},
       {"clean 7.1", "> done 7.1"},
       {"ack-done 7.1", "7.1 < forget; forget 7.1"},
       {"gone 7.1", ""}}}},
    {"gang_first_node",
     {kLinked,
      {{"prepare 7.1 nodes=n0,n1", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"connected 7.1", ""},
       {"ready 7.1", "> prepared 7.1"},
       {"prepare 7.1 nodes=n0,n1", "> prepared 7.1"},
       {"go 7.1", "7.1 < go"},
       {"started 7.1", "> started 7.1"},
       {"signal 7.1 10", "7.1 < signal 10"},
       {"exit 7.1", "> exited 7.1 0:0"},  // the controller stops gangs of several nodes
       {"stop 7.1", "7.1 < stop 5"},
       {"clean 7.1", "> done 7.1"}}}},
    {"elastic_gang",
     {kLinked,
      {{"prepare 7.1 elastic", "lookup 7.1"},
       {"resize 7.1 n0 n1", "hosts 7.1 n0 n1"},
       {"user 7.1", "launch 7.1"},
       {"connected 7.1", ""},
       {"ready 7.1", "> prepared 7.1"},
       {"go 7.1", "hosts 7.1 n0 (first); 7.1 < go"},
       {"started 7.1", "> started 7.1"},
       {"resize 7.1 n0 n1", "hosts 7.1 n0 n1"},
       {"resize 8.1 n0 n1", ""},
       {"exit 7.1", "> exited 7.1 0:0"},  // the controller ends the other nodes
       {"resize 7.1 n0", ""},
       {"stop 7.1", "7.1 < stop 5"},
       {"clean 7.1", "> done 7.1"}}}},
    {"suspended",
     {kLinked,
      kRunning,
      {{"suspend 7.1 1 signo=12 for=17", "7.1 ! 12 for 17; 7.1 < suspend 1"},
       {"stands 7.1 1", "> suspended 7.1 1"},
       {"suspend 7.1 1 for=17", "7.1 ! 0 for 17; 7.1 < suspend 1"},
       {"lost 7.1", ""},
       {"connected 7.1", "7.1 ! 0 for 17; 7.1 < suspend 1"},
       {"resume 7.1 1", "7.1 < resume 1"},
       {"lost 7.1", ""},
       {"connected 7.1", "7.1 < resume 1"},
       {"suspend 7.1 2", "7.1 ! 0 for 0; 7.1 < suspend 2"},
       {"suspend 7.1 1", ""},  // late
       {"resume 7.1 1", ""},
       {"stands 7.1 2 cannot", "> suspended 7.1 2 (cannot)"},
       {"suspend 8.1 1", ""},
       {"stop 7.1", "7.1 < stop 5"},
       {"suspend 7.1 3", ""},
       {"clean 7.1", "> done 7.1"}}}},
    {"suspended_without_script",
     {kLinked,
      {{"prepare 7.1 nodes=n1,n0", "contain 7.1"},
       {"contained 7.1", "> prepared 7.1"},
       {"go 7.1", "persist 7.1"},
       {"suspend 7.1 1", "> suspended 7.1 1"},
       {"resume 7.1 1", ""},
       {"suspend 7.1 2", "> suspended 7.1 2"}}}},
    {"gang_member_without_script",
     {kLinked,
      {{"prepare 7.1 nodes=n1,n0", "contain 7.1"},
       {"contained 7.1", "> prepared 7.1"},
       {"go 7.1", "persist 7.1"},
       {"signal 7.1 10", ""},
       {"stop 7.1", "release 7.1"},
       {"stop 7.1", ""},
       {"released 7.1", "> done 7.1"},
       {"stop 7.1", "> done 7.1"},
       {"ack-done 7.1", "forget 7.1"},
       {"stop 7.1", "> done 7.1"}}}},
    {"gang_member_that_joins_again",
     {kLinked,
      {{"prepare 7.1 nodes=n1,n0 generation=5", "contain 7.1"},
       {"contained 7.1", "> prepared 7.1"},
       {"stop 7.1", "release 7.1"},
       {"released 7.1", "> done 7.1"},
       {"ack-done 7.1", "forget 7.1"},
       {"prepare 7.1 nodes=n1,n0 generation=5", ""},
       {"prepare 7.1 nodes=n1,n0 generation=6", "contain 7.1"}}}},
    {"containment_fails",
     {kLinked,
      {{"prepare 7.1 nodes=n1,n0", "contain 7.1"},
       {"not-contained 7.1", "release 7.1"},
       {"released 7.1", "> failed 7.1 (no cgroup) node; forget 7.1"},
       {"prepare 7.1 nodes=n1,n0", "> failed 7.1 (no cgroup) node"}}}},
    {"stop_while_containing",
     {kLinked,
      {{"prepare 7.1 nodes=n1,n0", "contain 7.1"},
       {"stop 7.1", ""},
       {"contained 7.1", "release 7.1"},
       {"released 7.1", "> done 7.1"}}}},
    {"root_is_refused",
     {kLinked,
      {{"prepare 7.1 go uid=0", "> failed 7.1 (root may not run jobs here (jobs.allow_root_jobs)); forget 7.1"},
       {"prepare 8.1 go uid=0 root", "lookup 8.1"}}}},
    {"share_that_is_not_here",
     {kLinked,
      {{"prepare 7.1 go gpus=3-4", "> failed 7.1 (the controller gave GPU 4, but this node has 4) node; forget 7.1"}}}},
    {"unknown_user",
     {kLinked,
      {{"prepare 7.1 go", "lookup 7.1"},
       {"nouser 7.1", "> failed 7.1 (no user 1000 on n0); forget 7.1"},
       {"user 7.1", ""}}}},
    {"user_database_down",
     {kLinked, {{"prepare 7.1 go", "lookup 7.1"}, {"nss-down 7.1", "> failed 7.1 (LDAP down) node; forget 7.1"}}}},
    {"stop_during_lookup",
     {kLinked,
      {{"prepare 7.1 go", "lookup 7.1"},
       {"stop 7.1", "> done 7.1"},
       {"user 7.1", ""},
       {"ack-done 7.1", "forget 7.1"}}}},
    {"stop_before_the_shepherd_answers",
     {kLinked,
      {{"prepare 7.1 go", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"stop 7.1", ""},
       {"connected 7.1", "7.1 < stop 5"},
       {"never 7.1", ""},
       {"clean 7.1", "> done 7.1"}}}},
    {"launch_fails",
     {kLinked,
      {{"prepare 7.1 go", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"launch-failed 7.1", "release 7.1"},
       {"released 7.1", "> failed 7.1 (no launcher) node; forget 7.1"}}}},
    {"output_cannot_be_opened",
     {kLinked,
      {{"prepare 7.1 go", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"connected 7.1", ""},
       {"never 7.1", "7.1 < kill"},
       {"clean 7.1", "> failed 7.1 (output); 7.1 < forget; forget 7.1"}}}},
    {"fails_after_go",
     {kLinked,
      {{"prepare 7.1", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"connected 7.1", ""},
       {"ready 7.1", "> prepared 7.1"},
       {"go 7.1", "7.1 < go"},
       {"never 7.1", "> exited 7.1 0:0 (output); 7.1 < stop 30"},
       {"clean 7.1", "> done 7.1"}}}},
    {"go_before_ready",
     {kLinked,
      {{"prepare 7.1", "lookup 7.1"},
       {"go 7.1", ""},
       {"user 7.1", "launch 7.1"},
       {"connected 7.1", ""},
       {"ready 7.1", "7.1 < go"},
       {"lost 7.1", ""},
       {"connected 7.1", "7.1 < go"},
       {"ready 7.1", ""},
       {"started 7.1", "> started 7.1"},
       {"started 7.1", ""}}}},
    {"shepherd_dies",
     {kLinked,
      kRunning,
      {{"gone 7.1 9", "> exited 7.1 0:0 (shepherd of job 7 died: signal 9; its processes were killed); release 7.1"},
       {"ack-exit 7.1", ""},
       {"stop 7.1", ""},
       {"released 7.1", "> done 7.1"},
       {"ack-done 7.1", "forget 7.1"}}}},
    {"shepherd_dies_before_it_is_ready",
     {kLinked,
      {{"prepare 7.1", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"gone 7.1 9", "release 7.1"},
       {"released 7.1",
        "> failed 7.1 (shepherd of job 7 died: signal 9; its processes were killed) node; forget 7.1"}}}},
    {"reports_are_sent_again",
     {kLinked,
      kRunning,
      {{"exit 7.1", "> exited 7.1 0:0; 7.1 < stop 30"},
       {"wait 4", ""},
       {"wait 2", "> exited 7.1 0:0"},
       {"ack-exit 7.1", ""},
       {"wait 6", "> beat"},
       {"clean 7.1", "> done 7.1"},
       {"wait 6", "> done 7.1"},
       {"down", ""},
       {"wait 1", "connect"},
       {"up", "> register 7.1=4"},
       {"registered 7.1", "> done 7.1"}}}},
    {"cut_off_and_back",
     {kLinked,
      kRunning,
      {{"down", ""},
       {"exit 7.1", "7.1 < stop 30"},
       {"wait 1", "connect"},
       {"up", "> register 7.1=3"},
       {"clean 7.1", ""},
       {"registered 7.1", "> exited 7.1 0:0; > done 7.1"}}}},
    {"unwanted_runs_are_killed",
     {kLinked,
      kRunning,
      {{"down", ""},
       {"wait 1", "connect"},
       {"up", "> register 7.1=2"},
       {"registered", "7.1 < kill"},
       {"clean 7.1", "> done 7.1"}}}},
    {"later_attempt_waits_for_the_earlier",
     {kLinked,
      kRunning,
      {{"prepare 7.2 go", "7.1 < kill"},
       {"prepare 7.1 go", ""},
       {"clean 7.1", "> done 7.1; lookup 7.2"},
       {"ack-done 7.1", "7.1 < forget; forget 7.1"},
       {"user 7.2", "launch 7.2"},
       {"prepare 7.1 go", ""}}}},
    {"later_attempt_gives_up",
     {kLinked,
      kRunning,
      {{"prepare 7.2 go", "7.1 < kill"},
       {"wait 29", "> beat"},
       {"beat", ""},
       {"wait 2", "> failed 7.2 (an earlier run of job 7 is still being ended on n0) node; forget 7.2"},
       {"clean 7.1", "> done 7.1"}}}},
    {"lease",
     {kLinked,
      {{"prepare 7.1 go lease=30", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"connected 7.1", ""},
       {"started 7.1", "> started 7.1"},
       {"wait 9", ""},
       {"beat", "7.1 < renew"},
       {"wait 21", "> beat"},
       {"down", ""},
       {"wait 10", "connect; 7.1 < lease over"},
       {"clean 7.1", ""},
       {"up", "> register 7.1=4"},
       {"registered 7.1", "> done 7.1 lease"}}}},
    // With an answer that was long on its way the lease counts from the beat that it answers.
    {"lease_counts_from_the_answered_beat",
     {{{"start", "connect"}, {"up", "> register"}, {"registered-echoes", ""}},
      {{"prepare 7.1 go lease=30", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"connected 7.1", ""},
       {"started 7.1", "> started 7.1"},
       {"wait 10", "> beat"},
       {"wait 9", ""},
       {"signal 7.1 10", "7.1 < signal 10"},  // an order renews nothing: it may have been sent long ago
       {"beat", ""},                          // nor does a beat that answers none of ours
       {"echo 9", "7.1 < renew"},
       {"echo 9", ""},
       {"wait 1", "> beat"},
       {"wait 19", "> beat"},
       {"wait 1", "7.1 < lease over"}}}},
    // The shepherd of an earlier version does not say for what it was told to kill; one whose script came to its end
    // says that.
    {"lease_and_a_shepherd_that_does_not_know_of_it",
     {kLinked,
      {{"prepare 7.1 go lease=30", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"connected 7.1", ""},
       {"started 7.1", "> started 7.1"},
       {"prepare 8.1 go lease=30", "lookup 8.1"},
       {"user 8.1", "launch 8.1"},
       {"connected 8.1", ""},
       {"started 8.1", "> started 8.1"},
       {"down", ""},
       {"wait 31", "connect; 7.1 < lease over; 8.1 < lease over"},
       {"exit 7.1 0 9", ""},
       {"clean 7.1", ""},
       {"exit 8.1 0", ""},
       {"clean 8.1", ""},
       {"up", "> register 7.1=4 8.1=4"},
       {"registered 7.1 8.1",
        "> exited 7.1 0:9 (the node heard nothing from the controller for 30 s); > done 7.1 lease; "
        "> exited 8.1 0:0; > done 8.1 lease"}}}},
    {"stop_of_what_is_not_here",
     {kLinked,
      {{"stop 9.2", "> done 9.2"}, {"ack-done 9.2", ""}, {"prepare 9.2 go", ""}, {"prepare 9.3 go", "lookup 9.3"}}}},
    {"silence", {kLinked, {{"wait 59", "> beat"}, {"wait 1", "disconnect"}, {"down", ""}, {"wait 1", "connect"}}}},
    {"preempted_for_another",
     {kLinked,
      kRunning,
      {{"stop 7.1 signo=10 for=17", "7.1 ! 10 for 17; 7.1 < stop 5"},
       {"stop 7.1 signo=10 for=17", ""},
       {"lost 7.1", ""},
       {"connected 7.1", "7.1 ! 10 for 17; 7.1 < stop 5"},  // the shepherd may not have heard it
       {"exit 7.1", "> exited 7.1 0:0"},
       {"clean 7.1", "> done 7.1"}}}},
    {"preempted_before_the_shepherd_answers",
     {kLinked,
      {{"prepare 7.1 go", "lookup 7.1"},
       {"user 7.1", "launch 7.1"},
       {"stop 7.1 for=17", ""},
       {"connected 7.1", "7.1 ! 0 for 17; 7.1 < stop 5"}}}},
    {"preempted_where_no_script_runs",
     {kLinked,
      {{"prepare 7.1 nodes=n1,n0", "contain 7.1"},
       {"contained 7.1", "> prepared 7.1"},
       {"go 7.1", "persist 7.1"},
       {"stop 7.1 signo=10 for=17", "release 7.1"}}}},
    {"no_time_to_make_way", {kLinked, kRunning, {{"kill 7.1 signo=10 for=17", "7.1 < kill"}}}},
    {"refused",
     {{{"start", "connect"},
       {"up", "> register"},
       {"prepare 7.1 go", ""},
       {"refused", "disconnect"},
       {"wait 9", ""},
       {"wait 2", "connect"}}}},
};

INSTANTIATE_TEST_SUITE_P(Table, AgentLife, ::testing::ValuesIn(kCases), [](const auto& c) { return c.param.name; });

TEST(Agent, RefusesOtherUsersWhenItIsNotRoot) {
  AgentScript script(/*own_uid=*/1001);
  play(script, kLinked);
  EXPECT_EQ(script("prepare 7.1 go uid=1001"), "lookup 7.1");
  EXPECT_EQ(script("prepare 8.1 go uid=1000"),
            "> failed 8.1 (the node daemon of n0 runs as uid 1001 and cannot start jobs of uid 1000 (start gnoded as "
            "root)); forget 8.1");
}

/// The controller has moved on: what runs by its later order must not be ended for it.
TEST(Agent, ALateOrderOfAnEarlierAttemptTouchesNothing) {
  AgentScript script;
  play(script, kLinked);
  for (const char* line : {"prepare 7.2 go", "user 7.2", "connected 7.2", "ready 7.2", "started 7.2"}) script(line);
  EXPECT_EQ(script("prepare 7.1 go"), "");
}

TEST(Agent, BacksOffWithJitterUpToTenSeconds) {
  AgentScript script;
  EXPECT_EQ(script("start"), "connect");
  base::Duration last{};
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(script("down"), "");
    last = script.agent.next_wakeup() - script.now;
    EXPECT_GE(last, base::milliseconds(50));
    EXPECT_LE(last, base::seconds(10));
    if (i == 0) {
      EXPECT_LE(last, base::milliseconds(100));
    }
    EXPECT_EQ(script("wait 11"), "connect");
  }
  EXPECT_GE(last, base::seconds(5));
}

RecoveredRun found(RunKey key, bool has_script = true) {
  RecoveredRun run;
  run.record.set_job(key.job);
  run.record.set_attempt(key.attempt);
  run.record.set_has_script(has_script);
  run.record.set_boot_id("boot-1");
  run.record.set_alone(has_script);
  run.has_step_dir = has_script;
  return run;
}

TEST(AgentRecovery, AdoptsARunningShepherd) {
  AgentScript script;
  RecoveredRun run = found({7, 1});
  run.shepherd_answers = true;
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {run})), "connect");
  EXPECT_EQ(script("connected 7.1"), "");
  EXPECT_EQ(script("ready 7.1"), "");
  EXPECT_EQ(script("started 7.1"), "");
  EXPECT_EQ(script("up"), "> register 7.1=2");
  EXPECT_EQ(script("registered 7.1"), "> started 7.1");
  EXPECT_EQ(script("exit 7.1 1"), "> exited 7.1 1:0; 7.1 < stop 0");
}

TEST(AgentRecovery, WhatMakesWayGoesOnToDoSo) {
  AgentScript script;
  RecoveredRun run = found({7, 1});
  run.shepherd_answers = true;
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {run})), "connect");
  EXPECT_EQ(script("connected 7.1"), "");
  EXPECT_EQ(script("started 7.1"), "");
  EXPECT_EQ(script("up"), "> register 7.1=2");
  EXPECT_EQ(script("registered 7.1"), "> started 7.1");
  // The controller says it again; the shepherd, which counts its grace since the first time, knows that.
  EXPECT_EQ(script("stop 7.1 signo=10 for=17"), "7.1 ! 10 for 17; 7.1 < stop 5");
}

TEST(AgentRecovery, ReportsAnExitThatHappenedMeanwhile) {
  AgentScript script;
  RecoveredRun run = found({7, 1});
  run.exit.emplace().set_code(4);
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {run})), "release 7.1; connect");
  EXPECT_EQ(script("up"), "> register 7.1=3");
  EXPECT_EQ(script("registered 7.1"), "> exited 7.1 4:0");
  EXPECT_EQ(script("released 7.1"), "> done 7.1");
}

TEST(AgentRecovery, ShepherdThatDiedMeanwhile) {
  AgentScript script;
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {found({7, 1})})), "release 7.1; connect");
  EXPECT_EQ(script("up"), "> register 7.1=3");
  EXPECT_EQ(script("released 7.1"), "");
  EXPECT_EQ(script("registered 7.1"),
            "> exited 7.1 0:0 (shepherd of job 7 died while the node daemon was away; its processes were killed); "
            "> done 7.1");
}

TEST(AgentRecovery, LaunchUnderWayGetsAMoment) {
  AgentScript script;
  RecoveredRun run = found({7, 1});
  run.has_step_dir = false;
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {run})), "connect");
  EXPECT_EQ(script("wait 2"), "");
  EXPECT_EQ(script("wait 2"), "release 7.1");
}

TEST(AgentRecovery, ShareWithoutScript) {
  AgentScript script;
  RecoveredRun prepared = found({7, 1}, false);
  RecoveredRun going = found({8, 1}, false);
  prepared.record.set_is_contained(true);
  going.record.set_is_contained(true);
  going.record.set_go(true);
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {prepared, going})), "connect");
  EXPECT_EQ(script("up"), "> register 7.1=1 8.1=2");
  EXPECT_EQ(script("registered 8.1"), "release 7.1");
  EXPECT_EQ(script("released 7.1"), "> done 7.1");
}

TEST(AgentRecovery, ShareThatWasNotContainedYetIsContainedBeforeItIsPrepared) {
  AgentScript script;
  RecoveredRun prepared = found({7, 1}, false);
  RecoveredRun going = found({8, 1}, false);
  prepared.record.set_is_contained(false);
  going.record.set_is_contained(false);
  going.record.set_go(true);
  going.record.set_alone(true);
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {prepared, going})), "contain 7.1; contain 8.1; connect");
  EXPECT_EQ(script("up"), "> register 7.1=0 8.1=0");
  EXPECT_EQ(script("registered 7.1 8.1"), "");
  EXPECT_EQ(script("contained 7.1"), "> prepared 7.1");
  EXPECT_EQ(script("contained 8.1"), "persist 8.1; > started 8.1");
}

/// Steps may run in it, so that it cannot be set up again.
TEST(AgentRecovery, AShareOfAnEarlierVersionIsTakenOverAsItIs) {
  AgentScript script;
  RecoveredRun going = found({8, 1}, false);
  going.record.clear_is_contained();
  going.record.set_go(true);
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {going})), "connect");
}

TEST(AgentRecovery, RemainsOfAnEarlierBootGoBeforeItRegisters) {
  AgentScript script;
  RecoveredRun dead = found({7, 1}), alive = found({8, 1});
  dead.record.set_boot_id("boot-0");
  alive.record.set_boot_id("boot-0");
  alive.shepherd_answers = true;
  EXPECT_EQ(describe(script.agent.on_recovered(script.now, {dead, alive})), "release 7.1");
  EXPECT_EQ(script("released 7.1"), "forget 7.1");
  EXPECT_EQ(script("connected 8.1"), "8.1 < kill");
  EXPECT_EQ(script("started 8.1"), "");
  EXPECT_EQ(script("exit 8.1"), "");
  EXPECT_EQ(script("clean 8.1"), "8.1 < forget; forget 8.1; connect");
  EXPECT_EQ(script("up"), "> register");
}

}  // namespace
}  // namespace gw::noded::testing
