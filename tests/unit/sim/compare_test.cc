// Who gains, who loses; and looking ahead from a snapshot.
#include "sim/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sched/cluster_builder.h"

namespace gw::sim {
namespace {

using testing::HasSubstr;

Stay stay(const char* job, const char* user, uint32_t gpus, std::optional<double> wait, std::optional<double> end) {
  return {job, user, "q", gpus, wait, end};
}

TEST(Compare, GainsAndLosses) {
  const std::vector<Stay> before = {stay("sooner", "a", 8, 10, 110), stay("later", "a", 1, 0, 100),
                                    stay("same", "b", 1, 0, 100), stay("never now", "b", 4, 0, 100),
                                    stay("only before", "b", 1, 0, 1)};
  const std::vector<Stay> after = {stay("later", "a", 1, 50, 150), stay("sooner", "a", 8, 0, 100),
                                   stay("same", "b", 1, 0.2, 100.2), stay("never now", "b", 4, {}, {})};
  const Comparison c = compare(before, after);
  EXPECT_EQ(c.all.jobs, 4);
  EXPECT_EQ(c.all.gain, 1);
  EXPECT_EQ(c.all.lose, 2);
  ASSERT_EQ(c.by_user.size(), 2);
  EXPECT_EQ(c.by_user[0].name, "a");
  EXPECT_DOUBLE_EQ(c.by_user[0].old_wait_s, 5);
  EXPECT_DOUBLE_EQ(c.by_user[0].new_wait_s, 25);
  EXPECT_DOUBLE_EQ(c.by_user[1].old_completion_s, 100) << "only jobs that end in both runs are in the mean";
  ASSERT_EQ(c.by_size.size(), 3);
  EXPECT_EQ(c.by_size[1].name, "2-7");
  ASSERT_EQ(c.losers.size(), 2);
  EXPECT_EQ(c.losers[0].before.job, "never now");
  EXPECT_DOUBLE_EQ(c.losers[1].by_s, 50);
  EXPECT_THAT(comparison_text(c), HasSubstr("4 jobs: 1 gain, 2 lose, 1 stay as they are"));
  EXPECT_THAT(comparison_text(c), HasSubstr("never now (user b, QOS q, 4 GPUs): no longer ends"));
  EXPECT_THAT(comparison_json(c), HasSubstr("\"schema_version\": 1"));
}

TEST(Compare, JobsWithoutEndByTheirStart) {
  const auto c =
      compare({stay("a", "", 1, 5, {}), stay("b", "", 1, {}, {})}, {stay("a", "", 1, {}, {}), stay("b", "", 1, 9, {})});
  EXPECT_EQ(c.all.gain, 1);
  EXPECT_EQ(c.all.lose, 1);
}

/// One node of four GPUs; a job runs on it for an hour more, and two wait for all of it.
sched::PassInput busy(const char* order) {
  sched::testing::Cluster cluster(1, sched::testing::machine(8, 4, 32'000));
  const base::Time now{1'000'000'000};
  sched::Policy policy;
  policy.order = *sched::make_order(order);
  cluster.apply(sched::PolicySet{policy});
  for (uint32_t id : {1, 2, 3}) {
    sched::PendingJob job = sched::testing::pending(id, sched::testing::gang(1, 4));
    job.submitted = job.eligible = now + base::seconds(id);
    job.time_limit = base::hours(4 - id);
    cluster.apply(sched::JobQueued{job});
    if (id > 1) continue;
    const auto share = std::get<sched::Start>(sched::plan(cluster.view, now, {}).groups.at(0).decisions.at(0));
    cluster.apply(sched::JobPlaced{share.job, "main", share.allocation, now, now + base::hours(1),
                                   std::make_shared<const sched::PendingJob>(job)});
  }
  return sched::take_input(cluster.view, now + base::seconds(10), {});
}

std::vector<forecast::JobForecast> ahead_of(const char* order) {
  const sched::PassInput input = busy(order);
  return forecast::look_ahead(input, **sched::restore_view(input)).value();
}

TEST(LookAhead, EveryJobStartsWhenTheOneBeforeItHasReachedItsLimit) {
  const auto jobs = ahead_of("fifo_skip");
  ASSERT_EQ(jobs.size(), 3);
  const base::Time now{1'000'000'000};
  EXPECT_TRUE(jobs[0].ran_at_start);
  EXPECT_EQ(jobs[0].ended, now + base::hours(1));
  EXPECT_EQ(jobs[1].started, now + base::hours(1));
  EXPECT_EQ(jobs[2].started, now + base::hours(3));
  EXPECT_EQ(jobs[2].ended, now + base::hours(4));
  EXPECT_THAT(jobs[1].nodes, testing::ElementsAre("n1"));
}

TEST(LookAhead, AnotherOrderServesOthersFirst) {
  const auto jobs = ahead_of("shortest");
  EXPECT_LT(jobs[2].started, jobs[1].started);
  const Comparison c = compare(stays_of(ahead_of("fifo_skip")), stays_of(jobs));
  EXPECT_EQ(c.all.gain, 1);
  EXPECT_EQ(c.all.lose, 1);
  EXPECT_EQ(c.losers.at(0).before.job, "2");
}

TEST(LookAhead, APreemptiveOrderTakesOffAndQueuesAgain) {
  const auto jobs = ahead_of("srtf");
  EXPECT_EQ(jobs[2].started, base::Time{1'000'000'000} + base::seconds(10));
  EXPECT_EQ(jobs[0].preemptions, 1);
  EXPECT_TRUE(jobs[0].started) << "it starts again";
}

TEST(LookAhead, IsAtRestWhenOnlyRecurringReservationsWakeIt) {
  sched::PassInput input = busy("fifo_skip");
  const base::Time now = input.now;
  input.reservations.push_back({"daily", {"n1"}, now, now + base::hours(1), {}, true, base::hours(24)});
  for (sched::PendingJob& job : input.queue) job.time_limit = base::hours(30);
  const auto jobs = forecast::look_ahead(input, **sched::restore_view(input));
  ASSERT_TRUE(jobs) << jobs.error().what;
  EXPECT_FALSE(jobs->at(1).started);
  EXPECT_THAT(jobs->at(1).why, HasSubstr("planned starts"));
}

}  // namespace
}  // namespace gw::sim
