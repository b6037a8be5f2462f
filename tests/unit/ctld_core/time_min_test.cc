// A time limit that was cut so that the job starts sooner: it holds for that run, over restarts, and for no other.
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using testing::World;

constexpr base::Duration kAsked = base::hours(8);
constexpr base::Duration kCut = base::hours(2);

/// One job that asked for eight hours, and runs for two.
struct CutJob : World {
  JobId id;
  CutJob() : World(1) {
    connect_all();
    wire::ApiRequest r = submission(gang(1));
    r.mutable_submit()->mutable_spec()->set_time_limit_us(kAsked.us);
    r.mutable_submit()->mutable_spec()->set_time_min_us(base::hours(1).us);
    id = JobId(ask(1000, r).submit().job_id());
    place();
    started("n0", id);
  }
  void place() {
    sched::Plan plan = sched::plan(view, now, {});
    for (sched::Group& group : plan.groups)
      for (sched::Decision& decision : group.decisions)
        if (auto* start = std::get_if<sched::Start>(&decision)) start->time_limit = kCut;
    core->on_plan(now, plan);
    pump();
  }
  void lose() {
    cut("n0");
    connect("n0", {}, "another boot");
  }
};

TEST(TimeMin, ACutLimitSurvivesARestart) {
  CutJob w;
  ASSERT_EQ(w.state(w.id), JobState::kRunning);
  ASSERT_EQ(w.job(w.id).spec.time_limit, kCut);
  w.restart();
  EXPECT_EQ(w.job(w.id).spec.time_limit, kCut);
  w.connect("n0", {World::run(w.id, 1, wire::kRunStarted)});
  w.tick(kCut + base::seconds(1));
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
}

TEST(TimeMin, WhatWasCutIsGivenBackAtARequeue) {
  for (const bool restarts : {false, true}) {
    CutJob w;
    w.lose();
    ASSERT_EQ(w.state(w.id), JobState::kPending);
    if (restarts) w.restart();
    EXPECT_EQ(w.job(w.id).spec.time_limit, kAsked);
  }
}

TEST(TimeMin, WhatSomebodySaidSinceHolds) {
  CutJob w;
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(w.id.value);
  r.mutable_update_job()->set_time_limit_us(base::hours(3).us);
  ASSERT_EQ(w.ask(0, r).jobs().faults_size(), 0);
  w.lose();
  EXPECT_EQ(w.job(w.id).spec.time_limit, base::hours(3));
}

}  // namespace
}  // namespace gw::ctld
