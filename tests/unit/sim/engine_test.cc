// The virtual clock: what the engine adds to the scheduler's decisions.
#include "sim/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small.h"

namespace gw::sim {
namespace {

using ::testing::HasSubstr;
using testing::record_of;
using testing::Replayed;
using testing::run;
using testing::seconds_of;

constexpr const char* kHeader = "job_id,submit_s,duration_s,gpus\n";

TEST(Engine, AJobThatTakesNoTimeEndsWhenItStarts) {
  const auto o =
      run("nodes: [{name: n0, gpus: 1}]\njobs: [{name: a, gpus_per_task: 1, run_time: 0s}, {name: b, gpus_per_task: 1, "
          "run_time: 0s}]");
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(record_of(o, name).phase, Phase::kEnded);
    EXPECT_EQ(record_of(o, name).ended, kStart);
  }
}

TEST(Engine, RunningJobsThatWereOverBeforeTheStartEndAtIt) {
  const auto o = run("nodes: [n0]\njobs: [{name: a, state: running, at: [n0], started: -3h, run_time: 2h}]");
  EXPECT_EQ(record_of(o, "a").ended, kStart);
}

TEST(Engine, ARunningJobThatDoesNotFitIsRefusedByName) {
  const auto scenario = testing::scenario_of(
      "nodes: [{name: n0, gpus: 2}]\njobs: [{name: a, state: running, at: [n0], gpus_per_task: 2},"
      " {name: b, state: running, at: [n0], gpus_per_task: 1}]");
  const auto outcome = run_scenario(scenario, testing::no_topologies());
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().what, HasSubstr("f:1:1: job b does not fit on n0"));
}

TEST(Engine, RunningJobsMustBeInTheirPartition) {
  const auto scenario = testing::scenario_of(
      "nodes: [n0, n1]\npartitions: [{name: p, nodes: n0}]\njobs: [{name: a, state: running, at: [n1]}]");
  EXPECT_THAT(run_scenario(scenario, testing::no_topologies()).error().what, HasSubstr("no partition of its has all"));
}

TEST(Engine, WaitsAddUpOverRestarts) {
  // long waits from 100 to 160 for short, which takes its place.
  Replayed r;
  r.trace = std::string(kHeader) + "long,0,1000,8\nshort,100,60,8\n";
  r.options.order = "srtf";
  const Replay replay = r.result();
  const auto& records = replay.engine->records();
  EXPECT_EQ(records[0].waited, base::seconds(60));
  EXPECT_EQ(records[0].preemptions, 1u);
  EXPECT_EQ(seconds_of(records[0].ended), 1060) << "it kept the 100 s that it had run";
  EXPECT_EQ(seconds_of(records[1].ended), 160);
  EXPECT_EQ(records[0].lost_gpu_s, 0);
}

TEST(Engine, WithoutItsWorkAJobStartsAgain) {
  Replayed r;
  r.trace = std::string(kHeader) + "long,0,1000,8\nshort,100,60,8\n";
  r.options.order = "srtf";
  r.options.lose_work = true;
  const Replay replay = r.result();
  EXPECT_EQ(seconds_of(replay.engine->records()[0].ended), 1160);
  EXPECT_EQ(replay.engine->records()[0].lost_gpu_s, 800) << "8 GPUs for 100 s";
}

TEST(Engine, EachRestartCosts) {
  Replayed r;
  r.trace = std::string(kHeader) + "long,0,1000,8\ns1,100,60,8\ns2,300,60,8\n";
  r.options.order = "srtf";
  r.options.preempt_cost = base::seconds(30);
  const Replay replay = r.result();
  EXPECT_EQ(seconds_of(replay.engine->records()[0].ended), 1000 + 2 * 60 + 2 * 30);
  EXPECT_EQ(replay.engine->records()[0].lost_gpu_s, 8 * 60);
}

TEST(Engine, ARestartThatIsCutShortCostsWhatItTook) {
  // s2 comes 10 s after the restart, before its cost of 30 s is over.
  Replayed r;
  r.trace = std::string(kHeader) + "long,0,1000,8\ns1,100,60,8\ns2,170,60,8\n";
  r.options.order = "srtf";
  r.options.preempt_cost = base::seconds(30);
  const Replay replay = r.result();
  EXPECT_EQ(seconds_of(replay.engine->records()[0].ended), 1000 + 2 * 60 + 10 + 30);
  EXPECT_EQ(replay.engine->records()[0].lost_gpu_s, 8 * 40);
}

TEST(Engine, ContentionIsTheMeanNumberOfJobsInTheSystem) {
  Replayed r;
  r.trace = std::string(kHeader) + "a,0,100,8\nb,50,50,8\n";  // a alone for 50 s, both for 50 s, b alone for 50 s
  const Replay replay = r.result();
  EXPECT_DOUBLE_EQ(replay.engine->records()[0].contention, 1.5);
  EXPECT_DOUBLE_EQ(replay.engine->records()[1].contention, 1.5);
}

TEST(Engine, SamplesFollowWhatIsHeld) {
  Replayed r;
  r.trace = std::string(kHeader) + "a,0,100,6\nb,50,100,2\n";
  const Replay replay = r.result();
  const auto& samples = replay.engine->samples();
  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[0].busy_gpu_milli, 6000u);
  EXPECT_EQ(samples[1].busy_gpu_milli, 8000u);
  EXPECT_EQ(samples[2].busy_gpu_milli, 2000u);
  EXPECT_EQ(samples[3].busy_gpu_milli, 0u);
}

TEST(Engine, AJobThatCanNeverRunIsRefusedAndCountsNowhere) {
  Replayed r;
  r.trace = std::string(kHeader) + "huge,0,10,9\nfits,1,10,8\n";
  r.options.order = "fifo";
  const Replay replay = r.result();
  EXPECT_TRUE(replay.engine->records()[0].is_refused);
  EXPECT_EQ(replay.engine->records()[1].phase, Phase::kEnded);
  ASSERT_EQ(replay.warnings.size(), 1u);
  EXPECT_THAT(replay.warnings[0], HasSubstr("job huge can never run: "));
}

// ---- Recurring reservations, which would wake the scheduler for ever

TEST(Engine, AJobThatFitsBetweenNoOccurrencesStaysPending) {
  const auto o =
      run("nodes: [n0]\nreservations: [{name: nightly, nodes: [n0], maintenance: true, start: 1h, duration: 1h, every: "
          "24h}]\n"
          "jobs: [{name: a, time_limit: 30h, run_time: 30h, submit: 2h}]");
  EXPECT_EQ(record_of(o, "a").phase, Phase::kPending);
  EXPECT_THAT(record_of(o, "a").why, HasSubstr("planned starts"));
  EXPECT_LE(o.clock, base::hours(2 + 24 + 1)) << "one period without a change is enough";
}

TEST(Engine, ReservationsOfDifferentPeriodsAreSeenInEveryConstellation) {
  // Free of both is [5h, 6h) of every 6h.
  const auto o = run(
      "nodes: [n0]\nreservations: [{name: two, nodes: [n0], maintenance: true, start: 0s, duration: 1h, every: 2h},\n"
      " {name: three, nodes: [n0], maintenance: true, start: 0s, duration: 2h, every: 3h}]\n"
      "jobs: [{name: fits, time_limit: 1h, run_time: 1h}, {name: long, time_limit: 61m, run_time: 61m}]");
  EXPECT_EQ(seconds_of(record_of(o, "fits").started), 5 * 3600);
  EXPECT_EQ(record_of(o, "long").phase, Phase::kPending);
  EXPECT_LE(o.clock, base::hours(6 + 6 + 1));
}

TEST(Engine, WhatComesOnceIsWaitedForBesideWhatRecurs) {
  const auto o =
      run("nodes: [{name: n0, gpus: 2}]\n"
          "reservations: [{name: hourly, nodes: [n0], maintenance: true, start: 0s, duration: 1m, every: 1h},\n"
          " {name: long, nodes: [n0], maintenance: true, start: 0s, duration: 90h}]\n"
          "jobs: [{name: a, time_limit: 10m, run_time: 10m}]");
  EXPECT_EQ(seconds_of(record_of(o, "a").started), 90 * 3600 + 60);
}

TEST(Engine, ItIsAtRestWhenNothingWaits) {
  const auto o =
      run("nodes: [n0]\nreservations: [{name: weekly, nodes: [n0], maintenance: true, start: 1h, duration: 1h, every: "
          "168h}]\n"
          "jobs: [{name: a, time_limit: 10m, run_time: 10m}]");
  EXPECT_EQ(record_of(o, "a").phase, Phase::kEnded);
  EXPECT_LE(o.clock, base::hours(1));
}

TEST(Engine, TellsOrdersWhatTheyMayKnow) {
  // Without a time limit only shortest and srtf know the durations; with one they go by it.
  struct Case {
    const char* order;
    const char* limit;
    double long_started;
  };
  const Case cases[] = {{"fifo_skip", "", 10}, {"shortest", "", 60}, {"shortest", "100", 10}};
  for (const Case& c : cases) {
    Replayed r;
    r.trace = std::string("job_id,submit_s,duration_s,gpus,time_limit_s\nfirst,0,10,8,\nlong,1,60,8,") + c.limit +
              "\nshort,2,50,8," + c.limit + "\n";
    r.options.order = c.order;
    EXPECT_EQ(seconds_of(r.result().engine->records()[1].started), c.long_started) << c.order << c.limit;
  }
}

}  // namespace
}  // namespace gw::sim
