// gangway progress: what a job tells of how far it is, what orders are told of it, and that it is held to its word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/queue/orders.h"
#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using ::testing::HasSubstr;
using testing::World;

Settings with_order(const char* order) {
  Settings s;
  model::Partition& p = s.partitions.emplace_back();
  p.name = "main";
  p.is_default = p.unlimited = true;
  s.policy.order = *sched::make_order(order);
  s.policy.preempts = true;
  s.policy.grace = base::seconds(100);
  s.node_timeout = base::hours(100);  // nobody sends beats
  return s;
}

/// A job that may be suspended and has run for a minute.
struct Told : World {
  JobId id;
  Time began;

  explicit Told(const char* order = "srtf") : World(1, with_order(order)) {
    connect_all();
    model::Request r = gang(1, 8);
    r.mem_per_node_mb = 1000;
    wire::ApiRequest w = submission(r);
    w.mutable_submit()->mutable_spec()->set_time_limit_us(base::hours(20).us);
    w.mutable_submit()->mutable_spec()->set_on_preempt(static_cast<uint32_t>(model::OnPreempt::kSuspend));
    id = JobId(ask(1000, w).submit().job_id());
    schedule();
    started("n0", id);
    began = now;
    pass(60);
  }
  void pass(int64_t s) { now = now + base::seconds(s); }
  std::string tell(std::optional<uint64_t> step, std::optional<uint64_t> of = {}, std::optional<uint64_t> rate = {},
                   uint32_t uid = 1000) {
    wire::ApiRequest r;
    r.mutable_progress()->set_job_id(id.value);
    if (step) r.mutable_progress()->set_step(*step);
    if (of) r.mutable_progress()->set_of(*of);
    if (rate) r.mutable_progress()->set_rate_milli(*rate);
    return ask(uid, r).error().what();
  }
  const model::Progress& progress() const { return job(id).progress; }
  /// As orders are told it.
  base::Duration remaining() const {
    if (const auto* waits = view.queue().find(id)) return sched::waiting_facts(*waits, now).remaining;
    const Time since = view.capacity().holdings().at(id).started;
    return sched::running_facts(*view.running().at(id), since, 8, now).remaining;
  }
  bool is_about(base::Duration told) const {
    return remaining() >= told && remaining() <= told + base::Duration{told.us / 8} + base::minutes(1);
  }
};

TEST(ProgressOfAJob, OrdersGoByWhatItTellsAndNotByItsLimit) {
  Told w;
  EXPECT_EQ(w.remaining(), base::hours(20) - base::seconds(60));
  EXPECT_EQ(w.tell(100, 1000), "");
  w.pass(100);
  EXPECT_EQ(w.tell(200), "");
  EXPECT_EQ(w.progress().rate_milli, 1'000U);
  EXPECT_TRUE(w.is_about(base::seconds(800))) << base::format_duration(w.remaining());
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.progress().step, 200U);
  EXPECT_TRUE(w.is_about(base::seconds(800))) << "it is kept";
}

TEST(ProgressOfAJob, IsToldToOrdersByDurationsAlone) {
  Told w("fifo_skip");
  EXPECT_EQ(w.tell(100, 1000, 1'000), "");
  EXPECT_EQ(w.progress().of, 1000U);
  EXPECT_EQ(w.view.running().at(w.id)->remaining, base::kUnlimited) << "nobody goes by it";
}

TEST(ProgressOfAJob, OneReportInASecondIsKept) {
  Told w;
  EXPECT_EQ(w.tell(100, 1000), "");
  const size_t rows = w.store.jobs.size();
  w.now = w.now + base::Duration{999'999};
  EXPECT_EQ(w.tell(900), "") << "it is answered";
  EXPECT_EQ(w.progress().step, 100U);
  EXPECT_EQ(w.store.jobs.size(), rows);
  w.now = w.now + base::Duration{1};
  EXPECT_EQ(w.tell(900), "");
  EXPECT_EQ(w.progress().step, 900U);
}

TEST(ProgressOfAJob, WhoRunsForLongerThanItToldFirstIsRankedAsIfItHadToldNothing) {
  Told w;
  EXPECT_EQ(w.tell(0, 540, 1'000), "");  // ten minutes in all
  for (int i = 0; i < 10; ++i) {
    w.pass(60);
    EXPECT_EQ(w.tell(0), "") << "again and again it says that it needs nine minutes";
    EXPECT_NE(w.remaining(), base::kUnlimited) << i;
  }
  EXPECT_EQ(w.progress().promised,
            sched::overrun_of(w.began,
                              model::expected_end({0, 540, 1'000, w.began + base::seconds(60), {}, false}) - w.began))
      << "the first end counts";
  w.now = w.progress().promised;
  EXPECT_EQ(w.remaining(), base::kUnlimited) << "before it says anything";
  EXPECT_EQ(w.tell(539), "");
  EXPECT_TRUE(w.progress().has_overrun);
  EXPECT_EQ(w.remaining(), base::kUnlimited);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.remaining(), base::kUnlimited);
}

TEST(ProgressOfAJob, ThePassIsMadeAgainWhenItOverruns) {
  Told w;
  EXPECT_EQ(w.tell(0, 540, 1'000), "");
  (void)w.submit(1000, gang(1, 8));
  w.pump();
  EXPECT_LE(sched::plan(w.view, w.now, {}).next_change_at, w.progress().promised);
}

TEST(ProgressOfAJob, WhileItIsSuspendedNothingIsDoneAndNoTimePasses) {
  Told w("srsf");
  EXPECT_EQ(w.tell(0, 1000, 1'000), "");
  const Time promised = w.progress().promised;
  wire::ApiRequest r;
  r.mutable_job_action()->add_ids(w.id.value);
  r.mutable_job_action()->set_action(wire::kSuspend);
  w.ask(0, r);
  wire::NodeToController m;
  m.mutable_suspended()->set_job(w.id.value);
  m.mutable_suspended()->set_attempt(w.job(w.id).attempt);
  m.mutable_suspended()->set_round(1);
  w.say("n0", m);
  ASSERT_EQ(w.state(w.id), JobState::kSuspended);
  EXPECT_THAT(w.tell(5), HasSubstr("not running"));
  w.pass(5'000);
  r.mutable_job_action()->set_action(wire::kResume);
  w.ask(0, r);
  w.schedule();
  ASSERT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_EQ(w.progress().promised, promised + base::seconds(5'000));
  EXPECT_TRUE(w.is_about(base::seconds(1000))) << base::format_duration(w.remaining());
}

TEST(ProgressOfAJob, ARunThatIsRepeatedBeginsAnewUnlessItsWorkWasSaved) {
  for (const bool has_saved : {false, true}) {
    Told w;
    EXPECT_EQ(w.tell(600, 1000, 1'000), "");
    if (has_saved) {
      wire::ApiRequest saved;
      saved.mutable_checkpointed()->set_job_id(w.id.value);
      EXPECT_EQ(w.ask(1000, saved).error().what(), "");
    }
    wire::ApiRequest again;
    again.mutable_job_action()->add_ids(w.id.value);
    again.mutable_job_action()->set_action(wire::kRequeue);
    w.ask(1000, again);
    w.exited("n0", w.id, 0);
    w.done("n0", w.id);
    ASSERT_EQ(w.state(w.id), JobState::kPending);
    EXPECT_EQ(w.progress().step, has_saved ? 600U : 0U);
    EXPECT_FALSE(w.progress().told || w.progress().promised);
    EXPECT_EQ(w.remaining(), base::seconds(has_saved ? 400 : 1000));
  }
}

TEST(ProgressOfAJob, IsToldByItsOwnerWhileItRuns) {
  Told w;
  EXPECT_THAT(w.tell(1, {}, {}, 1001), HasSubstr("access denied"));
  EXPECT_THAT(w.tell({}), HasSubstr("nothing is told"));
  EXPECT_NE(w.tell(model::kMostSteps + 1), "") << "a number that nobody counts to";
  EXPECT_EQ(w.progress(), model::Progress{});
  w.exited("n0", w.id, 0);
  w.done("n0", w.id);
  EXPECT_THAT(w.tell(1), HasSubstr("not running"));
}

}  // namespace
}  // namespace gw::ctld
