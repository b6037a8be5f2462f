// The controller's prolog and epilog of a job: what waits for them, and what becomes of the job when they fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobProgram;
using model::JobState;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr auto kPrepare = wire::ControllerToNode::kPrepare;

Settings with(bool has_prolog, bool has_epilog) {
  Settings s;
  s.has_prolog = has_prolog;
  s.has_epilog = has_epilog;
  return s;
}

class Site : public World {
 public:
  Site(uint32_t nodes, bool has_prolog, bool has_epilog) : World(nodes, with(has_prolog, has_epilog)) { connect_all(); }

  JobId enter(uint32_t nodes = 1) {
    const JobId id = submit(kAlice, gang(nodes, 1));
    schedule();
    return id;
  }
  /// The program that was asked for last comes to this.
  void ends(int exit_code, ProgramRun run = ProgramRun::kRan) {
    const RunJobProgram asked = programs.back();
    core->on_program_ended(now, asked.job, asked.attempt, asked.program, {run, exit_code, "it says so"});
    pump();
    schedule();
  }
  bool holds(JobId id) const { return core->ledger().holdings().contains(id); }
};

TEST(JobPrograms, NodesAreToldOfARunWhenItsPrologHasSucceeded) {
  Site w(2, true, false);
  const JobId id = w.enter(2);
  ASSERT_THAT(w.programs, SizeIs(1));
  EXPECT_EQ(w.programs.back().program, JobProgram::kProlog);
  EXPECT_EQ(w.programs.back().uid, kAlice);
  EXPECT_THAT(w.programs.back().variables, Contains(Pair("JOB_ID", id.text())));
  EXPECT_THAT(w.programs.back().variables, Contains(Pair("JOB_NODELIST", "n[0-1]")));
  EXPECT_THAT(w.programs.back().variables, Contains(Pair("SCRIPT_CONTEXT", "prolog_slurmctld")));
  EXPECT_EQ(w.last("n0", kPrepare), nullptr);
  w.tick_with_beats(w.settings.prepare_timeout() * 3);
  EXPECT_EQ(w.state(id), JobState::kConfiguring) << "its limit is that of the program";
  w.ends(0);
  ASSERT_NE(w.last("n0", kPrepare), nullptr);
  w.prepared("n0", id);
  w.prepared("n1", id);
  EXPECT_EQ(w.state(id), JobState::kRunning);
  EXPECT_THAT(w.programs, SizeIs(1));
}

TEST(JobPrograms, AfterAPrologThatFailsTheJobWaitsAndNoNodeIsBlamed) {
  Site w(1, true, true);
  const JobId id = w.enter();
  w.ends(3);
  EXPECT_EQ(w.last("n0", kPrepare), nullptr);
  EXPECT_FALSE(w.holds(id)) << "its node is free while the epilog runs";
  ASSERT_EQ(w.programs.back().program, JobProgram::kEpilog);
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  w.ends(0);
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_EQ(w.job(id).launch_failures, 1U);
  EXPECT_EQ(w.job(id).restarts, 0U);
  EXPECT_THAT(w.job(id).last_failure, HasSubstr("the controller's prolog failed: exit code 3: it says so"));
  EXPECT_THAT(w.job(id).shuns, IsEmpty());
  EXPECT_EQ(w.core->nodes().begin()->second.admin, model::NodeAdmin::kUp);
}

TEST(JobPrograms, AJobWhosePrologFailsAgainAndAgainIsHeldUnlessTheProgramCannotBeRun) {
  for (const ProgramRun run :
       {ProgramRun::kRan, ProgramRun::kNotStarted, ProgramRun::kNotTaken, ProgramRun::kUnknown}) {
    Site w(1, true, false);
    const JobId id = w.enter();
    for (uint32_t i = 0; i < w.settings.max_launch_failures + 3 && !w.job(id).is_held(); ++i) {
      ASSERT_EQ(w.state(id), JobState::kConfiguring);
      w.ends(1, run);
      EXPECT_EQ(w.state(id), JobState::kPending);
      w.tick_with_beats(base::minutes(6));
    }
    EXPECT_EQ(w.job(id).is_held(), run == ProgramRun::kRan);
  }
}

TEST(JobPrograms, AJobCancelledInItsPrologKeepsItsNodesUntilThatHasEnded) {
  Site w(1, true, true);
  const JobId id = w.enter();
  w.cancel(kAlice, id);
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kStop), nullptr);
  EXPECT_TRUE(w.holds(id));
  w.ends(0);
  EXPECT_FALSE(w.holds(id));
  EXPECT_EQ(w.last("n0", kPrepare), nullptr);
  ASSERT_EQ(w.programs.back().program, JobProgram::kEpilog);
  w.ends(0);
  EXPECT_EQ(w.state(id), JobState::kCancelled);
}

TEST(JobPrograms, AJobIsOverWhenItsEpilogIsWhichOthersDoNotWaitFor) {
  Site w(1, false, true);
  const JobId id = w.enter();
  w.started("n0", id);
  w.exited("n0", id, 3);
  w.done("n0", id);
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  ASSERT_EQ(w.programs.back().program, JobProgram::kEpilog);
  EXPECT_THAT(w.programs.back().variables, Contains(Pair("JOB_EXIT_CODE", "768")));
  EXPECT_THAT(w.programs.back().variables, Contains(Pair("JOB_EXIT_CODE2", "3:0")));
  const JobId other = w.enter();
  EXPECT_EQ(w.state(other), JobState::kConfiguring);
  w.programs.pop_back();
  w.programs.push_back({kAlice, id, 1, JobProgram::kEpilog});
  w.ends(1);
  EXPECT_EQ(w.state(id), JobState::kFailed) << "as it had ended by itself";
  EXPECT_EQ(w.job(id).ended()->outcome.exit.code, 3);
}

TEST(JobPrograms, AnEpilogOfWhichNobodyKnowsIsAskedForAgain) {
  Site w(1, false, true);
  const JobId id = w.enter();
  w.started("n0", id);
  w.exited("n0", id, 0);
  w.done("n0", id);
  const base::Time ended = w.now;
  for (int again = 0; again < 3; ++again) {
    w.programs.resize(1);
    w.ends(-1, again == 0 ? ProgramRun::kNotTaken : ProgramRun::kUnknown);
    EXPECT_EQ(w.state(id), JobState::kCompleting);
    w.tick_with_beats(base::minutes(1));
    ASSERT_THAT(w.programs, SizeIs(2));
  }
  w.ends(-1, ProgramRun::kNotStarted);
  EXPECT_EQ(w.state(id), JobState::kCompleted) << "that it cannot be started is known";
  EXPECT_EQ(w.job(id).ended()->ended, ended) << "its epilog is no part of its run";
}

TEST(JobPrograms, WithoutItsPrologAJobIsNotTriedAgainAtOnce) {
  Site w(1, true, false);
  w.settings.max_launch_failures = 1;
  w.core->on_reconfigured(w.now, w.settings, {}, {}, {});
  const JobId id = w.enter();
  w.ends(-1, ProgramRun::kNotTaken);
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_FALSE(w.job(id).is_held());
  EXPECT_EQ(w.job(id).launch_failures, 0U);
  w.tick_with_beats(base::minutes(1));
  EXPECT_EQ(w.state(id), JobState::kConfiguring);
}

TEST(JobPrograms, AfterAPrologThatHasNotRunThereIsNoEpilog) {
  for (const ProgramRun run : {ProgramRun::kNotStarted, ProgramRun::kNotTaken, ProgramRun::kUnknown}) {
    Site w(1, true, true);
    const JobId id = w.enter();
    w.ends(-1, run);
    const bool may_have_run = run == ProgramRun::kUnknown;
    EXPECT_EQ(w.programs.back().program, may_have_run ? JobProgram::kEpilog : JobProgram::kProlog);
    EXPECT_EQ(w.state(id), may_have_run ? JobState::kCompleting : JobState::kPending);
  }
  Site w(1, true, true);
  const JobId id = w.enter();
  w.restart();
  w.connect_all();
  w.ends(-1, ProgramRun::kNotTaken);
  EXPECT_EQ(w.programs.back().program, JobProgram::kEpilog) << "the controller of before may have had it run";
  EXPECT_EQ(w.state(id), JobState::kCompleting);
}

TEST(JobPrograms, OtherNodesAreToldOfARunThatIsPastItsProlog) {
  Site w(2, true, false);
  const JobId id = w.enter(2);
  w.restart();
  w.connect("n1");
  EXPECT_EQ(w.last("n1", kPrepare), nullptr);
  w.connect("n0", {World::run(id, 1, wire::kRunPrepared)});
  ASSERT_NE(w.last("n1", kPrepare), nullptr);
  w.prepared("n1", id);
  EXPECT_EQ(w.state(id), JobState::kRunning);
}

// Its node has given it back already when a late word of another comes.
TEST(JobPrograms, ALateWordDoesNotKeepAJobFromItsEnd) {
  Site w(1, true, false);
  const JobId id = w.enter();
  w.cancel(kAlice, id);
  w.done("n0", id);
  w.prepared("n0", id);
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  w.ends(0);
  EXPECT_EQ(w.state(id), JobState::kCancelled);
}

TEST(JobPrograms, ABackOffIsNotCutByAPrologThatCannotBeRun) {
  Site w(1, true, false);
  w.settings.max_launch_failures = 9;
  w.core->on_reconfigured(w.now, w.settings, {}, {}, {});
  const JobId id = w.enter();
  for (int i = 0; i < 5; ++i) {
    w.ends(1);
    w.tick_with_beats(base::minutes(6));
  }
  w.ends(-1, ProgramRun::kNotTaken);
  EXPECT_GE(w.job(id).waiting()->not_before, w.now + base::seconds(80));
}

// The controller's state was put back to when the prolog ran: the node has the run already.
TEST(JobPrograms, ARunThatANodeHasIsPastItsProlog) {
  Site w(1, true, true);
  const JobId id = w.enter();
  w.programs.clear();
  w.restart();
  w.connect("n0", {World::run(id, 1, wire::kRunStarted)});
  EXPECT_EQ(w.state(id), JobState::kRunning);
  ASSERT_THAT(w.programs, SizeIs(1));
  w.ends(1);
  EXPECT_EQ(w.state(id), JobState::kRunning) << "the prolog that was asked for again says nothing any more";
  w.cancel(kAlice, id);
  EXPECT_NE(w.last("n0", wire::ControllerToNode::kStop), nullptr);
  EXPECT_TRUE(w.holds(id));
}

TEST(JobPrograms, ARunThatIsToEndAndIsThereIsToldSoOnAllItsNodes) {
  Site w(2, true, false);
  const JobId id = w.enter(2);
  w.cancel(kAlice, id);
  w.restart();
  w.connect("n1");
  EXPECT_EQ(w.last("n1", wire::ControllerToNode::kStop), nullptr);
  w.connect("n0", {World::run(id, 1, wire::kRunPrepared)});
  ASSERT_NE(w.last("n0", wire::ControllerToNode::kStop), nullptr);
  ASSERT_NE(w.last("n1", wire::ControllerToNode::kStop), nullptr);
  w.done("n0", id);
  w.done("n1", id);
  EXPECT_EQ(w.state(id), JobState::kCancelled);
}

TEST(JobPrograms, ANodeThatWentAwayMeanwhileIsNotWaitedFor) {
  Site w(2, true, false);
  const JobId id = w.enter();
  ASSERT_EQ(w.job(id).placed()->allocation.node_names(), std::vector<std::string>{"n0"});
  w.cut("n0");
  w.tick_with_beats(w.settings.node_timeout + base::minutes(1));
  ASSERT_EQ(w.state(id), JobState::kConfiguring);
  w.ends(0);
  ASSERT_EQ(w.state(id), JobState::kConfiguring);
  EXPECT_EQ(w.job(id).placed()->allocation.node_names(), std::vector<std::string>{"n1"});
  EXPECT_EQ(w.job(id).launch_failures, 0U);
}

TEST(JobPrograms, ARestartOfTheControllerAsksAgain) {
  Site w(1, true, true);
  const JobId id = w.enter();
  w.programs.clear();
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  ASSERT_THAT(w.programs, SizeIs(1));
  EXPECT_EQ(w.programs.back().program, JobProgram::kProlog);
  w.connect_all();
  EXPECT_EQ(w.state(id), JobState::kConfiguring) << "that the node does not have it says nothing";
  EXPECT_EQ(w.last("n0", kPrepare), nullptr);
  w.ends(0);
  w.started("n0", id);
  w.exited("n0", id, 0);
  w.done("n0", id);
  w.programs.clear();
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  ASSERT_THAT(w.programs, SizeIs(1));
  EXPECT_EQ(w.programs.back().program, JobProgram::kEpilog);
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  w.ends(0);
  EXPECT_EQ(w.state(id), JobState::kCompleted);
}

TEST(JobPrograms, ARunKeepsTheContractThatItWasPlacedWith) {
  Site w(1, false, true);
  const JobId id = w.enter();
  w.started("n0", id);
  w.settings.has_epilog = false;
  w.core->on_reconfigured(w.now, w.settings, {}, {}, {});
  w.pump();
  w.exited("n0", id, 0);
  w.done("n0", id);
  ASSERT_THAT(w.programs, SizeIs(1));
  w.ends(0);
  EXPECT_EQ(w.state(id), JobState::kCompleted);
}

TEST(JobPrograms, WhatIsSaidOfAnotherRunOrProgramIsPassedOver) {
  Site w(1, true, false);
  const JobId id = w.enter();
  w.core->on_program_ended(w.now, id, 1, JobProgram::kEpilog, {});
  w.core->on_program_ended(w.now, id, 2, JobProgram::kProlog, {});
  w.core->on_program_ended(w.now, JobId(99), 1, JobProgram::kProlog, {});
  w.pump();
  EXPECT_EQ(w.last("n0", kPrepare), nullptr);
  w.ends(0);
  w.ends(0);
  EXPECT_EQ(w.state(id), JobState::kConfiguring);
}

TEST(JobPrograms, AComponentsStartWaitsForThePrologsOfAll) {
  Site w(2, true, false);
  wire::ApiRequest request = World::submission(gang(1, 1));
  *request.mutable_submit()->add_components() = request.submit().spec();
  const JobId first(w.ask(kAlice, request).submit().job_id());
  w.schedule();
  ASSERT_THAT(w.programs, SizeIs(2));
  const RunJobProgram late = w.programs.back();
  w.programs.pop_back();
  w.ends(0);
  const JobId early = w.programs.back().job;
  w.prepared(w.job(early).placed()->allocation.node_names().front(), early);
  w.tick_with_beats(w.settings.prepare_timeout() * 2);
  EXPECT_EQ(w.state(first), JobState::kConfiguring);
  EXPECT_EQ(w.state(late.job), JobState::kConfiguring);
  w.tick_with_beats(w.settings.prepare_timeout() - base::seconds(1));
  w.programs.push_back(late);
  w.ends(0);
  w.tick_with_beats(w.settings.prepare_timeout() - base::seconds(1));
  EXPECT_EQ(w.state(first), JobState::kConfiguring) << "its nodes have a whole time-out from then on";
  EXPECT_EQ(w.job(first).attempt, 1U);
  w.prepared(w.job(late.job).placed()->allocation.node_names().front(), late.job);
  EXPECT_EQ(w.state(first), JobState::kRunning);
  EXPECT_EQ(w.state(late.job), JobState::kRunning);
}

}  // namespace
}  // namespace gw::ctld::testing
