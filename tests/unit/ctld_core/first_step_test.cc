// A job that is one step and says with its submission what to run: the step begins with the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/ctld_core/step_world.h"

namespace gw::ctld::testing {
namespace {

using model::JobKind;
using model::JobState;
using ::testing::HasSubstr;

TEST(FirstStep, BeginsWhenItsJobStarts) {
  StepWorld w(2, JobKind::kStep, 8, 'a');
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kStartStep), nullptr) << "the job does not run yet";
  w.run();
  ASSERT_EQ(w.steps().size(), 1u);
  const auto* order = w.last("n1", wire::ControllerToNode::kStartStep);
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->start_step().share().tasks(), 4u) << "it has all of the job's tasks, on all of its nodes";
  EXPECT_EQ(order->start_step().gang().all_tasks(), 8u);
}

TEST(FirstStep, IsAnsweredToWhoAsksWithItsKeyBeforeAndAfterItIsReady) {
  StepWorld w(2, JobKind::kStep, 8, 'a');
  w.run();
  const ConnId early = w.begin('a', 8);
  EXPECT_EQ(w.steps().size(), 1u) << "no second one";
  EXPECT_TRUE(w.replies[early].empty());
  w.ready("n0", 0);
  w.ready("n1", 0);
  EXPECT_EQ(w.answer(early).step().ticket(), "full");
  EXPECT_EQ(w.answer(w.begin('a', 8)).step().ticket(), "full");
}

TEST(FirstStep, CannotBeginTwiceWithItsJob) {
  StepWorld w(1, JobKind::kStep, 4, 'a');
  w.run();
  w.prepared("n0", w.id);
  w.prepared("n0", w.id);
  EXPECT_EQ(w.steps().size(), 1u);
}

TEST(FirstStep, GoesWithAJobThatIsCancelledBeforeItRuns) {
  StepWorld w(1, JobKind::kStep, 4, 'a');
  wire::ApiRequest cancel;
  cancel.mutable_cancel()->mutable_filter()->add_ids(w.id.value);
  w.ask(kAlice, cancel);
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCancelled);
  EXPECT_TRUE(w.steps().empty());
  const wire::ApiReply reply = w.answer(w.begin('a', 4));
  EXPECT_THAT(reply.error().what(), HasSubstr("needs a job that runs"));
}

TEST(FirstStep, IsBegunByTheClientAfterARestart) {
  StepWorld w(1, JobKind::kStep, 4, 'a');
  w.restart();
  w.connect_all();
  w.prepared("n0", w.id);
  EXPECT_TRUE(w.steps().empty()) << "what had not begun is the client's to say again";
  w.begin('a', 4);
  EXPECT_EQ(w.steps().size(), 1u);
}

/// Else the job would hold its nodes for nothing, without an end.
TEST(FirstStep, ThatNobodyAsksForAfterARestartEndsItsJob) {
  StepWorld w(1, JobKind::kStep, 4, 'a');
  w.restart();
  w.connect_all();
  w.prepared("n0", w.id);
  ASSERT_EQ(w.state(w.id), JobState::kRunning);
  w.restart();
  w.connect("n0", {World::run(w.id, 1, wire::kRunStarted)});
  w.tick(base::seconds(59));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.connect("n0", {World::run(w.id, 1, wire::kRunStarted)});
  w.tick(base::seconds(2));
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
}

class StandingStepJob : public ::testing::TestWithParam<bool> {};

/// Whether the controller was restarted meanwhile or not.
TEST_P(StandingStepJob, EndsIfNobodyAsksForItsStepOnceItGoesOn) {
  World w(1);
  w.connect_all();
  wire::ApiRequest request = World::submission(gang(1));
  request.mutable_submit()->clear_script();
  request.mutable_submit()->mutable_spec()->set_kind(static_cast<uint32_t>(JobKind::kStep));
  const JobId id(w.ask(kAlice, request).submit().job_id());
  w.schedule();
  w.prepared("n0", id);
  w.started("n0", id);
  wire::ApiRequest order;
  order.mutable_job_action()->add_ids(id.value);
  order.mutable_job_action()->set_action(wire::kSuspend);
  w.ask(0, order);
  wire::NodeToController stands;
  stands.mutable_suspended()->set_job(id.value);
  stands.mutable_suspended()->set_attempt(1);
  stands.mutable_suspended()->set_round(1);
  w.say("n0", stands);
  ASSERT_EQ(w.state(id), JobState::kSuspended);
  if (GetParam()) {
    w.restart();
    w.connect("n0", {World::run(id, 1, wire::kRunStarted)});
  }
  w.tick_with_beats(base::seconds(61));
  ASSERT_EQ(w.state(id), JobState::kSuspended) << "nobody can ask meanwhile";
  order.mutable_job_action()->set_action(wire::kResume);
  w.ask(0, order);
  w.schedule();
  ASSERT_EQ(w.state(id), JobState::kRunning);
  w.tick_with_beats(base::seconds(61));
  EXPECT_EQ(w.state(id), JobState::kCompleting);
}
INSTANTIATE_TEST_SUITE_P(Restarts, StandingStepJob, ::testing::Bool());

TEST(FirstStep, ThatCannotBeginIsRefusedToItsClientAlone) {
  StepWorld w(1, JobKind::kStep, 4, 'a');
  wire::ApiRequest other = w.submission(StepWorld::request_of(1, 1));
  other.mutable_submit()->clear_script();
  auto& spec = *other.mutable_submit()->mutable_spec();
  spec.set_kind(static_cast<uint32_t>(JobKind::kStep));
  wire::CreateStepRequest& first = *other.mutable_submit()->mutable_first_step();
  first.set_client_key(key_of('b'));
  first.mutable_step()->set_gpus_per_task(99);
  w.id = JobId(w.ask_on(w.conn, kAlice, other).submit().job_id());
  w.schedule();
  const size_t before = w.replies[w.conn].size();
  w.run();
  EXPECT_EQ(w.replies[w.conn].size(), before) << "nobody asked yet";
  EXPECT_TRUE(w.steps().empty());
}

template <typename Op>
size_t count_of(const store::Batch& rows) {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const store::Op& op) { return std::holds_alternative<Op>(op); }));
}

/// A job that was cancelled, whose nodes are about to say that they have cleaned up.
struct Ending : StepWorld {
  explicit Ending(uint32_t nodes) : StepWorld(nodes, JobKind::kStep, 4 * nodes, 'a') {
    wire::ApiRequest cancel;
    cancel.mutable_cancel()->mutable_filter()->add_ids(id.value);
    ask(kAlice, cancel);
    core->take_effects();
  }
  void cleaned_up(uint32_t node, uint64_t peak_mb) {
    wire::NodeToController m;
    m.mutable_done()->set_job(id.value);
    m.mutable_done()->set_attempt(1);
    m.mutable_done()->set_peak_mem_mb(peak_mb);
    core->on_node_message(now, links.at("n" + std::to_string(node)), NodePeer{0, "127.0.0.1"}, m);
  }
};

TEST(CoalescedRows, AreWrittenOnceHoweverManyNodesChangeThem) {
  Ending w(8);
  for (uint32_t i = 0; i < 7; ++i) {
    w.cleaned_up(i, 100 + i);
    const store::Batch rows = w.core->take_effects_early().writes;
    EXPECT_EQ(count_of<store::PutRunNode>(rows), 1U) << "what this node said";
    EXPECT_EQ(count_of<store::PutJobStatus>(rows), 0U);
    EXPECT_TRUE(w.core->has_coalesced_rows());
  }
  const store::Batch rows = w.core->take_coalesced_rows();
  ASSERT_EQ(count_of<store::PutJobStatus>(rows), 1u);
  EXPECT_EQ(std::get<store::PutJobStatus>(rows.back()).row.id, w.id);
  EXPECT_EQ(rows.size(), 2u) << "beside it how far the state has come";
  EXPECT_FALSE(w.core->has_coalesced_rows());
}

TEST(CoalescedRows, OfAJobThatHasEndedMeanwhileAreNotWritten) {
  Ending w(2);
  w.cleaned_up(0, 100);
  ASSERT_TRUE(w.core->has_coalesced_rows());
  w.cleaned_up(1, 50);
  EXPECT_EQ(w.state(w.id), JobState::kCancelled);
  EXPECT_EQ(w.job(w.id).ended()->outcome.peak_mem_mb, 100U);
  EXPECT_FALSE(w.core->has_coalesced_rows());
}

TEST(FirstStep, IsOfAJobThatIsOneStep) {
  StepWorld w(1);
  wire::ApiRequest r = w.submission(StepWorld::request_of(1, 1));
  r.mutable_submit()->mutable_first_step()->set_client_key(key_of('b'));
  EXPECT_THAT(w.ask(kAlice, r).error().what(), HasSubstr("one step"));
  r.mutable_submit()->clear_script();
  r.mutable_submit()->mutable_spec()->set_kind(static_cast<uint32_t>(JobKind::kStep));
  r.mutable_submit()->mutable_first_step()->set_client_key("short");
  EXPECT_THAT(w.ask(kAlice, r).error().what(), HasSubstr("32 bytes"));
}

}  // namespace
}  // namespace gw::ctld::testing
