// Nodes that have spoken, but are not heard yet, are not given up: see Controller::on_tick().
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using testing::World;

Settings fencing() {
  Settings s;
  s.has_fence = true;
  return s;
}

/// A gang of two; n1 is cut off, and its deadline is over now.
struct Away : World {
  base::Time deadline;
  JobId id;

  Away() : World(2, fencing()) {
    connect_all();
    id = submit(1000, gang(2));
    schedule();
    prepared("n0", id);
    prepared("n1", id);
    cut("n1");
    deadline = now + settings.node_timeout;
    now = deadline + base::seconds(1);
  }
  void look(base::Time heard_until) {
    core->on_heard(now, links.at("n0"));
    core->on_tick(now, heard_until);
    pump();
  }
};

TEST(Arrivals, ANodeThatMayBeAmongThoseNotYetHeardIsNotFenced) {
  Away w;
  ASSERT_TRUE(w.core->looks_for_absent(w.now));
  w.look(w.deadline - base::microseconds(1));
  EXPECT_TRUE(w.fenced.empty());
  w.now = w.now + base::hours(1);
  w.look(w.deadline - base::microseconds(1));
  EXPECT_TRUE(w.fenced.empty()) << "however long the controller is busy";
  EXPECT_LE(w.core->timers().next(), w.now + base::seconds(1)) << "it looks again soon";
  w.connect("n1", {World::run(w.id, 1, wire::kRunStarted)});
  w.now = w.now + base::seconds(1);
  w.look(w.now);
  EXPECT_TRUE(w.fenced.empty());
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(Arrivals, OnceAllAreHeardWhoIsMissingIsFenced) {
  Away w;
  w.look(w.deadline - base::seconds(1));
  EXPECT_TRUE(w.fenced.empty());
  w.now = w.now + base::seconds(1);
  w.look(w.deadline);
  EXPECT_EQ(w.fenced, std::vector<std::string>{"n1"});
}

TEST(Arrivals, WhoWasTurnedAwayHasTimeToComeAgain) {
  Away w;
  w.core->on_turned_away(w.deadline);
  w.look(w.now);
  EXPECT_TRUE(w.fenced.empty());
  w.now = w.deadline + w.settings.node_timeout;
  w.look(w.now);
  EXPECT_EQ(w.fenced, std::vector<std::string>{"n1"});
}

TEST(Arrivals, WhatWaitsUnreadOnALinkIsASignOfLife) {
  World w(2);
  w.connect_all();
  const LinkId heard = w.links.at("n0"), silent = w.links.at("n1");
  for (int i = 0; i < 100 && w.core->silent_links(w.now).empty(); ++i) {
    w.now = w.now + w.settings.heartbeat;
    if (w.core->silent_links(w.now).empty()) w.core->on_tick(w.now);
  }
  EXPECT_EQ(w.core->silent_links(w.now), (std::vector<LinkId>{heard, silent}));
  w.core->on_heard(w.now, heard);
  EXPECT_EQ(w.core->silent_links(w.now), std::vector<LinkId>{silent});
  w.core->on_tick(w.now);
  w.pump();
  EXPECT_EQ(w.closed, std::vector<LinkId>{silent});
}

}  // namespace
}  // namespace gw::ctld
