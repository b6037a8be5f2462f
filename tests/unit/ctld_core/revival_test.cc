// Ended jobs that are requeued: they wait again under their numbers, and what their end had counted counts no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using ::testing::HasSubstr;

class Revival : public World {
 public:
  explicit Revival(Settings base = {}) : World(2, std::move(base)) { connect_all(); }

  wire::ApiReply act(uint32_t uid, const std::vector<JobId>& ids, wire::JobAction action = wire::kRequeue) {
    wire::ApiRequest request;
    for (const JobId id : ids) request.mutable_job_action()->add_ids(id.value);
    request.mutable_job_action()->set_action(action);
    return ask(uid, request);
  }
  /// Why the one job is not requeued; empty: it is.
  std::string denial(uint32_t uid, JobId id, wire::JobAction action = wire::kRequeue) {
    const wire::ApiReply reply = act(uid, {id}, action);
    if (reply.has_error()) return reply.error().what();
    return reply.jobs().faults().empty() ? "" : reply.jobs().faults(0).error().what();
  }
  /// One that has run to its end.
  JobId ended(int code = 1) {
    const JobId id = submit(1000, gang(1, 1));
    run_once(id, code);
    return id;
  }
  void run_once(JobId id, int code) {
    schedule();
    const std::string node = job(id).placed()->allocation.node_names().front();
    started(node, id);
    exited(node, id, code);
    done(node, id);
  }
};

TEST(Revival, AnEndedJobRunsAgainUnderItsNumber) {
  Revival w;
  const JobId id = w.ended(3);
  ASSERT_EQ(w.state(id), JobState::kFailed);
  EXPECT_TRUE(w.store.ended.contains(id));

  ASSERT_EQ(w.denial(1000, id), "");
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_EQ(w.job(id).restarts, 1U);
  EXPECT_TRUE(w.store.jobs.contains(id));
  EXPECT_FALSE(w.store.ended.contains(id)) << "it is not in two tables";
  EXPECT_TRUE(w.store.past_runs.contains({id, 1, 0})) << "its first run is in the records";

  w.run_once(id, 0);
  EXPECT_EQ(w.state(id), JobState::kCompleted);
  EXPECT_EQ(w.job(id).attempt, 2U);
  EXPECT_TRUE(w.store.ended.contains(id));
}

TEST(Revival, ARestartInBetweenChangesNothing) {
  Revival w;
  const JobId id = w.ended();
  ASSERT_EQ(w.denial(1000, id), "");
  w.restart();
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_EQ(w.job(id).restarts, 1U);
  w.connect_all();
  w.run_once(id, 0);
  EXPECT_EQ(w.state(id), JobState::kCompleted);
}

TEST(Revival, OneThatNeverRanWaitsAgainWithoutARecord) {
  Revival w;
  const JobId id = w.submit(1000, gang(1, 1));
  w.cancel(1000, id);
  ASSERT_EQ(w.state(id), JobState::kCancelled);
  ASSERT_EQ(w.denial(1000, id), "");
  EXPECT_EQ(w.job(id).restarts, 0U);
  EXPECT_TRUE(w.store.past_runs.empty());
  w.run_once(id, 0);
  EXPECT_EQ(w.state(id), JobState::kCompleted);
}

TEST(Revival, RequeueholdKeepsItWaiting) {
  Revival w;
  const JobId id = w.ended();
  ASSERT_EQ(w.denial(1000, id, wire::kRequeueHold), "");
  w.schedule();
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_TRUE(w.job(id).spec.hold_user);
}

TEST(Revival, TheEndIsForgottenAtTheTimeOfTheLastOne) {
  Revival w;
  const JobId id = w.ended();
  w.tick(w.settings.min_job_age - base::seconds(10));
  ASSERT_EQ(w.denial(1000, id), "");
  w.tick_with_beats(base::seconds(20));
  ASSERT_TRUE(w.core->jobs().contains(id)) << "the timer of its first end is void";
  w.cancel(1000, id);
  w.tick_with_beats(w.settings.min_job_age - base::seconds(10));
  EXPECT_TRUE(w.core->jobs().contains(id));
  w.tick_with_beats(base::seconds(20));
  EXPECT_FALSE(w.core->jobs().contains(id));
  EXPECT_THAT(w.denial(1000, id), HasSubstr("Invalid job id specified"));
}

TEST(Revival, OnlyByWhoMayAndWhatCanRunAgain) {
  Revival w;
  const JobId id = w.ended();
  EXPECT_THAT(w.denial(1001, id), HasSubstr("ccess"));
  EXPECT_THAT(w.denial(1000, id, wire::kHold), HasSubstr("has ended already")) << "and nothing else is done to it";
  wire::ApiRequest request = World::submission(gang(1, 1));
  request.mutable_submit()->mutable_spec()->set_requeue(false);
  const JobId once(w.ask(1000, request).submit().job_id());
  w.run_once(once, 1);
  EXPECT_THAT(w.denial(1000, once), HasSubstr("--no-requeue"));
}

TEST(Revival, NotWithoutTheEnvironmentThatItHad) {
  Settings settings;
  settings.retention.environments = base::seconds(30);
  Revival w(settings);
  wire::ApiRequest request = World::submission(gang(1, 1));
  request.mutable_submit()->mutable_spec()->mutable_launch()->set_env_hash("e");
  request.mutable_submit()->set_environment("A=1");
  const JobId id(w.ask(1000, request).submit().job_id());
  w.run_once(id, 1);
  ASSERT_EQ(w.denial(1000, id), "");
  w.run_once(id, 1);
  w.tick_with_beats(base::seconds(31));
  EXPECT_THAT(w.denial(1000, id), HasSubstr("its environment has been deleted"));
}

TEST(Revival, WhatASubmissionIsHeldToHoldsAgain) {
  Settings settings;
  settings.per_user.max_jobs = 1;
  Revival w(settings);
  const JobId id = w.ended();
  const JobId other = w.submit(1000, gang(1, 1));
  EXPECT_THAT(w.denial(1000, id), HasSubstr("users.max_jobs"));
  w.cancel(1000, other);
  EXPECT_EQ(w.denial(1000, id), "");
}

TEST(Revival, ASingletonWaitsUntilTheOthersOfItsNameHaveEnded) {
  Revival w;
  wire::ApiRequest request = World::submission(gang(1, 1));
  request.mutable_submit()->mutable_spec()->set_name("one");
  request.mutable_submit()->mutable_spec()->set_dependency("singleton");
  const JobId first(w.ask(1000, request).submit().job_id());
  w.run_once(first, 1);
  const JobId second(w.ask(1000, request).submit().job_id());
  EXPECT_THAT(w.denial(1000, first), HasSubstr("job 2 of its name has not ended"));
  w.run_once(second, 0);
  EXPECT_EQ(w.denial(1000, first), "");
}

TEST(Revival, ThrottledTasksGoAgainOneAfterTheOther) {
  Revival w;
  wire::ApiRequest request = World::submission(gang(1, 1));
  wire::TaskRange& range = *request.mutable_submit()->mutable_array()->add_left();
  range.set_last(2);
  range.set_step(1);
  request.mutable_submit()->mutable_array()->set_throttle(1);
  const JobId array(w.ask(1000, request).submit().job_id());
  const auto going = [&] {
    std::vector<JobId> ids;
    for (const auto& [id, job] : w.core->jobs())
      if (job.state == JobState::kConfiguring) ids.push_back(id);
    return ids;
  };
  const auto run_all = [&] {
    for (int i = 0; i < 3; ++i) {
      w.schedule();
      ASSERT_EQ(going().size(), 1U) << i;
      w.run_once(going().front(), 0);
    }
  };
  run_all();
  ASSERT_EQ(w.denial(1000, array), "");
  run_all();
  EXPECT_TRUE(w.core->arrays().find(array)->is_over());
}

TEST(Revival, ATaskOfAnArrayCountsAsOneThatIsToCome) {
  Revival w;
  wire::ApiRequest request = World::submission(gang(1, 1));
  wire::TaskRange& range = *request.mutable_submit()->mutable_array()->add_left();
  range.set_last(1);
  range.set_step(1);
  const JobId array(w.ask(1000, request).submit().job_id());
  w.schedule();
  std::vector<JobId> tasks;
  for (const auto& [id, job] : w.core->jobs())
    if (job.spec.array && job.spec.array->is_task()) tasks.push_back(id);
  ASSERT_EQ(tasks.size(), 2U);
  for (const JobId id : tasks) w.run_once(id, 1);
  const ArrayTable::Array* counts = w.core->arrays().find(array);
  ASSERT_NE(counts, nullptr);
  EXPECT_EQ(counts->failed, 2U);
  const JobId one = tasks[0] == array ? tasks[1] : tasks[0];  // the array's own number stands for all of it
  ASSERT_EQ(w.denial(1000, one), "");
  EXPECT_EQ(counts->failed, 1U);
  EXPECT_FALSE(counts->is_over());
  w.run_once(one, 0);
  EXPECT_EQ(counts->completed, 1U);
  EXPECT_TRUE(counts->is_over());
  ASSERT_EQ(w.denial(1000, array), "");
  EXPECT_EQ(counts->failed + counts->completed, 0U);
  for (const JobId id : tasks) w.run_once(id, 0);
  EXPECT_EQ(counts->completed, 2U);
  EXPECT_TRUE(counts->is_over());
}

}  // namespace
}  // namespace gw::ctld::testing
