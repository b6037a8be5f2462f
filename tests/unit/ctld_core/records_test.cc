// What accounting keeps of steps and of runs that did not end their job, in the commit in which these go.
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/step_world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::StepWorld;

wire::PastRun past(const StepWorld& w, uint32_t attempt, uint32_t step) {
  wire::PastRun run;
  const auto found = w.store.past_runs.find({w.id, attempt, step});
  EXPECT_TRUE(found != w.store.past_runs.end()) << "no record of attempt " << attempt << ", step " << step;
  if (found != w.store.past_runs.end()) {
    EXPECT_TRUE(run.ParseFromString(found->second.bytes));
  }
  return run;
}

wire::NodeToController step_done(const StepWorld& w, uint32_t step, uint64_t cpu_us) {
  wire::NodeToController m;
  m.mutable_done()->set_job(w.id.value);
  m.mutable_done()->set_attempt(w.job(w.id).attempt);
  m.mutable_done()->set_step(step + 1);
  model::RunUse use;
  use.add_task(step, {cpu_us, 0, 0, 0, 0, 0});
  use.user_us = cpu_us;
  *m.mutable_done()->mutable_use() = wire::to_wire(use);
  return m;
}

TEST(StepRecords, AStepIsKeptWithWhatItUsedOnAllNodes) {
  StepWorld w(2);
  w.run();
  w.begin('a', 2, 2);
  w.ready("n0", 0);
  w.ready("n1", 0);
  w.step_exit("n0", 0, 3);
  w.step_exit("n1", 0, 0);
  w.say("n0", step_done(w, 0, 10));
  EXPECT_TRUE(w.store.past_runs.empty());
  w.restart();
  wire::RunState run_here, step_here;  // what the first node said is not lost with the controller
  run_here.set_job(w.id.value), run_here.set_attempt(1), run_here.set_phase(wire::kRunStarted);
  step_here = run_here;
  step_here.set_step(1);
  w.connect("n0", {run_here});
  w.connect("n1", {run_here, step_here});
  w.say("n1", step_done(w, 0, 30));
  const wire::PastRun run = past(w, 1, 1);
  EXPECT_EQ(run.nodes(), "n[0-1]");
  EXPECT_EQ(run.end(), static_cast<uint32_t>(JobState::kFailed));
  EXPECT_EQ(run.of_step().exit_code(), 3);
  EXPECT_EQ(run.of_step().use().user_us(), 40u);
  EXPECT_EQ(run.of_step().use().spreads(0).most_node(), "n1");
  EXPECT_TRUE(run.of_step().client_key().empty());
  EXPECT_TRUE(w.store.steps.empty()) << "of two places it is in one";
  EXPECT_EQ(w.job(w.id).derived_exit.code, 3);
}

TEST(StepRecords, HowAStepCameOut) {
  const struct {
    int code, signo;
    bool is_cancelled;
    JobState end;
  } kCases[] = {{0, 0, false, JobState::kCompleted},
                {1, 0, false, JobState::kFailed},
                {0, 11, false, JobState::kFailed},
                {0, 15, true, JobState::kCancelled},
                {4, 0, true, JobState::kFailed}};
  for (const auto& c : kCases) {
    StepWorld w(1);
    w.run();
    w.begin('a', 1);
    w.ready("n0", 0);
    if (c.is_cancelled) w.cancel(testing::kAlice, w.id);
    w.step_exit("n0", 0, c.code, c.signo);
    w.step_gone("n0", 0);
    EXPECT_EQ(past(w, 1, 1).end(), static_cast<uint32_t>(c.end)) << c.code << ":" << c.signo;
  }
}

TEST(RunRecords, ARunThatIsRequeuedIsKept) {
  StepWorld w(1, model::JobKind::kBatch);
  w.run();
  w.tick(base::seconds(5));
  wire::ApiRequest requeue;
  requeue.mutable_job_action()->add_ids(w.id.value);
  requeue.mutable_job_action()->set_action(wire::kRequeue);
  ASSERT_EQ(w.ask(testing::kAlice, requeue).jobs().done_size(), 1);
  EXPECT_TRUE(w.store.past_runs.empty());
  w.done("n0", w.id);
  const wire::PastRun run = past(w, 1, 0);
  EXPECT_EQ(run.nodes(), "n0");
  EXPECT_GT(run.started_us(), 0);
  EXPECT_GT(run.ended_us(), run.started_us());
  EXPECT_EQ(run.cpus(), w.store.jobs.empty() ? 0 : run.first().cpus());
  EXPECT_EQ(w.store.past_runs.size(), 1u);
}

/// It had not begun: there is nothing to account for.
TEST(RunRecords, ALaunchThatFailedIsNoRun) {
  StepWorld w(1, model::JobKind::kBatch);
  w.cut("n0");
  w.connect("n0", {}, "b2");
  EXPECT_TRUE(w.store.past_runs.empty());
}

}  // namespace
}  // namespace gw::ctld
