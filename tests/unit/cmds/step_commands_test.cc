// Steps in the commands: their names, which are listed, and ending them, against a controller that answers from a
// table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cmds/gcancel/step_cancel.h"
#include "cmds/gcontrol/control_step.h"
#include "cmds/shared/step_list.h"
#include "model/job.h"

namespace gw::cmds {
namespace {

using base::Duration;
using base::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StepChoice chosen(std::string_view text) {
  StepChoice choice;
  EXPECT_TRUE(parse_step_ids(text, choice).has_value()) << text;
  return choice;
}

TEST(StepIds, JobsStepsAndScripts) {
  const StepChoice choice = chosen("7,8.0,5-6,8.batch,9+1.4294967295,9.extern");
  EXPECT_THAT(choice.jobs, ElementsAre(7, 5, 6));
  EXPECT_THAT(choice.steps, ElementsAre(StepId{8, 0}, StepId{8, std::nullopt}, StepId{10, 4294967295u},
                                        StepId{9, std::nullopt, true}));
  EXPECT_EQ(choice.steps[1].text(), "8.batch");
  EXPECT_EQ(choice.steps[3].text(), "9.extern");
}

TEST(StepIds, OfTasksOfArrays) {
  StepChoice choice;
  ASSERT_TRUE(parse_step_ids("5_3.0,5_3.batch,5_[1-3,7],6", choice).has_value());
  ASSERT_EQ(choice.steps.size(), 2u);
  EXPECT_EQ(choice.steps[0].text(), "5_3.0");
  EXPECT_EQ(choice.steps[1].text(), "5_3.batch");
  EXPECT_EQ(choice.tasks.at(5), "1-3,7");
  EXPECT_THAT(choice.jobs, ElementsAre(6));
}

TEST(StepIds, BadOnesAreNamed) {
  for (const char* text :
       {"", "7.", "7.x", ".0", "7.-1", "7.0.1", "7.4294967296", "7-8.0", "0.0", "7_[1-2].0", "7_.0", "7.0,"}) {
    StepChoice choice;
    const auto done = parse_step_ids(text, choice);
    ASSERT_FALSE(done.has_value()) << text;
    EXPECT_THAT(done.error().what, HasSubstr("Invalid ")) << text;
  }
}

wire::Job job(uint32_t id, uint32_t het_job = 0) {
  wire::Job out;
  out.set_id(id);
  out.mutable_spec()->set_het_job(het_job);
  out.mutable_spec()->set_het_offset(het_job == 0 ? 0 : id - het_job);
  out.mutable_status()->set_state(static_cast<uint32_t>(model::JobState::kRunning));
  out.mutable_status()->mutable_placed()->add_shares()->set_node("n1");
  return out;
}

/// Jobs 7 with steps 0 and 10, and 8, which is two jobs, with a step in its second; job 20 is in neither filter nor
/// list.
StepReplies replies() {
  StepReplies r;
  *r.jobs.add_jobs() = job(9, 8);
  *r.jobs.add_jobs() = job(8, 8);
  *r.jobs.add_jobs() = job(7);
  for (const auto& [id, number] : {std::pair(20u, 0u), {9, 0}, {7, 10}, {7, 0}}) {
    wire::Step& step = *r.steps.add_steps();
    step.set_job(id);
    step.set_step(number);
  }
  return r;
}

std::vector<std::string> listed(const char* choice, bool passing_jobs_only = false) {
  const StepReplies r = replies();
  std::vector<std::string> ids;
  for (const client::StepRow& row : step_rows(r, *choice == 0 ? StepChoice{} : chosen(choice), passing_jobs_only))
    ids.push_back(client::step_id(row));
  return ids;
}

TEST(StepRows, AreThoseChosenByJobThenStep) {
  EXPECT_THAT(listed(""), ElementsAre("7.batch", "7.0", "7.10", "8.batch", "9.0", "20.0"));
  EXPECT_THAT(listed("", true), ElementsAre("7.batch", "7.0", "7.10", "8.batch", "9.0"));
  EXPECT_THAT(listed("7.10,7.batch"), ElementsAre("7.batch", "7.10"));
  EXPECT_THAT(listed("8"), ElementsAre("8.batch", "9.0")) << "a job with its components";
  EXPECT_THAT(listed("9"), ElementsAre("9.0"));
}

TEST(ShowStep, WhatIsNotThereIsNamed) {
  StepReplies r = replies();
  const auto says = [&r](const char* text) {
    const StepChoice choice = chosen(text);
    const auto shown = check_shown(choice, r, step_rows(r, choice, false));
    return shown ? "" : shown.error().what;
  };
  EXPECT_EQ(says("7,7.0,7.batch"), "");
  EXPECT_EQ(says("7.0,7.3"), "Invalid step id specified: 7.3");
  EXPECT_EQ(says("9.batch"), "Invalid step id specified: 9.batch");
  EXPECT_EQ(says("7.extern"), "Invalid step id specified: 7.extern");
  r.jobs.add_unknown_ids(99);
  EXPECT_EQ(says("99"), "Invalid job id specified: 99");
}

using Answers = std::map<uint32_t, ErrorCode>;  ///< By job; the others succeed.

class Controller final : public client::Channel {
 public:
  Controller(std::vector<wire::ApiRequest>& seen, const Answers& answers) : seen_(seen), answers_(answers) {}
  base::Status send(std::string_view message, Duration) override {
    EXPECT_TRUE(request_.ParseFromArray(message.data(), static_cast<int>(message.size())));
    seen_.push_back(request_);
    return {};
  }
  base::Result<std::string> receive(Duration) override {
    wire::ApiReply reply;
    if (request_.has_signal_step()) fail(request_.signal_step().job_id(), *reply.mutable_error());
    if (request_.has_signal_step() && reply.error().code() == 0) reply.mutable_ok();
    if (request_.has_cancel()) reply.mutable_cancel();
    if (request_.has_cancel() && answers_.contains(request_.cancel().filter().ids(0)))
      fail(request_.cancel().filter().ids(0), *reply.mutable_cancel()->add_faults()->mutable_error());
    if (request_.has_list_steps()) *reply.mutable_list_steps() = replies().steps;
    if (request_.has_list_jobs()) *reply.mutable_list_jobs() = jobs_that_pass();
    reply.set_id(request_.id());
    return reply.SerializeAsString();
  }

 private:
  void fail(uint32_t id, wire::Error& error) const {
    const auto answer = answers_.find(id);
    if (answer == answers_.end()) return;
    error.set_code(static_cast<uint32_t>(answer->second));
    error.set_what("no luck");
  }
  /// Those of the table, by their ids alone.
  wire::ListJobsReply jobs_that_pass() const {
    wire::ListJobsReply out;
    const StepReplies known = replies();
    const auto& ids = request_.list_jobs().filter().ids();
    for (const wire::Job& job : known.jobs.jobs())
      if (ids.empty() || std::find(ids.begin(), ids.end(), job.id()) != ids.end()) *out.add_jobs() = job;
    return out;
  }

  std::vector<wire::ApiRequest>& seen_;
  const Answers& answers_;
  wire::ApiRequest request_;
};

/// A controller, what it was asked, and what a command says of its answers.
struct Bench {
  Answers answers = {};
  std::vector<wire::ApiRequest> seen = {};
  std::string said = {};

  client::Connection connect() {
    return {{"gtest", false},
            "host:1",
            base::seconds(1),
            [this](Duration) -> base::Result<std::unique_ptr<client::Channel>> {
              return std::make_unique<Controller>(seen, answers);
            },
            {[] { return Duration{}; }, [](Duration) {}}};
  }
  int cancel(const char* steps, const CancelManner& manner, bool is_slurm = false) {
    client::Connection connection = connect();
    testing::internal::CaptureStderr();
    const int code =
        cancel_steps({is_slurm ? "scancel" : "gcancel", is_slurm}, connection, chosen(steps).steps, manner);
    said = testing::internal::GetCapturedStderr();
    return code;
  }
};

TEST(AskSteps, IdsOfJobsThatDoNotPassAskForNoSteps) {
  Bench bench;
  client::Connection connection = bench.connect();
  wire::JobFilter filter;
  add_job_ids(chosen("7.0,7.1,8"), filter);
  EXPECT_THAT(filter.ids(), ElementsAre(7, 8));
  ASSERT_TRUE(ask_steps(connection, filter).has_value());
  EXPECT_THAT(bench.seen.back().list_steps().job_ids(), ElementsAre(8, 7));
  filter.clear_ids();
  add_job_ids(chosen("99"), filter);
  const auto none = ask_steps(connection, filter);
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(bench.seen.back().has_list_jobs()) << "no ids would mean all steps";
  EXPECT_THAT(none->steps.steps(), IsEmpty());
}

TEST(CancelSteps, EndsAndSignalsInSilence) {
  Bench bench;
  EXPECT_EQ(bench.cancel("7.0,8.3", {}), 0);
  ASSERT_EQ(bench.seen.size(), 2u);
  EXPECT_EQ(bench.seen[1].signal_step().job_id(), 8u);
  EXPECT_EQ(bench.seen[1].signal_step().step(), 3u);
  EXPECT_EQ(bench.seen[1].signal_step().signo(), 0);
  EXPECT_EQ(bench.cancel("7.0,7.batch", {.signo = 10}), 0);
  EXPECT_EQ(bench.seen[2].signal_step().signo(), 10);
  EXPECT_THAT(bench.seen[3].cancel().filter().ids(), ElementsAre(7));
  EXPECT_TRUE(bench.seen[3].cancel().batch_only());
  EXPECT_EQ(bench.seen[3].cancel().signo(), 10);
  EXPECT_EQ(bench.said, "");
  EXPECT_EQ(bench.cancel("7.3,7.batch", {.signo = 10, .verbose = true}), 0);
  EXPECT_EQ(bench.said, "gcancel: Signal 10 to step 7.3\ngcancel: Signal 10 to step 7.batch\n");
}

TEST(CancelSteps, WhatWentWrong) {
  const struct {
    ErrorCode answer;
    const char* steps;
    CancelManner manner;
    int code;
    const char* says;
  } cases[] = {
      {ErrorCode::kNotFound, "7.0", {}, 1, "gcancel: error: step 7.0: no luck\n"},
      {ErrorCode::kNotFound, "7.0", {.signo = 10}, 1, "gcancel: error: step 7.0: no luck\n"},
      {ErrorCode::kConflict, "7.0", {}, 0, ""},
      {ErrorCode::kConflict, "7.0", {.verbose = true}, 0, "gcancel: nothing to cancel: step 7.0: no luck\n"},
      {ErrorCode::kConflict, "7.0", {.signo = 10}, 1, "gcancel: error: step 7.0: no luck\n"},
      {ErrorCode::kDenied, "7.0", {}, 1, "gcancel: error: step 7.0: no luck\n"},
      {ErrorCode::kDenied, "7.0", {.quiet = true}, 1, ""},
      {ErrorCode::kDenied, "7.batch", {.signo = 10}, 1, "gcancel: error: step 7.batch: no luck\n"},
      {ErrorCode::kDenied,
       "7.0,8.0",
       {.verbose = true},
       1,
       "gcancel: error: step 7.0: no luck\ngcancel: Terminating step 8.0\n"},
  };
  for (const auto& c : cases) {
    Bench bench{.answers = {{7, c.answer}}};
    EXPECT_EQ(bench.cancel(c.steps, c.manner), c.code) << c.says;
    EXPECT_EQ(bench.said, c.says);
  }
  Bench slurm{.answers = {{7, ErrorCode::kDenied}}};
  EXPECT_EQ(slurm.cancel("7.0", {}, true), 1);
  Bench gone{.answers = {{7, ErrorCode::kNotFound}}};
  EXPECT_EQ(gone.cancel("7.0", {}, true), 0) << "scancel passes over what is not there";
  EXPECT_EQ(slurm.said, "scancel: error: Kill job error on job step id 7.0: no luck\n");
}

TEST(CancelSteps, AScriptIsSignalledButNotEndedAlone) {
  const auto refused = check_steps(chosen("7.0,7.batch").steps, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().text(),
            "7.batch: a batch script cannot be ended apart from its job (7 ends the job; -s TERM 7.batch signals the "
            "batch script)");
  EXPECT_EQ(check_steps(chosen("7.extern").steps, {.signo = 15}).error().text(),
            "7.extern is the allocation, which runs nothing by itself (7 ends the job)");
  EXPECT_TRUE(check_steps(chosen("7.0,7.batch").steps, {.signo = 15}).has_value());
  EXPECT_TRUE(check_steps(chosen("7.batch").steps, {.signo = 15, .batch = true}).has_value());
  EXPECT_FALSE(check_steps(chosen("7.0").steps, {.signo = 15, .batch = true}).has_value());
}

TEST(CancelSteps, FiltersAreAboutTheJobsOfTheSteps) {
  Bench bench;
  client::Connection connection = bench.connect();
  wire::JobFilter filter;
  filter.add_users("alice");
  filter.add_ids(5);
  const auto passing = steps_that_pass(connection, chosen("7.0,99.0,8.batch").steps, filter);
  ASSERT_TRUE(passing.has_value());
  EXPECT_THAT(*passing, ElementsAre(StepId{7, 0}, StepId{8, std::nullopt}));
  EXPECT_THAT(bench.seen.back().list_jobs().filter().users(), ElementsAre("alice"));
  EXPECT_THAT(bench.seen.back().list_jobs().filter().ids(), ElementsAre(7, 8, 99));
}

}  // namespace
}  // namespace gw::cmds
