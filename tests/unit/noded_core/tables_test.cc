// The tables of the node agent, each by itself: runs, graves, the controller's state, leases, the link, queries.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "noded/core/tables/graveyard.h"
#include "noded/core/tables/known_state.h"
#include "noded/core/tables/lease_clock.h"
#include "noded/core/tables/link_state.h"
#include "noded/core/tables/run_table.h"
#include "noded/core/tables/usage_queries.h"

namespace gw::noded {
namespace {

using base::BootTime;
using base::Time;

constexpr Time kStart{1'000'000'000};

wire::RunRecord record_of(RunKey key) {
  wire::RunRecord record;
  record.set_job(key.job);
  record.set_attempt(key.attempt);
  record.set_step(key.step);
  record.set_generation(3);
  record.set_grace_us(5);
  return record;
}

Run& add(RunTable& runs, RunKey key, Stage stage) {
  Run& run = runs.add(record_of(key));
  run.stage = stage;
  return run;
}

TEST(RunTable, ANewRunIsWhatItsRecordSays) {
  RunTable runs;
  const auto& run = runs.add(record_of({7, 1, 2}));
  EXPECT_EQ(runs.find({7, 1, 2}), &run);
  EXPECT_EQ(run.key, RunKey::of(run.record));
  EXPECT_EQ(RunKey::of(run.done), run.key);
  EXPECT_EQ(run.done.generation(), 3U);
  EXPECT_EQ(run.stop.grace_us, 5);
  runs.remove({7, 1, 2});
  EXPECT_EQ(runs.find({7, 1, 2}), nullptr);
}

TEST(RunTable, StepsAreThoseOfTheJobsOwnRunThatAreNotOver) {
  RunTable runs;
  for (const RunKey key : {RunKey{7, 1, 0}, {7, 1, 2}, {7, 1, 1}, {7, 2, 1}, {8, 1, 1}})
    add(runs, key, Stage::kStarted);
  add(runs, {7, 1, 3}, Stage::kClean);
  EXPECT_EQ(runs.live_steps({7, 1, 0}), (std::vector<RunKey>{{7, 1, 1}, {7, 1, 2}}));
  EXPECT_TRUE(runs.live_steps({7, 1, 1}).empty()) << "a step has none";
  EXPECT_EQ(runs.count_live_steps(), 4U);
}

TEST(RunTable, TheEarliestQueuedRunOfAJobIsNext) {
  RunTable runs;
  add(runs, {7, 1, 0}, Stage::kStarted);
  EXPECT_EQ(runs.queued(7), nullptr);
  add(runs, {7, 3, 0}, Stage::kQueued);
  const auto& second = add(runs, {7, 2, 0}, Stage::kQueued);
  add(runs, {6, 1, 0}, Stage::kQueued);
  EXPECT_EQ(runs.queued(7), &second);
  EXPECT_TRUE(runs.has_live_run(7));
  runs.find({7, 1, 0})->stage = Stage::kClean;
  EXPECT_FALSE(runs.has_live_run(7)) << "what is queued is not here yet";
}

TEST(Graves, TheLaterEndStays) {
  Graves graves;
  graves.bury({7, 2, 0}, 1, std::nullopt);
  graves.bury({7, 1, 0}, 9, std::nullopt);
  ASSERT_NE(graves.find({7, 1, 0}, ""), nullptr);
  EXPECT_EQ(graves.find({7, 1, 0}, "")->attempt, 2U) << "a job has one grave";
  EXPECT_EQ(graves.find({7, 1, 1}, ""), nullptr) << "a step has its own";
}

TEST(Graves, OfAnotherStateSayNothing) {
  Graves graves;
  graves.bury({7, 1, 1}, 0, std::nullopt, "A");
  graves.bury({8, 1, 0}, 0, std::nullopt);
  EXPECT_NE(graves.find({7, 1, 1}, "A"), nullptr);
  EXPECT_EQ(graves.find({7, 1, 1}, "B"), nullptr);
  EXPECT_NE(graves.find({8, 1, 0}, "B"), nullptr) << "of whichever state";
  graves.clear();
  EXPECT_EQ(graves.find({8, 1, 0}, "B"), nullptr);
}

wire::StateMark mark_of(const std::string& root, uint64_t commit) {
  wire::StateMark mark;
  mark.set_root(root);
  mark.set_incarnation(root + "1");
  mark.set_commit(commit);
  return mark;
}

wire::ControllerToNode registered_with(const wire::StateMark& mark) {
  wire::ControllerToNode message;
  *message.mutable_registered()->mutable_mark() = mark;
  message.set_commit(mark.commit());
  return message;
}

wire::ControllerToNode beat_at(uint64_t commit) {
  wire::ControllerToNode message;
  message.mutable_heartbeat();
  message.set_commit(commit);
  return message;
}

TEST(KnownState, IsKeptNowAndThenAndAtOnceWhereItIsAnother) {
  KnownState known({});
  EXPECT_FALSE(known.hear(kStart, beat_at(4))) << "of a controller without marks";
  EXPECT_TRUE(known.hear(kStart, registered_with(mark_of("A", 5))));
  EXPECT_FALSE(known.hear(kStart + base::seconds(59), beat_at(8)));
  EXPECT_EQ(known.seen().commit(), 8U) << "seen, if not kept";
  EXPECT_FALSE(known.hear(kStart + base::seconds(60), beat_at(7))) << "nothing new";
  EXPECT_TRUE(known.hear(kStart + base::seconds(60), beat_at(9)));
  EXPECT_TRUE(known.hear(kStart + base::seconds(61), registered_with(mark_of("B", 2))));
  EXPECT_EQ(known.root(), "B");
  EXPECT_EQ(known.seen().commit(), 2U);
}

TEST(KnownState, RunsOfAnEarlierDaemonTellOfIt) {
  KnownState known({});
  known.recover(mark_of("A", 5));
  known.recover(mark_of("A", 3));
  known.recover(mark_of("B", 9));
  EXPECT_EQ(known.root(), "A");
  EXPECT_EQ(known.seen().commit(), 5U);
  known.recover(mark_of("A", 6));
  EXPECT_EQ(known.seen().commit(), 6U);
}

wire::ControllerToNode echo_of(BootTime beat) {
  wire::ControllerToNode message;
  message.mutable_heartbeat()->set_echo_us(beat.us);
  return message;
}

TEST(LeaseClock, CountsFromTheBeatThatWasAnswered) {
  LeaseClock clock;
  clock.turn({100});
  clock.start(kStart);
  clock.set_echoes(true);
  clock.turn({200});
  clock.beat_sent();
  clock.turn({300});
  EXPECT_FALSE(clock.hear(beat_at(1))) << "an order, which answers nothing";
  EXPECT_EQ(clock.last_contact(), BootTime{100});
  EXPECT_TRUE(clock.hear(echo_of({150})));
  EXPECT_FALSE(clock.hear(echo_of({140}))) << "never back";
  EXPECT_EQ(clock.last_contact(), BootTime{150});
  EXPECT_EQ(clock.age(), base::microseconds(150));
  EXPECT_TRUE(clock.hear(echo_of({250})));
  EXPECT_EQ(clock.last_contact(), BootTime{200}) << "no later than the last beat, whatever is echoed";
}

TEST(LeaseClock, OnlyLiveRunsWithALeaseEndByIt) {
  LeaseClock clock;
  clock.turn({100});
  clock.start(kStart);
  RunTable runs;
  auto& run = add(runs, {7, 1, 0}, Stage::kStarted);
  EXPECT_EQ(clock.end_of(run), BootTime::never());
  run.record.set_lease_us(30);
  EXPECT_EQ(clock.end_of(run), BootTime{130});
  run.done.set_lease_expired(true);
  EXPECT_EQ(clock.end_of(run), BootTime::never()) << "once";
  run.done.set_lease_expired(false);
  run.stage = Stage::kClean;
  EXPECT_EQ(clock.end_of(run), BootTime::never());
}

TEST(LeaseClock, ShepherdsAreToldTwiceInAHeartbeatAtMost) {
  LeaseClock clock;
  clock.start(kStart);
  EXPECT_FALSE(clock.take_renewal(kStart + base::seconds(4), base::seconds(10)));
  EXPECT_TRUE(clock.take_renewal(kStart + base::seconds(5), base::seconds(10)));
  EXPECT_FALSE(clock.take_renewal(kStart + base::seconds(9), base::seconds(10)));
}

TEST(LinkState, IsDialedLaterAfterEachFailure) {
  LinkState link(1);
  EXPECT_EQ(link.next_due(), Time::never()) << "remains of an earlier boot";
  base::Duration longest;
  for (int tries = 0; tries < 20; ++tries) {
    link.dialed();
    EXPECT_EQ(link.next_due(), Time::never());
    link.failed(kStart, {});
    const base::Duration pause = link.dial_due() - kStart;
    const base::Duration most = std::min(base::milliseconds(100) * (1 << std::min(tries, 10)), base::seconds(10));
    EXPECT_LE(pause, most) << tries;
    EXPECT_GE(pause.us, most.us / 2) << tries;
    longest = std::max(longest, pause);
  }
  EXPECT_GE(longest, base::seconds(5));
  link.failed(kStart, base::seconds(10));
  EXPECT_EQ(link.dial_due(), kStart + base::seconds(10)) << "at least";
}

TEST(LinkState, TwoNodesDoNotComeAtTheSameMoment) {
  LinkState one(1), other(2);
  one.failed(kStart, {});
  other.failed(kStart, {});
  EXPECT_NE(one.dial_due(), other.dial_due());
}

TEST(LinkState, IsLostWhenNothingIsHeard) {
  LinkState link(1);
  link.dialed();
  link.opened(kStart);
  EXPECT_EQ(link.silence_due(), kStart + base::seconds(30)) << "the registration is not answered";
  EXPECT_EQ(link.beat_due(), Time::never());
  link.registered(base::seconds(5), base::seconds(40));
  EXPECT_EQ(link.silence_due(), kStart + base::seconds(40));
  link.beat_sent(kStart);
  EXPECT_EQ(link.next_due(), kStart + base::seconds(5));
  link.heard(kStart + base::seconds(3));
  EXPECT_EQ(link.silence_due(), kStart + base::seconds(43));
  EXPECT_EQ(link.number(), 1U);
}

TEST(LinkState, KeepsTheControllersTimesWithinBounds) {
  LinkState link(1);
  link.dialed();
  link.opened(kStart);
  link.registered({}, {});
  EXPECT_EQ(link.heartbeat(), base::milliseconds(10));
  EXPECT_EQ(link.silence_due(), kStart + base::milliseconds(20)) << "two heartbeats at least";
  link.registered(base::hours(9), base::hours(900));
  EXPECT_EQ(link.heartbeat(), base::hours(1));
  EXPECT_EQ(link.silence_due(), kStart + base::hours(2));
}

TEST(UsageQueries, AreAnsweredOnceAndNotForEver) {
  UsageQueries queries;
  queries.add(kStart, 1, {7, 1, 0}, "0-3");
  EXPECT_FALSE(queries.take(1, {7, 1, 1})) << "of another run";
  EXPECT_EQ(queries.take(1, {7, 1, 0}), "0-3");
  EXPECT_FALSE(queries.take(1, {7, 1, 0}));
  queries.add(kStart, 2, {7, 1, 0}, "");
  queries.add(kStart + base::seconds(1), 3, {7, 1, 0}, "");
  queries.drop_old(kStart + base::seconds(11));
  EXPECT_FALSE(queries.take(2, {7, 1, 0}));
  EXPECT_TRUE(queries.take(3, {7, 1, 0}));
  for (uint64_t id = 0; id < UsageQueries::kMost; ++id) {
    EXPECT_FALSE(queries.is_full());
    queries.add(kStart, id, {7, 1, 0}, "");
  }
  EXPECT_TRUE(queries.is_full());
}

}  // namespace
}  // namespace gw::noded
