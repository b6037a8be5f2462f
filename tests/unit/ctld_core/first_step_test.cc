// A job that is one step and says with its submission what to run: the step begins with the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(LateRows, AreWrittenOnceHoweverManyNodesChangeThem) {
  StepWorld w(8, JobKind::kStep, 32, 'a');
  w.core->take_effects();
  for (int i = 0; i < 7; ++i) {
    wire::NodeToController m;
    m.mutable_prepared()->set_job(w.id.value);
    m.mutable_prepared()->set_attempt(1);
    w.core->on_node_message(w.now, w.links.at("n" + std::to_string(i)), NodePeer{0, "127.0.0.1"}, m);
    EXPECT_TRUE(w.core->take_effects_early().writes.empty());
    EXPECT_TRUE(w.core->has_late_rows());
  }
  const store::Batch rows = w.core->take_late_rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(std::get<store::PutJobStatus>(rows[0]).row.id, w.id);
  EXPECT_FALSE(w.core->has_late_rows());
}

TEST(LateRows, OfAJobThatHasEndedMeanwhileAreNotWritten) {
  StepWorld w(2, JobKind::kStep, 8, 'a');
  w.core->take_effects();
  wire::NodeToController m;
  m.mutable_prepared()->set_job(w.id.value);
  m.mutable_prepared()->set_attempt(1);
  w.core->on_node_message(w.now, w.links.at("n0"), NodePeer{0, "127.0.0.1"}, m);
  ASSERT_TRUE(w.core->has_late_rows());
  wire::ApiRequest cancel;
  cancel.mutable_cancel()->mutable_filter()->add_ids(w.id.value);
  w.ask(kAlice, cancel);
  w.done("n0", w.id);
  w.done("n1", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCancelled);
  EXPECT_FALSE(w.core->has_late_rows());
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
