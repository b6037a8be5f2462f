// Forecasts of starts, as the controller learns for them and shows them.
#include <gmock/gmock.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld {
namespace {

using testing::gang;

constexpr uint32_t kTeller = 1000;

/// One node of eight GPUs, of which a job holds all.
struct HeldNode : World {
  JobId first;
  explicit HeldNode(bool is_limited = true) : World(1, {}) {
    connect_all();
    wire::ApiRequest limited = submission(gang(1));
    if (is_limited) limited.mutable_submit()->mutable_spec()->set_time_limit_us(base::hours(10).us);
    first = JobId(ask(kTeller, limited).submit().job_id());
    schedule();
    prepared("n0", first);
    started("n0", first);
  }
  wire::Waiting shown(JobId id) {
    wire::ApiRequest r;
    r.mutable_show_job()->set_id(id.value);
    return ask(kTeller, r).show_job().job().status().waiting();
  }
  void foretell(const std::map<JobId, forecast::StartRange>& drawn) { forecasts().take(drawn, now, core->jobs()); }
  StartForecasts& forecasts() { return core->planning().forecasts; }
};

TEST(Foretold, ARangeIsShownUntilTheNextForecastHasNone) {
  HeldNode w(/*is_limited=*/false);
  const JobId id = w.submit(kTeller, gang(1));
  w.schedule();
  EXPECT_FALSE(w.shown(id).has_start_range());
  const Time low = w.now + base::hours(1), likely = w.now + base::hours(2);
  w.foretell({{id, {low, likely, Time::never()}}});
  const wire::Waiting told = w.shown(id);
  EXPECT_EQ(told.start_range().low_us(), low.us);
  EXPECT_EQ(told.start_range().likely_us(), likely.us);
  EXPECT_EQ(told.start_range().high_us(), 0) << "later than was looked at";
  w.foretell({});
  EXPECT_FALSE(w.shown(id).has_start_range());
}

TEST(Foretold, ARangeThatIsOverIsNotShown) {
  HeldNode w;
  const JobId id = w.submit(kTeller, gang(1));
  w.schedule();
  const Time high = w.now + base::minutes(2);
  w.foretell({{id, {w.now, w.now + base::minutes(1), high}}});
  EXPECT_TRUE(w.shown(id).has_start_range());
  w.now = high;
  EXPECT_EQ(w.shown(id).start_range().low_us(), high.us) << "no start lies in the past";
  w.now = high + base::seconds(1);
  EXPECT_FALSE(w.shown(id).has_start_range());
}

TEST(Foretold, AJobThatIsHeldHasNone) {
  HeldNode w;
  const JobId id = w.submit(kTeller, gang(1));
  w.schedule();
  w.foretell({{id, {w.now, w.now + base::hours(1), w.now + base::hours(2)}}});
  wire::ApiRequest hold;
  hold.mutable_job_action()->add_ids(id.value);
  hold.mutable_job_action()->set_action(wire::kUserHold);
  w.ask(kTeller, hold);
  EXPECT_FALSE(w.shown(id).has_start_range());
}

TEST(Foretold, WhatWasHeldOrHasStartedIsNotJudged) {
  HeldNode w;
  const JobId id = w.submit(kTeller, gang(1));
  w.schedule();
  w.foretell({{id, {w.now, w.now + base::hours(1), w.now + base::hours(2)}}, {w.first, {w.now, w.now, w.now}}});
  EXPECT_EQ(w.forecasts().calibration().open(), 1U) << "the first one runs";
  wire::ApiRequest hold;
  hold.mutable_job_action()->add_ids(id.value);
  hold.mutable_job_action()->set_action(wire::kUserHold);
  w.ask(kTeller, hold);
  EXPECT_EQ(w.forecasts().calibration().open(), 0U);
  hold.mutable_job_action()->set_action(wire::kRelease);
  w.ask(kTeller, hold);
  EXPECT_FALSE(w.shown(id).has_start_range()) << "what was told before is void";
}

TEST(Foretold, NoRangeGoesBeyondThePlannedStart) {
  HeldNode w;
  const JobId id = w.submit(kTeller, gang(1));
  w.schedule();
  const int64_t planned = w.shown(id).estimated_start_us();
  ASSERT_NE(planned, 0);
  w.foretell({{id, {Time{planned} + base::hours(1), Time{planned} + base::hours(2), Time::never()}}});
  const wire::Waiting told = w.shown(id);
  EXPECT_EQ(told.start_range().low_us(), planned);
  EXPECT_EQ(told.start_range().high_us(), planned);
}

TEST(Foretold, RunsThatEndAreLearnedFromOthersAreNot) {
  HeldNode w;
  const JobId waits = w.submit(kTeller, gang(1));
  w.schedule();
  w.now = w.now + base::minutes(10);
  w.cancel(kTeller, waits);
  EXPECT_TRUE(w.forecasts().run_times().latest().empty()) << "it never ran";
  w.cancel(kTeller, w.first);
  w.done("n0", w.first);
  ASSERT_EQ(w.forecasts().run_times().latest().size(), 1U);
  const forecast::RunTimes::Run& run = w.forecasts().run_times().latest().front();
  EXPECT_EQ(run.uid, kTeller);
  EXPECT_FALSE(run.is_over) << "it would have run longer";
  EXPECT_EQ(run.limit, w.job(w.first).spec.time_limit);
  EXPECT_EQ(run.ran, w.job(w.first).ended()->ended - w.job(w.first).ended()->started);
}

TEST(Foretold, WhatWasLearnedIsLearnedAgainFromTheJobsThatAreKnown) {
  HeldNode w;
  w.now = w.now + base::minutes(10);
  w.cancel(kTeller, w.first);
  w.done("n0", w.first);
  const auto before = w.forecasts().run_times().latest();
  ASSERT_EQ(before.size(), 1U);
  w.restart();
  EXPECT_EQ(w.forecasts().run_times().latest(), before);
}

}  // namespace
}  // namespace gw::ctld
