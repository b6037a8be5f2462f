// What each user may take of the controller: requests, kept answers, jobs, bytes; and what ended jobs leave behind.
#include <gtest/gtest.h>

#include "ctld/core/tables/job_charges.h"
#include "ctld/core/tables/kept_replies.h"
#include "ctld/core/tables/kept_scripts.h"
#include "ctld/core/tables/request_rate.h"
#include "world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using testing::World;

constexpr base::Time kStart{1'000'000'000'000};

TEST(RequestRate, ABurstPassesThenTheRateHolds) {
  RequestRate rate;
  const RequestRate::Limits limits{10, 50};
  for (int i = 0; i < 50; ++i) EXPECT_EQ(rate.take(kStart, 1, limits).us, 0) << i;
  const base::Duration wait = rate.take(kStart, 1, limits);
  EXPECT_GT(wait.us, 0);
  EXPECT_LE(wait, base::milliseconds(101));
  EXPECT_EQ(rate.take(kStart, 2, limits).us, 0) << "another user's bucket is his own";
  EXPECT_EQ(rate.take(kStart + wait, 1, limits).us, 0) << "after the time told the request is taken";
  EXPECT_GT(rate.take(kStart + wait, 1, limits).us, 0);
  int taken = 0;
  for (int ms = 0; ms < 10'000; ms += 5) taken += rate.take(kStart + base::milliseconds(1000 + ms), 1, limits).us == 0;
  EXPECT_NEAR(taken, 109, 2) << "10 s at 10 a second, and what came back before";
}

TEST(RequestRate, AClockThatIsSetBackGivesNothingAndTakesNothing) {
  RequestRate rate;
  const RequestRate::Limits limits{10, 2};
  EXPECT_EQ(rate.take(kStart, 1, limits).us, 0);
  EXPECT_EQ(rate.take(kStart - base::hours(1), 1, limits).us, 0);
  EXPECT_GT(rate.take(kStart - base::hours(1), 1, limits).us, 0);
  EXPECT_EQ(rate.take(kStart + base::seconds(1), 1, limits).us, 0);
}

TEST(RequestRate, UsersWhoWereHereOnceAreForgotten) {
  RequestRate rate;
  const RequestRate::Limits limits{10, 2};
  for (uint32_t uid = 0; uid < 30'000; ++uid) rate.take(kStart + base::milliseconds(uid), uid, limits);
  EXPECT_LT(rate.size(), 15'000u);
  EXPECT_EQ(rate.take(kStart, 1, {0, 1}).us, 0) << "0: no bound";
}

TEST(KeptReplies, AreBoundedButYoungOnesStay) {
  KeptReplies kept({3, 1000});
  base::Time now = kStart;
  for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(kept.keep(now, 1, id, "x").empty());
  EXPECT_EQ(kept.wait_for_room(now, 1), kLeastKept);
  EXPECT_EQ(kept.wait_for_room(now, 2).us, 0);
  ASSERT_NE(kept.find(1, "a"), nullptr);
  EXPECT_EQ(kept.find(2, "a"), nullptr);
  now = now + kLeastKept;
  EXPECT_EQ(kept.wait_for_room(now, 1).us, 0);
  EXPECT_EQ(kept.keep(now, 1, "d", "x"), std::vector<std::string>{"a"});
  EXPECT_EQ(kept.find(1, "a"), nullptr);
  EXPECT_NE(kept.find(1, "d"), nullptr);
}

TEST(KeptReplies, AreBoundedInBytesToo) {
  KeptReplies kept({100, 1000});
  kept.keep(kStart, 1, "a", std::string(2000, 'x'));
  EXPECT_NE(kept.find(1, "a"), nullptr) << "one may go beyond";
  EXPECT_GT(kept.wait_for_room(kStart, 1).us, 0);
  // An administrator is never refused; what he has kept is bounded all the same.
  EXPECT_EQ(kept.keep(kStart, 1, "b", std::string(2000, 'x'), true), std::vector<std::string>{"a"});
  EXPECT_EQ(kept.oldest(), kStart);
  kept.forget_before(kStart);
  EXPECT_EQ(kept.oldest(), base::Time::never());
}

TEST(JobCharges, ASharedScriptIsChargedOnceToEachUser) {
  JobCharges charges;
  const BlobUse script{"s", 1000}, environment{"e", 100};
  charges.add(JobId(1), 7, 10, script, environment);
  charges.add(JobId(2), 7, 20, script, {});
  charges.add(JobId(3), 8, 30, script, {});
  EXPECT_EQ(charges.of(7).bytes, 1130u);
  EXPECT_EQ(charges.of(7).jobs, 2u);
  EXPECT_EQ(charges.of(8).bytes, 1030u);
  EXPECT_EQ(charges.would_add(7, script), 0u);
  EXPECT_EQ(charges.would_add(9, script), 1000u);
  charges.resize(JobId(2), 25);
  EXPECT_EQ(charges.of(7).bytes, 1135u);
  charges.end(JobId(1));
  EXPECT_EQ(charges.of(7).jobs, 1u);
  EXPECT_EQ(charges.release_environment(JobId(1)).hash, "e");
  EXPECT_EQ(charges.of(7).bytes, 1035u);
  EXPECT_EQ(charges.remove(JobId(1)).hash, "") << "others use the script";
  EXPECT_EQ(charges.remove(JobId(2)).hash, "");
  EXPECT_EQ(charges.of(7).bytes, 0u);
  const BlobUse last = charges.remove(JobId(3));
  EXPECT_EQ(last.hash, "s");
  EXPECT_EQ(last.bytes, 1000u);
  EXPECT_FALSE(charges.uses("s"));
}

TEST(KeptScripts, GoByAgeAndWhenThereAreTooManyBytes) {
  KeptScripts kept;
  const KeptScripts::Limits limits{base::hours(1), 100};
  kept.add(kStart, "a", 60);
  kept.add(kStart + base::seconds(1), "b", 30);
  EXPECT_TRUE(kept.take_due(kStart + base::minutes(1), limits, 10).empty());
  kept.add(kStart + base::seconds(2), "c", 30);
  EXPECT_EQ(kept.take_due(kStart + base::minutes(1), limits, 10), std::vector<std::string>{"a"});
  kept.remove("b");  // used again
  EXPECT_EQ(kept.take_due(kStart + base::hours(2), limits, 10), std::vector<std::string>{"c"});
  EXPECT_TRUE(kept.empty());
  EXPECT_EQ(kept.bytes(), 0u);
}

/// A submission as the shell hands it over: with hashes.
wire::ApiRequest submission(const std::string& script, const std::string& environment) {
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->set_script(script);
  r.mutable_submit()->set_environment(environment);
  const std::string name = script.size() < 100 ? script : std::to_string(std::hash<std::string>()(script));
  r.mutable_submit()->mutable_spec()->mutable_launch()->set_script_hash("script " + name);
  r.mutable_submit()->mutable_spec()->mutable_launch()->set_env_hash("environment " + environment);
  return r;
}

TEST(Budgets, RequestsBeyondTheRateAreToldWhenToComeAgain) {
  Settings settings;
  settings.per_user.requests_per_second = 10;
  settings.per_user.request_burst = 5;
  World w(1, settings);
  wire::ApiRequest ping;
  ping.mutable_ping();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(w.ask(1, ping).has_ping());
  const wire::ApiReply refused = w.ask(1, ping);
  ASSERT_TRUE(refused.has_error());
  EXPECT_GT(refused.error().retry_after_ms(), 0u);
  EXPECT_LE(refused.error().retry_after_ms(), 102u);
  EXPECT_NE(refused.error().hint().find("retry after 1 s"), std::string::npos) << refused.error().hint();
  EXPECT_TRUE(w.ask(2, ping).has_ping()) << "others are not concerned";
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(w.ask(0, ping).has_ping()) << "nor administrators";
  w.now = w.now + base::milliseconds(refused.error().retry_after_ms());
  EXPECT_TRUE(w.ask(1, ping).has_ping());
}

TEST(Budgets, JobsOfOneUserAreBounded) {
  Settings settings;
  settings.per_user.max_jobs = 3;
  World w(1, settings);
  std::vector<JobId> mine;
  for (int i = 0; i < 3; ++i) mine.push_back(w.submit(1000, gang(1)));
  EXPECT_EQ(w.submit(1000, gang(1)).value, 0u);
  EXPECT_NE(w.last_error.find("users.max_jobs"), std::string::npos) << w.last_error;
  EXPECT_NE(w.submit(1001, gang(1)).value, 0u);
  w.restart();
  EXPECT_EQ(w.submit(1000, gang(1)).value, 0u) << "a restart forgets nothing";
  w.cancel(1000, mine[0]);
  EXPECT_NE(w.submit(1000, gang(1)).value, 0u);
}

TEST(Budgets, BytesOfOneUserAreBoundedOverRestartsToo) {
  Settings settings;
  settings.per_user.max_stored_bytes = 1 << 20;
  World w(1, settings);
  const std::string big(400 << 10, 'x');
  const auto submit = [&](uint32_t uid, const std::string& script) {
    return w.ask(uid, submission(script, "A=1")).submit().job_id();
  };
  EXPECT_NE(submit(1000, big + "1"), 0u);
  EXPECT_NE(submit(1000, big + "2"), 0u);
  EXPECT_EQ(submit(1000, big + "3"), 0u);
  for (int i = 0; i < 10; ++i) EXPECT_NE(submit(1000, big + "2"), 0u) << "a script that is there costs nothing more";
  EXPECT_NE(submit(1001, big + "3"), 0u);
  w.restart();
  EXPECT_EQ(submit(1000, big + "3"), 0u);
  EXPECT_NE(submit(1000, big + "1"), 0u);
}

/// The request that filled disk and memory: one long comment on many jobs.
TEST(Budgets, ALongCommentOnManyJobsIsBounded) {
  Settings settings;
  settings.per_user.max_stored_bytes = 64 << 10;
  World w(1, settings);
  wire::ApiRequest update;
  for (int i = 0; i < 60; ++i) update.mutable_update_job()->add_ids(w.submit(1000, gang(1)).value);
  update.mutable_update_job()->set_comment(std::string(1000, 'x'));
  const wire::ApiReply reply = w.ask(1000, update);
  EXPECT_GT(reply.jobs().faults_size(), 0);
  EXPECT_GT(reply.jobs().done_size(), 0);
  size_t stored = 0;
  for (const auto& [id, row] : w.store.jobs) stored += row.spec.size();
  EXPECT_LE(stored, settings.per_user.max_stored_bytes);
  EXPECT_NE(std::string(reply.jobs().faults(0).error().what()).find("users.max_stored_bytes"), std::string::npos);
}

TEST(Budgets, KeptAnswersOfOneUserDoNotGrowForEver) {
  Settings settings;
  settings.per_user.kept_replies = 50;
  World w(1, settings);
  wire::ApiRequest hold;
  hold.mutable_job_action()->add_ids(w.submit(1000, gang(1)).value);
  hold.mutable_job_action()->set_action(wire::kUserHold);
  const auto ask = [&](int i) {
    hold.set_client_id(std::string(60, 'i') + std::to_string(i));
    return w.ask(1000, hold);
  };
  for (int i = 0; i < 50; ++i) ASSERT_FALSE(ask(i).has_error());
  EXPECT_EQ(w.store.replies.size(), 50u);
  const size_t before = w.store.events.size();
  ASSERT_FALSE(ask(3).has_error());
  EXPECT_EQ(w.store.events.size(), before) << "a retry gets the first answer and changes nothing";
  const wire::ApiReply refused = ask(50);
  EXPECT_GT(refused.error().retry_after_ms(), 0u) << "an answer that was just given is not forgotten";
  EXPECT_EQ(w.store.events.size(), before) << "nor is anything changed whose answer could not be kept";
  w.restart();
  EXPECT_GT(ask(50).error().retry_after_ms(), 0u);
  w.now = w.now + kLeastKept;
  EXPECT_FALSE(ask(50).has_error());
  EXPECT_EQ(w.store.replies.size(), 50u);
}

TEST(Budgets, KeptAnswersFollowTheConfigurationWithoutARestart) {
  Settings settings;
  settings.per_user.kept_replies = 3;
  World w(1, settings);
  wire::ApiRequest hold;
  hold.mutable_job_action()->add_ids(w.submit(1000, gang(1)).value);
  hold.mutable_job_action()->set_action(wire::kUserHold);
  const auto ask = [&](int i) {
    hold.set_client_id("id" + std::to_string(i));
    return w.ask(1000, hold);
  };
  const auto reconfigure = [&](size_t count, size_t bytes) {
    settings = w.settings;
    settings.per_user.kept_replies = count;
    settings.per_user.kept_reply_bytes = bytes;
    w.core->on_reconfigured(w.now, settings, {}, {}, {});
  };
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(ask(i).has_error());
  const wire::ApiReply refused = ask(3);
  EXPECT_GT(refused.error().retry_after_ms(), 0u);
  EXPECT_NE(std::string(refused.error().hint()).find("users.kept_replies"), std::string::npos);
  reconfigure(5, 1 << 20);
  for (int i = 3; i < 5; ++i) EXPECT_FALSE(ask(i).has_error());
  EXPECT_EQ(w.store.replies.size(), 5u);
  reconfigure(2, 1 << 20);
  EXPECT_GT(ask(5).error().retry_after_ms(), 0u) << "young answers stay, whatever the limit is now";
  w.now = w.now + kLeastKept;
  EXPECT_FALSE(ask(5).has_error());
  EXPECT_EQ(w.store.replies.size(), 2u);
  reconfigure(100, 1);
  w.now = w.now + kLeastKept;
  EXPECT_FALSE(ask(6).has_error());
  EXPECT_EQ(w.store.replies.size(), 1u) << "the latest may go beyond the bytes";
}

TEST(Retention, EnvironmentsGoSoonAfterTheEndAndStayWhileAJobMayRunAgain) {
  World w(1);
  w.connect_all();
  const JobId job(w.ask(1000, submission("s", "SECRET=1")).submit().job_id());
  ASSERT_TRUE(w.store.blobs.contains("environment SECRET=1"));
  w.schedule();
  w.prepared("n0", job);
  w.started("n0", job);
  wire::ApiRequest requeue;
  requeue.mutable_job_action()->add_ids(job.value);
  requeue.mutable_job_action()->set_action(wire::kRequeue);
  ASSERT_EQ(w.ask(1000, requeue).jobs().done_size(), 1);
  w.done("n0", job);
  w.tick(w.settings.retention.environments + base::seconds(1));
  EXPECT_TRUE(w.store.blobs.contains("environment SECRET=1")) << "it runs again";
  w.cancel(1000, job);
  w.done("n0", job);
  ASSERT_TRUE(model::is_end(w.state(job)));
  w.tick(w.settings.retention.environments + base::seconds(1));
  EXPECT_FALSE(w.store.blobs.contains("environment SECRET=1"));
  EXPECT_TRUE(w.store.blobs.contains("script s")) << "scripts are kept longer";
}

TEST(Retention, AnEnvironmentThatAnotherJobHasStays) {
  World w(1);
  const JobId first(w.ask(1000, submission("s", "A=1")).submit().job_id());
  const JobId second(w.ask(1000, submission("s", "A=1")).submit().job_id());
  w.cancel(1000, first);
  w.tick(w.settings.retention.environments + base::seconds(1));
  EXPECT_TRUE(w.store.blobs.contains("environment A=1"));
  w.cancel(1000, second);
  w.tick(w.settings.retention.environments + base::seconds(1));
  EXPECT_FALSE(w.store.blobs.contains("environment A=1"));
}

TEST(Retention, WhatWasLeftWhenTheControllerDiedGoesAtTheNextStart) {
  World w(1);
  const JobId job(w.ask(1000, submission("s", "A=1")).submit().job_id());
  w.cancel(1000, job);
  w.now = w.now + base::hours(1);  // nobody was there when it was due
  w.restart();
  EXPECT_FALSE(w.store.blobs.contains("environment A=1"));
  ASSERT_TRUE(w.store.blobs.contains("script s"));
  EXPECT_EQ(w.store.blobs.at("script s").released, w.now);
  w.tick(w.settings.retention.scripts + base::minutes(2));
  EXPECT_FALSE(w.store.blobs.contains("script s"));
}

TEST(Retention, AScriptThatIsSubmittedAgainStays) {
  World w(1);
  const JobId job(w.ask(1000, submission("s", "A=1")).submit().job_id());
  w.cancel(1000, job);
  w.tick(w.settings.min_job_age + base::seconds(1));
  ASSERT_NE(w.store.blobs.at("script s").released.us, 0);
  w.ask(1000, submission("s", "A=1"));
  EXPECT_EQ(w.store.blobs.at("script s").released.us, 0);
  w.tick(w.settings.retention.scripts + base::minutes(2));
  EXPECT_TRUE(w.store.blobs.contains("script s"));
}

}  // namespace
}  // namespace gw::ctld
