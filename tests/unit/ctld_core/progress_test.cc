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
  void checkpoint() {
    wire::ApiRequest r;
    r.mutable_checkpointed()->set_job_id(id.value);
    EXPECT_EQ(ask(1000, r).error().what(), "");
  }
  void act(wire::JobAction action, uint32_t uid) {
    wire::ApiRequest r;
    r.mutable_job_action()->add_ids(id.value);
    r.mutable_job_action()->set_action(action);
    ask(uid, r);
  }
  void requeue() {
    act(wire::kRequeue, 1000);
    exited("n0", id, 0);
    done("n0", id);
  }
  void begin_again() {
    pass(3'600);
    schedule();
    started("n0", id);
  }
  void suspend() {
    act(wire::kSuspend, 0);
    wire::NodeToController m;
    m.mutable_suspended()->set_job(id.value);
    m.mutable_suspended()->set_attempt(job(id).attempt);
    m.mutable_suspended()->set_round(1);
    say("n0", m);
  }
  /// Returns what orders were told while it waited for that.
  base::Duration resume() {
    act(wire::kResume, 0);
    const base::Duration told = remaining();
    schedule();
    return told;
  }
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
  const Time promised = sched::overrun_of(w.began, w.progress().expected - w.began);
  for (int i = 0; i < 10; ++i) {
    w.pass(60);
    EXPECT_EQ(w.tell(0), "") << "again and again it says that it needs nine minutes";
    EXPECT_NE(w.remaining(), base::kUnlimited) << i;
  }
  EXPECT_EQ(w.progress().promised, promised) << "the first end counts";
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
  w.pass(100);
  const base::Duration before = w.remaining();
  w.suspend();
  ASSERT_EQ(w.state(w.id), JobState::kSuspended);
  EXPECT_THAT(w.tell(5), HasSubstr("not running"));
  w.pass(5'000);
  EXPECT_EQ(w.resume(), before) << "no less than while it ran, or whom it made room for would have to make room again";
  ASSERT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_EQ(w.remaining(), before);
  EXPECT_EQ(w.progress().promised, promised + base::seconds(5'000));
}

TEST(ProgressOfAJob, ARunThatIsRepeatedBeginsWhereItsWorkWasSavedLast) {
  for (const uint64_t saved : {0U, 500U, 600U}) {
    Told w;
    EXPECT_EQ(w.tell(500, 1000, 1'000), "");
    if (saved == 500) w.checkpoint();
    w.pass(100);
    EXPECT_EQ(w.tell(600), "");
    if (saved == 600) w.checkpoint();
    w.requeue();
    ASSERT_EQ(w.state(w.id), JobState::kPending);
    EXPECT_EQ(w.progress().step, saved);
    EXPECT_FALSE(w.progress().told || w.progress().promised);
    EXPECT_TRUE(w.is_about(base::seconds(1000 - static_cast<int64_t>(saved)))) << base::format_duration(w.remaining());
  }
}

TEST(ProgressOfAJob, WhatItToldBindsARunInWhichItSaysNothing) {
  Told w;
  EXPECT_EQ(w.tell(0, 1, 1'000), "") << "a second, it says";
  w.pass(5);
  w.requeue();
  w.begin_again();
  EXPECT_TRUE(w.progress().promised);
  EXPECT_LT(w.remaining(), base::minutes(3));
  w.now = w.progress().promised;
  EXPECT_EQ(w.remaining(), base::kUnlimited) << "it is last";
  w.requeue();
  EXPECT_EQ(w.remaining(), base::kUnlimited) << "and stays so";
  EXPECT_TRUE(w.progress().has_overrun);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.remaining(), base::kUnlimited);
}

TEST(ProgressOfAJob, NobodyGetsAPromiseAnewByRequeueingHisJob) {
  Told w;
  EXPECT_EQ(w.tell({}, 1, 1'000), "") << "a second, it says in each run";
  const base::Duration allowed = w.progress().promised - w.now;
  int runs = 1;
  for (; !w.progress().has_overrun && runs < 20; ++runs) {
    w.pass(120);
    EXPECT_EQ(w.tell({}, 1, 1'000), "");
    w.requeue();
    w.begin_again();
  }
  EXPECT_LE(runs, 2 + allowed.seconds() / 120);
  EXPECT_EQ(w.remaining(), base::kUnlimited);
}

TEST(ProgressOfAJob, TheFirstStepThatARepeatedRunTellsIsNoRate) {
  Told w;
  EXPECT_EQ(w.tell(6'000, 10'000, 1'000), "");
  w.requeue();  // it has saved its work by itself
  w.begin_again();
  w.pass(60);
  EXPECT_EQ(w.tell(6'000), "");
  EXPECT_EQ(w.progress().rate_milli, 1'000U);
  w.pass(60);
  EXPECT_EQ(w.tell(6'060), "");
  EXPECT_EQ(w.progress().rate_milli, 1'000U);
}

TEST(ProgressOfAJob, WhoEndsWhileItIsSuspendedHasNotRunLonger) {
  Told w;
  EXPECT_EQ(w.tell(0, 540, 1'000), "");
  w.suspend();
  w.pass(100'000);
  w.requeue();
  EXPECT_FALSE(w.progress().has_overrun);
  EXPECT_TRUE(w.is_about(base::seconds(540))) << base::format_duration(w.remaining());
}

TEST(ProgressOfAJob, APromiseIsKeptAlthoughNothingIsKnownAnyMoreAndAlthoughTheJobHadEnded) {
  for (const bool has_ended : {false, true}) {
    Told w;
    EXPECT_EQ(w.tell({}, 1, 1'000), "");
    const base::Duration allowed = w.progress().promised - w.now;
    w.pass(100);
    if (has_ended) {
      w.exited("n0", w.id, 0);
      w.done("n0", w.id);
      ASSERT_EQ(w.state(w.id), JobState::kCompleted);
      w.act(wire::kRequeue, 1000);
    } else {
      EXPECT_EQ(w.tell({}, model::kMostSteps, 1), "");
      w.requeue();
    }
    ASSERT_EQ(w.state(w.id), JobState::kPending);
    w.begin_again();
    EXPECT_EQ(w.progress().promised, w.now + allowed - base::seconds(100));
  }
}

TEST(ProgressOfAJob, APromiseIsNotTakenBackByTellingThatNothingIsKnown) {
  Told w;
  EXPECT_EQ(w.tell(0, 540, 1'000), "");
  const Time promised = w.progress().promised;
  w.pass(60);
  EXPECT_EQ(w.tell({}, model::kMostSteps, 1), "");
  EXPECT_FALSE(w.progress().expected);
  w.now = promised;
  EXPECT_EQ(w.remaining(), base::kUnlimited);
}

TEST(ProgressOfAJob, AClockThatGoesBackKeepsNoReportFromBeingTaken) {
  Told w;
  EXPECT_EQ(w.tell(100, 1000), "");
  w.pass(-3600);
  EXPECT_EQ(w.tell(101), "");
  EXPECT_EQ(w.progress().step, 101U);
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
