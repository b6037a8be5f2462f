// Words that are not to be believed: of somebody else, of an earlier outage, of a machine as it was before its reboot;
// and what must be known again after a restart or said again after a cut.
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using testing::kAlice;
using testing::World;

/// A job on n0 and n1.
struct Pair : World {
  JobId id;

  explicit Pair(Settings s = {}) : World(2, std::move(s)) {
    connect_all();
    id = submit(kAlice, gang(2));
    schedule();
  }
  void run() {
    for (const char* node : {"n0", "n1"}) prepared(node, id);
    ASSERT_EQ(state(id), JobState::kRunning);
  }
  void fenced(Time since) {
    core->on_fenced(now, "n1", since, true, "");
    pump();
  }
  Time since() const { return core->nodes().at(NodeId(2)).since; }
  bool is_told_to_stop(const std::string& node) {
    const wire::ControllerToNode* stop = last(node, wire::ControllerToNode::kStop);
    return stop != nullptr && stop->stop().job() == id.value;
  }
};

Settings with_short_lease() {
  Settings s;
  model::Partition p;
  p.name = "main";
  p.is_default = p.unlimited = true;
  p.lease = base::minutes(5);
  s.partitions = {p};
  return s;
}

TEST(StaleWord, OnlyUidsThatAreNamedRegisterNodes) {
  World w(1);
  wire::NodeToController m;
  m.mutable_register_node()->set_name("n0");
  *m.mutable_register_node()->mutable_topology() = wire::to_wire(testing::eight_gpus());
  const auto registered_by = [&w, &m](LinkId link, uint32_t uid) {
    w.core->on_node_message(w.now, link, NodePeer{uid, "127.0.0.1"}, m);
    w.pump();
    return w.core->nodes().at(NodeId(1)).connected;
  };
  EXPECT_FALSE(registered_by(1001, kAlice));
  ASSERT_FALSE(w.to_node[1001].empty());
  EXPECT_EQ(w.to_node[1001].back().refused().reason(), "uid 1001 may not register nodes");
  EXPECT_TRUE(registered_by(1002, 0));
}

/// A node that lies, or is wrong, starts no job of another.
TEST(StaleWord, OfAJobThatItDoesNotHaveANodeIsNotHeard) {
  for (const bool has_prolog : {false, true}) {
    Settings s;
    s.has_prolog = has_prolog;
    World w(2, std::move(s));
    w.connect_all();
    const JobId id = w.submit(kAlice, gang(1));
    w.schedule();
    const std::string own = w.job(id).placed()->allocation.shares[0].name, other = own == "n0" ? "n1" : "n0";
    const auto before = w.job(id).placed()->program;
    w.prepared(other, id);
    w.started(other, id);
    EXPECT_EQ(w.state(id), JobState::kConfiguring);
    EXPECT_EQ(w.job(id).placed()->program, before) << "the prolog of the controller is not over";
    w.started(own, id);
    EXPECT_EQ(w.state(id), JobState::kRunning);
  }
}

TEST(StaleWord, FencingOfAnEarlierOutageProvesNothing) {
  Pair w;
  w.run();
  w.cut("n1");
  const Time first = w.since();
  w.tick(base::seconds(1));
  w.connect("n1", {World::run(w.id, 1, wire::kRunStarted)});
  w.tick(base::seconds(1));
  w.cut("n1");
  ASSERT_NE(w.since(), first);
  w.fenced(first);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.fenced(w.since());
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
}

TEST(StaleWord, TheLeaseTimerOfAnOutageThatIsOver) {
  Pair w(with_short_lease());
  w.run();
  w.cut("n1");
  w.tick_with_beats(base::minutes(1));
  w.connect("n1", {World::run(w.id, 1, wire::kRunStarted)});
  w.tick_with_beats(base::minutes(10));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(StaleWord, WhatAMachineListsFromBeforeItsReboot) {
  Pair w;
  w.run();
  w.cut("n1");
  w.connect("n1", {World::run(w.id, 1, wire::kRunStarted)}, "another boot");
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
}

TEST(StaleWord, AnOrderToEndThatWasMissedIsSaidAgain) {
  Pair w;
  w.run();
  w.cut("n1");
  EXPECT_TRUE(w.cancel(kAlice, w.id).has_cancel());
  ASSERT_EQ(w.state(w.id), JobState::kCompleting);
  w.connect("n1", {World::run(w.id, 1, wire::kRunStarted)});
  EXPECT_TRUE(w.is_told_to_stop("n1"));
}

TEST(StaleWord, APlanFromBeforeItsNodeWasDrained) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(kAlice, gang(1));
  const sched::Plan plan = sched::plan(w.view, w.now, {});
  ASSERT_FALSE(plan.groups.empty());
  wire::ApiRequest r;
  r.mutable_update_node()->add_names("n0");
  r.mutable_update_node()->set_action(wire::kNodeDrain);
  r.mutable_update_node()->set_reason("a fan is broken");
  ASSERT_FALSE(w.ask(0, r).has_error());
  w.core->on_plan(w.now, plan);
  w.pump();
  EXPECT_EQ(w.state(id), JobState::kPending);
}

TEST(StaleWord, AHoldIsKnownAgainAfterARestart) {
  World w(1);
  const JobId id = w.submit(kAlice, gang(1));
  wire::ApiRequest r;
  r.mutable_job_action()->set_action(wire::kUserHold);
  r.mutable_job_action()->add_ids(id.value);
  w.ask(kAlice, r);
  w.restart();
  ASSERT_TRUE(w.restored);
  w.connect_all();
  w.schedule();
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_TRUE(w.job(id).is_held());
}

TEST(StaleWord, AGangThatNeverPreparesIsGivenUpAlsoAfterARestart) {
  Pair w;
  ASSERT_EQ(w.state(w.id), JobState::kConfiguring);
  w.restart();
  w.connect_all();
  ASSERT_EQ(w.state(w.id), JobState::kConfiguring);
  w.tick(w.settings.start_timeout + base::seconds(1));
  EXPECT_NE(w.state(w.id), JobState::kConfiguring);
}

}  // namespace
}  // namespace gw::ctld
