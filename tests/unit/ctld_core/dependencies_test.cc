// Jobs that wait for other jobs: when they become eligible, what never does, changes, restarts, and strangers' jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using model::WaitReason;
using ::testing::HasSubstr;

constexpr uint32_t kUser = 1000;

wire::ApiRequest waiting_for(const std::string& dependency, bool kill = false) {
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_dependency(dependency);
  r.mutable_submit()->mutable_spec()->set_kill_on_invalid_dependency(kill);
  return r;
}

JobId submit(World& w, const std::string& dependency, bool kill = false, uint32_t uid = kUser) {
  const wire::ApiReply reply = w.ask(uid, waiting_for(dependency, kill));
  EXPECT_FALSE(reply.has_error()) << reply.error().what();
  return JobId(reply.submit().job_id());
}

std::string refusal(World& w, const std::string& dependency, uint32_t uid = kUser) {
  return w.ask(uid, waiting_for(dependency)).error().what();
}

void run_to_the_end(World& w, JobId id, int code) {
  w.schedule();
  w.started("n0", id);
  w.exited("n0", id, code);
  w.done("n0", id);
}

WaitReason reason(World& w, JobId id) { return w.job(id).waiting()->reason; }
std::string left(World& w, JobId id) { return model::format_dependency(w.job(id).unmet); }
bool is_eligible(World& w, JobId id) { return w.job(id).waiting() != nullptr && static_cast<bool>(w.job(id).eligible); }

TEST(Depends, AfterokStartsOnceTheOtherHasEndedWell) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kUser, gang(1)), second = submit(w, "afterok:" + first.text());
  w.schedule();
  EXPECT_EQ(w.state(first), JobState::kConfiguring);
  EXPECT_EQ(reason(w, second), WaitReason::kDependency);
  EXPECT_EQ(left(w, second), "afterok:1(unfulfilled)");
  EXPECT_FALSE(is_eligible(w, second));
  w.now = w.now + base::seconds(1);
  run_to_the_end(w, first, 0);
  EXPECT_EQ(w.state(first), JobState::kCompleted);
  EXPECT_EQ(w.job(second).eligible, w.now) << "it is eligible since its dependency was met";
  EXPECT_TRUE(w.job(second).unmet.is_met());
  w.schedule();
  EXPECT_EQ(w.state(second), JobState::kConfiguring);
}

TEST(Depends, WhatCanNeverBeMetIsSaidAtOnceAndEndsWhereAskedFor) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kUser, gang(1));
  const JobId stays = submit(w, "afterok:1"), ends = submit(w, "afterok:1", true), next = submit(w, "afterok:3", true);
  run_to_the_end(w, first, 3);
  EXPECT_EQ(w.state(first), JobState::kFailed);
  EXPECT_EQ(reason(w, stays), WaitReason::kDependencyNeverSatisfied);
  EXPECT_EQ(left(w, stays), "afterok:1(failed)");
  EXPECT_EQ(w.state(ends), JobState::kCancelled);
  EXPECT_EQ(w.job(ends).ended()->outcome.reason, model::EndReason::kDependencyNeverSatisfied);
  EXPECT_EQ(w.state(next), JobState::kCancelled) << "one falls after the other";
  const JobId late = submit(w, "afterok:1"), gone = submit(w, "afterok:1", true);
  EXPECT_EQ(reason(w, late), WaitReason::kDependencyNeverSatisfied);
  EXPECT_EQ(w.state(gone), JobState::kCancelled);
  w.schedule();
  EXPECT_EQ(w.state(stays), JobState::kPending);
}

TEST(Depends, OneOfSeveralIsEnoughWithAQuestionMark) {
  World w(1);
  w.connect_all();
  const JobId a = w.submit(kUser, gang(1)), b = w.submit(kUser, gang(1));
  const JobId any = submit(w, "afterok:1?afterok:2"), all = submit(w, "afterany:1,afterok:2");
  run_to_the_end(w, a, 1);
  EXPECT_EQ(reason(w, any), WaitReason::kDependency) << "the other may end well";
  EXPECT_EQ(left(w, all), "afterok:2(unfulfilled)") << "what is met is gone";
  run_to_the_end(w, b, 0);
  EXPECT_TRUE(is_eligible(w, any));
  EXPECT_TRUE(is_eligible(w, all));
}

TEST(Depends, AfterCountsFromTheStart) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kUser, gang(1)), at_once = submit(w, "after:1"), later = submit(w, "after:1+2");
  w.schedule();
  EXPECT_EQ(reason(w, at_once), WaitReason::kDependency) << "it is placed, but has not started";
  w.started("n0", first);
  EXPECT_TRUE(is_eligible(w, at_once));
  EXPECT_EQ(reason(w, later), WaitReason::kDependency);
  w.tick_with_beats(base::seconds(119));
  EXPECT_FALSE(is_eligible(w, later));
  w.tick_with_beats(base::seconds(2));
  EXPECT_TRUE(w.job(later).unmet.is_met());
}

TEST(Depends, SingletonsRunOneAfterTheOther) {
  World w(1);
  w.connect_all();
  const JobId first = submit(w, "singleton"), second = submit(w, "singleton"), third = submit(w, "singleton");
  const JobId strangers = submit(w, "singleton", false, 1001);
  EXPECT_TRUE(is_eligible(w, first));
  EXPECT_TRUE(is_eligible(w, strangers)) << "names are each user's own";
  EXPECT_EQ(reason(w, second), WaitReason::kDependency);
  w.ask(kUser, [&] {
    wire::ApiRequest r;
    r.mutable_update_job()->add_ids(third.value);
    r.mutable_update_job()->set_name("other");
    return r;
  }());
  EXPECT_TRUE(is_eligible(w, third)) << "it has another name now";
  w.cancel(kUser, first);
  EXPECT_TRUE(is_eligible(w, second));
  const JobId fourth = submit(w, "singleton");
  w.ask(kUser, [&] {
    wire::ApiRequest r;
    r.mutable_update_job()->add_ids(second.value);
    r.mutable_update_job()->set_name("another");
    return r;
  }());
  EXPECT_TRUE(is_eligible(w, fourth)) << "the one before it has given the name up";
}

TEST(Depends, HeldAndBeginTimeHoldBeside) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kUser, gang(1)), second = submit(w, "afterany:1");
  wire::ApiRequest hold;
  hold.mutable_job_action()->add_ids(second.value);
  hold.mutable_job_action()->set_action(wire::kHold);
  w.ask(kUser, hold);
  run_to_the_end(w, first, 0);
  EXPECT_EQ(reason(w, second), WaitReason::kJobHeldUser);
  hold.mutable_job_action()->set_action(wire::kRelease);
  w.ask(kUser, hold);
  EXPECT_TRUE(is_eligible(w, second));
}

TEST(Depends, RefusedAreStrangersUnknownAndCircularOnes) {
  World w(1);
  w.connect_all();
  const JobId mine = w.submit(kUser, gang(1)), theirs = w.submit(1001, gang(1));
  EXPECT_EQ(refusal(w, "afterok:2"), "Job dependency problem: there is no job 2 of yours");
  EXPECT_EQ(refusal(w, "afterok:99"), "Job dependency problem: there is no job 99 of yours");
  EXPECT_EQ(refusal(w, "afterok:2", 0), "root may not submit jobs");
  EXPECT_THAT(refusal(w, "afterok"), HasSubstr("which job?"));
  const JobId a = submit(w, "afterok:1"), b = submit(w, "afterok:" + a.text());
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(a.value);
  r.mutable_update_job()->set_dependency("afterok:" + b.text());
  EXPECT_THAT(w.ask(kUser, r).jobs().faults(0).error().what(), HasSubstr("Circular job dependency"));
  r.mutable_update_job()->set_dependency("afterok:" + a.text());
  EXPECT_THAT(w.ask(kUser, r).jobs().faults(0).error().what(), HasSubstr("would wait for itself"));
  EXPECT_EQ(left(w, a), "afterok:1(unfulfilled)");
  r.mutable_update_job()->set_dependency("");
  EXPECT_EQ(w.ask(kUser, r).jobs().done_size(), 1);
  EXPECT_TRUE(is_eligible(w, a)) << "an empty one takes it away";
  (void)mine, (void)theirs;
}

// As in Slurm: a dependency that failed stays so, however the next run of the other comes out.
TEST(Depends, WhatHasFailedStaysSoWhenTheOtherRunsAgain) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kUser, gang(1)), second = submit(w, "afterok:1");
  run_to_the_end(w, first, 1);
  EXPECT_EQ(reason(w, second), WaitReason::kDependencyNeverSatisfied);
  wire::ApiRequest again;
  again.mutable_job_action()->add_ids(first.value);
  again.mutable_job_action()->set_action(wire::kRequeue);
  ASSERT_FALSE(w.ask(kUser, again).has_error());
  run_to_the_end(w, first, 0);
  ASSERT_EQ(w.state(first), JobState::kCompleted);
  EXPECT_EQ(reason(w, second), WaitReason::kDependencyNeverSatisfied);
  EXPECT_EQ(left(w, second), "afterok:1(failed)");
}

TEST(Depends, OutlivesARestart) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kUser, gang(1)), other = w.submit(kUser, gang(1));
  const JobId waits = submit(w, "afterany:1,afterok:2"), single = submit(w, "singleton");
  w.schedule();
  w.started("n0", first);
  w.exited("n0", first, 0);
  w.done("n0", first);
  EXPECT_EQ(left(w, waits), "afterok:2(unfulfilled)");
  w.restart();
  EXPECT_EQ(left(w, waits), "afterok:2(unfulfilled)");
  EXPECT_EQ(reason(w, waits), WaitReason::kDependency);
  w.cancel(kUser, waits);
  w.connect_all();
  run_to_the_end(w, other, 0);
  EXPECT_TRUE(is_eligible(w, single)) << "the index was made again";
}

TEST(Depends, ManyOnOneJobAreLookedAtInPieces) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(kUser, gang(1));
  constexpr int kMany = 2'500;
  std::vector<JobId> all;
  for (int i = 0; i < kMany; ++i) all.push_back(submit(w, "afterany:1"));
  const auto met = [&] {
    int count = 0;
    for (const JobId id : all) count += w.job(id).unmet.is_met() ? 1 : 0;
    return count;
  };
  w.cancel(kUser, first);
  EXPECT_EQ(met(), 1'000) << "no transaction looks at more";
  w.tick(base::milliseconds(2));
  w.tick(base::milliseconds(2));
  EXPECT_EQ(met(), kMany);
}

TEST(Depends, WhatTheyTakeCountsForTheirUser) {
  World w(1);
  w.connect_all();
  w.settings.per_user.max_stored_bytes = 20'000;
  w.restart();
  w.connect_all();
  std::string dependency = "afterany";
  for (int i = 0; i < 100; ++i) dependency += ":" + w.submit(kUser + 1, gang(1)).text();
  std::string refused;
  int taken = 0;
  while (refused.empty() && taken < 100) {
    refused = refusal(w, dependency, kUser + 1);
    ++taken;
  }
  EXPECT_LE(taken, 2) << "each takes some 13 KB of the index";
  EXPECT_THAT(refused, HasSubstr("users.max_stored_bytes"));
}

TEST(Depends, AJobWithManyIsLookedAtWithFewOthers) {
  World w(1);
  w.connect_all();
  std::string dependency = "afterany";
  for (int i = 0; i < 200; ++i) dependency += ":" + w.submit(kUser, gang(1)).text();
  std::vector<JobId> all;
  for (int i = 0; i < 20; ++i) all.push_back(submit(w, dependency));
  w.cancel(kUser, JobId(1));
  int seen = 0;
  for (const JobId id : all) seen += w.job(id).unmet.terms.size() < 200 ? 1 : 0;
  EXPECT_EQ(seen, 5) << "a thousand conditions in one transaction";
}

TEST(Depends, OfAHeterogeneousJobTheWholeWaits) {
  World w(2);
  w.connect_all();
  const JobId first = w.submit(kUser, gang(1));
  wire::ApiRequest r = waiting_for("afterany:1");
  *r.mutable_submit()->add_components() = r.submit().spec();
  const JobId leader(w.ask(kUser, r).submit().job_id());
  w.schedule();
  EXPECT_EQ(w.state(leader), JobState::kPending);
  EXPECT_EQ(w.state(JobId(leader.value + 1)), JobState::kPending);
  w.cancel(kUser, first);
  w.done("n0", first);
  w.schedule();
  EXPECT_EQ(w.state(leader), JobState::kConfiguring);
  EXPECT_EQ(w.state(JobId(leader.value + 1)), JobState::kConfiguring);
}

}  // namespace
}  // namespace gw::ctld::testing
