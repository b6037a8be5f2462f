// How a step ended, from a controller that knows it only after a while.
#include "attach/control/step_end.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>

namespace gw::attach {
namespace {

using base::ErrorCode;

constexpr base::Duration kTestLimit = base::seconds(100);
constexpr int64_t kCreated = 1'000'000;

wire::Step step_of(int code, int signo = 0, uint32_t attempt = 1) {
  wire::Step step;
  step.set_attempt(attempt);
  step.set_created_us(kCreated);
  step.set_exit_code(code);
  step.set_exit_signo(signo);
  return step;
}

/// Gives the answers in turn, the last one again and again; what is asked for is kept.
struct FakeController {
  io::Loop loop;
  std::deque<base::Result<wire::Step>> tickets;
  wire::ShowJobReply history;
  bool has_history = true;
  int asked = 0, read = 0;
  std::optional<EndOfStep::Found> found;

  void tell(const char* kind, int64_t at, const char* text) {
    wire::HistoryEvent& event = *history.add_history();
    event.set_kind(kind);
    event.set_time_us(at);
    event.set_text(text);
  }
  base::Result<wire::ApiReply> answer(const wire::ApiRequest& request) {
    wire::ApiReply reply;
    if (request.has_show_job()) {
      EXPECT_TRUE(request.show_job().history() && request.show_job().id() == 7);
      ++read;
      *reply.mutable_show_job() = history;
      return has_history ? base::Result<wire::ApiReply>(reply) : base::fail(ErrorCode::kUnavailable, "away");
    }
    EXPECT_TRUE(request.ticket().watch() && request.ticket().step() == 1);
    ++asked;
    const base::Result<wire::Step> step = tickets.front();
    if (tickets.size() > 1) tickets.pop_front();
    if (!step) return base::pass(step);
    *reply.mutable_step()->mutable_step() = *step;
    return reply;
  }
  EndOfStep::Found find(const wire::Step& seen, base::Duration limit = kTestLimit) {
    const auto ask = [this](const wire::ApiRequest& request, const Errands::ReplyFn& fn) {
      loop.defer([this, request, fn] { fn(answer(request)); });
    };
    EndOfStep end(loop, ask, limit);
    wire::TicketRequest ticket;
    ticket.set_job_id(7);
    ticket.set_step(1);
    ticket.set_watch(true);
    end.find(ticket, seen, [this](const EndOfStep::Found& f) { found = f; });
    EXPECT_FALSE(found) << "nothing is called back from inside a call";
    EXPECT_TRUE(loop.run_until([this] { return found.has_value(); }, kTestLimit));
    return found.value_or(EndOfStep::Found{-1, false});
  }
};

base::Result<wire::Step> gone() { return base::fail(ErrorCode::kNotFound, "job 7 has no step 1"); }

TEST(EndOfStep, IsWaitedForUntilTheControllerKnowsIt) {
  FakeController c;
  c.tickets = {step_of(3), step_of(3), step_of(4), gone()};
  c.tell("step ended", kCreated + 5, "step 7.1 4:0");
  const auto found = c.find(step_of(3));
  EXPECT_TRUE(found.is_known);
  EXPECT_EQ(found.code, 4);
  EXPECT_EQ(c.asked, 4);
  EXPECT_EQ(c.read, 1);
}

TEST(EndOfStep, OfASignalIsTheHigherCode) {
  FakeController c;
  c.tickets = {gone()};
  c.tell("step ended", kCreated + 5, "step 7.1 0:15: ended by ann");
  EXPECT_EQ(c.find(step_of(3)).code, 143);
}

TEST(EndOfStep, IsThatOfThisStepInThisAttempt) {
  FakeController c;
  c.tickets = {step_of(0, 0, 2)};  // the job was requeued
  c.tell("step ended", kCreated + 50, "step 7.1 9:0");
  c.tell("step ended", kCreated + 6, "step 7.0 8:0");
  c.tell("step ended", kCreated + 5, "step 7.1 4:0");
  c.tell("step cancelled", kCreated + 4, "step 7.1 7:0");
  c.tell("step ended", kCreated - 5, "step 7.1 6:0");
  c.tell("step ended", kCreated + 60, "step 7.1 10:0");  // in no order
  const auto found = c.find(step_of(0));
  EXPECT_TRUE(found.is_known);
  EXPECT_EQ(found.code, 4);
}

TEST(EndOfStep, IsNotKnownWhereTheHistoryDoesNotTellIt) {
  FakeController c;
  c.tickets = {step_of(4), gone()};
  c.tell("step ended", kCreated + 6, "step 7.0 8:0");
  const auto found = c.find(step_of(3));
  EXPECT_FALSE(found.is_known);
  EXPECT_EQ(found.code, 4);
  c.has_history = false;
  c.found.reset();
  EXPECT_FALSE(c.find(step_of(3)).is_known);
}

TEST(EndOfStep, OfAControllerOutOfReachIsNotKnown) {
  FakeController c;
  c.tickets = {base::fail(ErrorCode::kUnavailable, "out of reach")};
  const auto found = c.find(step_of(0, 9));
  EXPECT_FALSE(found.is_known);
  EXPECT_EQ(found.code, 137);
  EXPECT_EQ(c.read, 0);
}

TEST(EndOfStep, IsWaitedForNoLongerThanTheLimit) {
  FakeController c;
  c.tickets = {step_of(4)};
  const auto found = c.find(step_of(3), base::milliseconds(60));
  EXPECT_FALSE(found.is_known);
  EXPECT_EQ(found.code, 4);
}

}  // namespace
}  // namespace gw::attach
