// What jobs have waited for, through their lives: what is told is the wait, and a restart forgets nothing that was
// kept.
#include "ctld/core/jobs/wait_clock.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/unit/ctld_core/world.h"
#include "wire/waits.h"

namespace gw::ctld::testing {
namespace {

using model::WaitCause;
using Seconds = std::map<std::string, int64_t>;

constexpr uint32_t kOwner = 1000;

/// One node of eight GPUs.
struct WaitClock : ::testing::Test {
  WaitClock() : w(1) { w.connect_all(); }

  /// As clients are shown it.
  Seconds waited(JobId id) {
    wire::ApiRequest r;
    r.mutable_list_jobs()->mutable_filter()->add_ids(w.job(id).spec.is_het() ? w.job(id).spec.het_job.value : id.value);
    const wire::ApiReply reply = w.ask(kOwner, r);
    Seconds out;
    for (const wire::Job& job : reply.list_jobs().jobs())
      if (job.id() == id.value)
        for (const auto& [cause, seconds] : wire::waits_from(job.status().waited()).in_seconds())
          out[std::string(model::name(cause))] = seconds;
    return out;
  }
  void pass(int64_t seconds) { w.now = w.now + base::seconds(seconds); }
  void act(JobId id, wire::JobAction what) {
    wire::ApiRequest r;
    r.mutable_job_action()->add_ids(id.value);
    r.mutable_job_action()->set_action(what);
    ASSERT_FALSE(w.ask(kOwner, r).has_error());
    w.schedule();
  }
  JobId submit() {
    const JobId id = w.submit(kOwner, gang(1));
    w.schedule();
    return id;
  }
  void start(JobId id) {
    w.schedule();
    w.prepared("n0", id);
    ASSERT_EQ(w.state(id), model::JobState::kRunning);
  }
  void finish(JobId id) {
    w.exited("n0", id, 0);
    w.done("n0", id);
  }

  World w;
};

TEST_F(WaitClock, EachCauseHasItsTimeAndTheyAddUp) {
  const JobId first = submit();
  start(first);
  const JobId job = submit();
  pass(10);
  act(job, wire::kHold);
  pass(5);
  act(job, wire::kRelease);
  pass(20);
  EXPECT_EQ(waited(job), (Seconds{{"held", 5}, {"resources", 30}}));
  finish(first);
  start(job);
  pass(100);
  EXPECT_EQ(waited(job), (Seconds{{"held", 5}, {"resources", 30}})) << "it waits no more";
  finish(job);
  EXPECT_EQ(waited(job), (Seconds{{"held", 5}, {"resources", 30}}));
}

TEST_F(WaitClock, WhatRanCountsForNothingAndTheNextWaitIsAdded) {
  const JobId job = submit();
  act(job, wire::kHold);
  start(job);
  pass(50);
  act(job, wire::kRequeueHold);
  w.done("n0", job);
  ASSERT_EQ(w.state(job), model::JobState::kPending);
  pass(7);
  EXPECT_EQ(waited(job), (Seconds{{"held", 7}}));
}

TEST_F(WaitClock, ATaskHasWaitedWithItsArray) {
  wire::ApiRequest r = World::submission(gang(1));
  const model::ArraySpec asked = model::parse_array("0-1%1").value();
  *r.mutable_submit()->mutable_array() = wire::to_wire(model::ArrayTasks{asked.tasks, asked.throttle, 0, 0, {}});
  const JobId array(w.ask(kOwner, r).submit().job_id());
  const JobId first = w.core->arrays().find(array)->jobs.at(0);
  start(first);
  pass(30);
  EXPECT_EQ(waited(array), (Seconds{{"array_limit", 30}}));
  finish(first);
  const JobId second = w.core->arrays().find(array)->jobs.at(1);
  EXPECT_EQ(waited(second), (Seconds{{"array_limit", 30}}));
}

TEST_F(WaitClock, EveryTaskOfAnArrayHasWaitedWithIt) {
  wire::ApiRequest r = World::submission(gang(1));
  const model::ArraySpec asked = model::parse_array("0-4").value();
  *r.mutable_submit()->mutable_array() = wire::to_wire(model::ArrayTasks{asked.tasks, asked.throttle, 0, 0, {}});
  r.mutable_submit()->mutable_spec()->set_hold_user(true);
  const JobId array(w.ask(kOwner, r).submit().job_id());
  pass(9);
  act(array, wire::kRelease);
  for (const auto& [index, task] : w.core->arrays().find(array)->jobs)
    EXPECT_EQ(waited(task).at("held"), 9) << "task " << index;
}

TEST_F(WaitClock, AComponentWaitsForWhatAnotherOneWaitsFor) {
  model::Request half = gang(1);
  half.gpus = 2;
  wire::ApiRequest r = World::submission(half);
  wire::JobSpec& second = *r.mutable_submit()->add_components();
  second = r.submit().spec();
  r.mutable_submit()->mutable_spec()->set_hold_user(true);
  const wire::ApiReply reply = w.ask(kOwner, r);
  ASSERT_FALSE(reply.has_error()) << reply.error().what();
  const JobId leader(reply.submit().job_id());
  pass(3);
  EXPECT_EQ(waited(leader), (Seconds{{"held", 3}}));
  EXPECT_EQ(waited(JobId(leader.value + 1)), (Seconds{{"held", 3}}));
}

TEST_F(WaitClock, AComponentWaitsUntilTheRunOfTheOtherHasLeft) {
  model::Request half = gang(1);
  half.gpus = 2;
  wire::ApiRequest r = World::submission(half);
  wire::JobSpec& second = *r.mutable_submit()->add_components();
  second = r.submit().spec();
  const JobId leader(w.ask(kOwner, r).submit().job_id()), other(leader.value + 1);
  w.schedule();
  for (const JobId id : {leader, other}) w.prepared("n0", id);
  for (const JobId id : {leader, other}) w.started("n0", id);
  ASSERT_EQ(w.state(other), model::JobState::kRunning);
  wire::ApiRequest requeue;
  requeue.mutable_job_action()->add_ids(leader.value);
  requeue.mutable_job_action()->set_action(wire::kRequeue);
  ASSERT_FALSE(w.ask(kOwner, requeue).has_error());
  w.done("n0", leader);
  ASSERT_NE(w.job(leader).waiting(), nullptr);
  pass(3);
  w.done("n0", other);
  ASSERT_NE(w.job(other).waiting(), nullptr);
  pass(5);
  EXPECT_EQ(waited(leader), (Seconds{{"launch", 3}, {"scheduler", 5}}));
  EXPECT_EQ(waited(other), (Seconds{{"scheduler", 5}}));
}

TEST_F(WaitClock, WhatWasKeptIsKnownAfterARestartAndTheRestIsToldAsUnknown) {
  start(submit());
  const JobId job = submit();
  pass(40);
  w.core->on_stop(w.now);
  w.pump();
  pass(6);
  w.restart();
  EXPECT_EQ(waited(job), (Seconds{{"controller", 6}, {"resources", 40}}));
  pass(4);
  EXPECT_EQ(waited(job), (Seconds{{"controller", 6}, {"resources", 40}, {"scheduler", 4}}));
}

TEST_F(WaitClock, AfterARestartItIsKeptFromTimeToTimeAsBefore) {
  start(submit());
  const JobId job = submit();
  act(job, wire::kHold);
  w.core->on_stop(w.now);
  w.pump();
  w.restart();
  w.tick(base::minutes(6));
  w.tick(base::seconds(1));  // in pieces
  pass(10);
  w.restart();
  EXPECT_EQ(waited(job).at("held"), 360) << "nobody came who would have reminded it";
}

TEST_F(WaitClock, AClockThatWasSetBackTakesNothingButWhatIsTooMuch) {
  start(submit());
  const JobId job = submit();
  act(job, wire::kHold);
  pass(40);
  w.core->on_stop(w.now);
  w.pump();
  pass(-15);
  w.restart();
  EXPECT_EQ(waited(job), (Seconds{{"held", 25}}));
}

TEST_F(WaitClock, WhatIsKeptIsCutIntoPieces) {
  Settings settings;
  settings.per_user.max_jobs = 10'000;
  World many(101, settings);  // so large that the tables are not compared each time
  wire::ApiRequest held = World::submission(gang(1));
  held.mutable_submit()->mutable_spec()->set_hold_user(true);
  for (int i = 0; i < 4'100; ++i) ASSERT_FALSE(many.ask(kOwner, held).has_error());
  many.tick(base::minutes(6));
  EXPECT_EQ(many.store.meta.count("open_waits.0"), 1U);
  EXPECT_EQ(many.store.meta.count("open_waits.1"), 0U) << "others are served first";
  many.tick(base::seconds(1));
  many.tick(base::seconds(1));
  EXPECT_EQ(many.store.meta.count("open_waits.2"), 1U);
  EXPECT_EQ(many.store.meta.count("open_waits.3"), 0U);
}

TEST_F(WaitClock, WithoutTheRowNothingIsKnownOfTheTimeBefore) {
  start(submit());
  const JobId job = submit();
  act(job, wire::kHold);
  pass(40);
  w.restart();
  pass(2);
  EXPECT_EQ(waited(job), (Seconds{{"controller", 40}, {"held", 2}}));
}

TEST_F(WaitClock, ARowThatCannotBeReadIsHeldAside) {
  start(submit());
  const JobId job = submit();
  pass(8);
  w.store.meta["open_waits.0"] = "\xff\xff";
  w.restart();
  EXPECT_EQ(waited(job), (Seconds{{"controller", 8}}));
  EXPECT_TRUE(w.store.held.contains({"setting", "open_waits.0"}));
}

TEST_F(WaitClock, FiguresOfThoseThatStarted) {
  const JobId first = submit();
  start(first);
  const JobId job = submit();
  pass(100);
  EXPECT_EQ(w.core->metrics(w.now).waiting[static_cast<size_t>(WaitCause::kResources)], 1U);
  finish(first);
  start(job);
  const WaitFigures& figures = w.core->metrics(w.now).waits;
  const WaitFigures::Histogram& h = figures.by_cause()[static_cast<size_t>(WaitCause::kResources)];
  EXPECT_EQ(h.sum, base::seconds(100));
  EXPECT_EQ(h.counts[3], 1U) << "over a minute, at most five";
  EXPECT_EQ(figures.by_pool().at({"main", "normal"}).of(WaitCause::kResources), base::seconds(100));
  EXPECT_EQ(w.core->metrics(w.now).waiting[static_cast<size_t>(WaitCause::kResources)], 0U);
}

}  // namespace
}  // namespace gw::ctld::testing
