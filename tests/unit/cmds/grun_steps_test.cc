// The steps of a call: one after another, given back where not all can be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "cmds/grun/run_steps.h"

namespace gw::cmds {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A call with two members in job 7 and one in job 8, and a controller that answers when it is told to.
struct Asked {
  io::Loop loop;
  auth::KeyPair key;
  attach::Errands tickets{loop, []() -> base::Result<client::Connection> { return base::invalid("nobody"); }};
  std::deque<std::pair<wire::CreateStepRequest, attach::Errands::ReplyFn>> created;
  std::vector<std::string> ended, said, tickets_asked;
  std::deque<attach::Errands::ReplyFn> endings;
  std::optional<base::Status> done;
  RunSteps steps;

  explicit Asked(base::Duration patience = base::seconds(3600))
      : steps(
            loop,
            {[this](wire::ApiRequest r, attach::Errands::ReplyFn fn) {
               created.emplace_back(r.create_step(), std::move(fn));
             },
             [this](const wire::ApiRequest& r, attach::Errands::ReplyFn fn) {
               if (r.has_ticket()) return give_ticket(r.ticket(), fn);
               ended.push_back(std::to_string(r.signal_step().job_id()) + "." + std::to_string(r.signal_step().step()));
               endings.push_back(std::move(fn));
             },
             tickets},
            key, [this](const std::string& text) { said.push_back(text); }, patience) {
    std::vector<MemberStep> members(3);
    for (size_t i = 0; i < 3; ++i) members[i].job.id = i < 2 ? 7 : 8;
    steps.create(members, false, [this](base::Status status) { done = std::move(status); });
  }

  void give_ticket(const wire::TicketRequest& asked, const attach::Errands::ReplyFn& fn) {
    EXPECT_EQ(asked.client_key(), std::string(auth::view(key.public_key())));
    tickets_asked.push_back(std::to_string(asked.job_id()) + "." + std::to_string(asked.step()));
    wire::ApiReply reply;
    reply.mutable_step()->set_ticket("ticket");
    fn(reply);
  }
  /// The controller has made the step that was asked for first, with this number on so many nodes.
  void make(uint32_t number, int nodes = 1) {
    auto [request, fn] = std::move(created.front());
    created.pop_front();
    wire::ApiReply reply;
    wire::Step& step = *reply.mutable_step()->mutable_step();
    step.set_job(request.job_id());
    step.set_step(number);
    for (int i = 0; i < nodes; ++i) step.add_nodes();
    fn(reply);
  }
  std::vector<uint32_t> numbers() const {
    std::vector<uint32_t> out;
    for (const wire::Step& step : steps.steps()) out.push_back(step.step());
    return out;
  }
};

TEST(RunSteps, AreAskedForOneAfterAnother) {
  Asked a;
  ASSERT_EQ(a.created.size(), 1U);
  const std::string first = a.created.front().first.client_key();
  EXPECT_EQ(first, std::string(auth::view(a.key.public_key()))) << "an allocation was told this one";
  a.make(3, 2);
  ASSERT_EQ(a.created.size(), 1U);
  EXPECT_NE(a.created.front().first.client_key(), first) << "the controller would take it for the same step";
  EXPECT_THAT(a.created.front().first.beside(), ElementsAre(3));
  a.make(4);
  EXPECT_THAT(a.created.front().first.beside(), IsEmpty()) << "in another job";
  EXPECT_FALSE(a.done);
  EXPECT_TRUE(a.steps.steps().empty());
  a.make(0);
  ASSERT_TRUE(a.done && *a.done);
  EXPECT_THAT(a.numbers(), ElementsAre(3, 4, 0));
  EXPECT_THAT(a.tickets_asked, ElementsAre("7.3", "7.4", "8.0")) << "once for all nodes of each";
  for (size_t node = 0; node < 4; ++node) EXPECT_TRUE(a.steps.ticket_for(node));
}

TEST(RunSteps, ThoseThatWaitTooLongForAnotherAreGivenBackAndAskedForAnew) {
  Asked a(base::milliseconds(1));
  const std::string first = a.created.front().first.client_key();
  a.make(3);
  ASSERT_TRUE(a.loop.run_until([&a] { return !a.ended.empty(); }, base::seconds(60)));
  EXPECT_THAT(a.ended, ElementsAre("7.3"));
  EXPECT_THAT(a.said, ElementsAre("step 7.3 is given back until another can be had"));
  ASSERT_EQ(a.created.size(), 1U) << "the other stays asked for";
  a.make(5);
  EXPECT_NE(a.created.front().first.client_key(), first);
  EXPECT_THAT(a.created.front().first.beside(), ElementsAre(5));
  a.make(6);
  a.make(1);
  ASSERT_TRUE(a.done && *a.done);
  EXPECT_THAT(a.numbers(), ElementsAre(6, 5, 1)) << "in the order of their ranks";
}

TEST(RunSteps, WhatThereIsOfThemIsGivenBack) {
  Asked a;
  a.make(3);
  a.make(4);
  bool is_over = false;
  a.steps.give_back([&] { is_over = true; });
  EXPECT_THAT(a.ended, ElementsAre("7.3", "7.4"));
  a.make(9);
  EXPECT_THAT(a.ended, ElementsAre("7.3", "7.4", "8.9")) << "it came after all";
  while (!a.endings.empty()) {
    EXPECT_FALSE(is_over);
    a.endings.front()(wire::ApiReply());
    a.endings.pop_front();
  }
  EXPECT_TRUE(is_over);
  EXPECT_FALSE(a.done);
}

TEST(RunSteps, ThoseOfAJobThatIsCancelledAreForgotten) {
  Asked a;
  EXPECT_EQ(a.steps.held().us, 0);
  a.make(3);
  EXPECT_GE(a.steps.held().us, 0);
  a.steps.forget();
  a.make(4);
  EXPECT_TRUE(a.created.empty()) << "the third is not asked for any more";
  EXPECT_TRUE(a.ended.empty()) << "they end with the job";
  EXPECT_FALSE(a.done);
}

TEST(RunSteps, ARefusalAfterwardsEndsNothing) {
  Asked a;
  a.make(3);
  a.steps.forget();
  a.created.front().second(base::fail(base::ErrorCode::kConflict, "the job is ending"));
  EXPECT_FALSE(a.done) << "who was interrupted hears of no refusal";
}

TEST(RunSteps, ARefusalIsTold) {
  Asked a;
  a.make(3);
  a.created.front().second(base::fail(base::ErrorCode::kConflict, "too small"));
  ASSERT_TRUE(a.done && !*a.done);
  EXPECT_EQ(a.done->error().what, "Unable to create step for job 7: too small");
  EXPECT_TRUE(a.steps.has_some()) << "and is to be given back";
}

}  // namespace
}  // namespace gw::cmds
