// The controller is away, for less or more than the lease, killed or stopped, and comes back to the same state, to an
// older one or to none: what becomes of the runs on the nodes, and of ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::Fleet;
using testing::gang;
using ::testing::HasSubstr;
using testing::World;

enum class Comes { kBackToTheSame, kBackToNothing, kBackToAnOlder };

Settings with_lease() {
  Settings s;
  model::Partition p;
  p.name = "main";
  p.is_default = p.unlimited = true;
  p.lease = base::minutes(5);
  s.partitions = {p};
  return s;
}

/// Three nodes with a job each. The copy of the state has the first job running, the second one held, not the third.
struct Outage : Fleet {
  JobId known, held, later;
  testing::MemoryStore copy;

  Outage() : Fleet(3, with_lease()) {
    join_all();
    known = submit(1000, gang(1));
    wire::ApiRequest r = submission(gang(1));
    r.mutable_submit()->mutable_spec()->set_hold_user(true);
    held = JobId(ask(1000, r).submit().job_id());
    settle();
    copy = store;
    act(held, wire::kRelease);
    later = submit(1000, gang(1));
    settle();
  }
  void act(JobId id, wire::JobAction action) {
    wire::ApiRequest r;
    r.mutable_job_action()->set_action(action);
    r.mutable_job_action()->add_ids(id.value);
    ask(0, r);
  }
  void lease_runs_out() {
    for (auto& [name, node] : fleet) lose_leases(name);
  }
  void killed(Comes comes, bool beyond_lease) {
    part();
    now = now + (beyond_lease ? base::minutes(10) : base::seconds(20));
    if (beyond_lease) lease_runs_out();
    if (comes == Comes::kBackToNothing) store = {};
    if (comes == Comes::kBackToAnOlder) store = copy;
    restart();
    ASSERT_TRUE(restored) << restored.error().text();
    join_all();
  }
  void stopped(bool beyond_lease) {
    if (!beyond_lease) return tick(base::seconds(20));  // the links hold
    part();
    lease_runs_out();
    tick(base::minutes(10));
    join_all();
  }
  std::string node_of(JobId id) const { return job(id).placed()->allocation.shares.front().name; }
  bool lives(const std::string& node, Key key) {
    const auto it = fleet[node].runs.find(key);
    return it != fleet[node].runs.end() && it->second.phase == wire::kRunStarted;
  }
  size_t ended_by_order() {
    size_t n = 0;
    for (const auto& [name, node] : fleet) n += node.ended_by_order.size();
    return n;
  }
  void expect_all_go_on() {
    for (const JobId id : {known, held, later}) {
      EXPECT_EQ(state(id), JobState::kRunning);
      EXPECT_EQ(job(id).attempt, 1U);
      EXPECT_EQ(job(id).restarts, 0U);
      EXPECT_TRUE(lives(node_of(id), {id.value, 1}));
    }
    EXPECT_EQ(ended_by_order(), 0U);
  }
  void expect_run_again(JobId id) {
    EXPECT_EQ(state(id), JobState::kRunning);
    EXPECT_EQ(job(id).attempt, 2U);
    EXPECT_EQ(job(id).restarts, 1U);
    EXPECT_EQ(job(id).launch_failures, 0U);
    EXPECT_THAT(job(id).last_failure, HasSubstr("the lease is over on"));
    EXPECT_TRUE(lives(node_of(id), {id.value, 2}));
  }
  wire::Node shown(const std::string& name) {
    wire::ApiRequest r;
    r.mutable_list_nodes()->add_names(name);
    return ask(1000, r).list_nodes().nodes(0);
  }
  wire::ApiReply end_foreign(uint32_t uid, const std::string& name) {
    wire::ApiRequest r;
    r.mutable_update_node()->add_names(name);
    r.mutable_update_node()->set_action(wire::kEndForeign);
    const wire::ApiReply reply = ask(uid, r);
    settle();
    return reply;
  }
};

TEST(Outage, KilledShorterThanTheLeaseSameState) {
  Outage w;
  w.killed(Comes::kBackToTheSame, false);
  w.expect_all_go_on();
}

TEST(Outage, StoppedShorterThanTheLease) {
  Outage w;
  w.stopped(false);
  w.expect_all_go_on();
}

TEST(Outage, KilledLongerThanTheLeaseSameState) {
  Outage w;
  w.killed(Comes::kBackToTheSame, true);
  for (const JobId id : {w.known, w.held, w.later}) w.expect_run_again(id);
}

TEST(Outage, StoppedLongerThanTheLease) {
  Outage w;
  w.stopped(true);
  for (const JobId id : {w.known, w.held, w.later}) w.expect_run_again(id);
}

TEST(Outage, KilledShorterThanTheLeaseNoState) {
  Outage w;
  std::map<JobId, std::string> places;
  for (const JobId id : {w.known, w.held, w.later}) places[id] = w.node_of(id);
  w.killed(Comes::kBackToNothing, false);
  EXPECT_EQ(w.ended_by_order(), 0U);
  for (const auto& [id, node] : places) {
    EXPECT_TRUE(w.lives(node, {id.value, 1}));
    EXPECT_THAT(w.shown(node).foreign_runs(), ::testing::ElementsAre(id.text() + ".1"));
    EXPECT_EQ(w.shown(node).state(), "MIXED+DRAIN");
    EXPECT_THAT(w.shown(node).reason(), HasSubstr("does not know"));
  }
  const JobId fresh = w.submit(1000, gang(1));
  EXPECT_GT(fresh, w.later) << "ids that nodes know are not given again";
  w.settle();
  EXPECT_EQ(w.state(fresh), JobState::kPending) << "what they hold is given to nobody";
  EXPECT_TRUE(w.end_foreign(1000, places[w.later]).has_error());
  EXPECT_EQ(w.ended_by_order(), 0U);
  const wire::ApiReply ended = w.end_foreign(0, places[w.later]);
  EXPECT_FALSE(ended.has_error()) << ended.error().what();
  EXPECT_EQ(w.ended_by_order(), 1U);
  EXPECT_EQ(w.state(fresh), JobState::kRunning);
  EXPECT_EQ(w.node_of(fresh), places[w.later]);
  EXPECT_EQ(w.shown(places[w.later]).foreign_runs_size(), 0);
  EXPECT_TRUE(w.end_foreign(0, places[w.later]).has_error()) << "nothing is left there";
}

TEST(Outage, KilledLongerThanTheLeaseNoState) {
  Outage w;
  w.killed(Comes::kBackToNothing, true);
  EXPECT_EQ(w.ended_by_order(), 0U);
  for (const auto& [name, node] : w.fleet) {
    EXPECT_TRUE(node.runs.empty());
    EXPECT_EQ(w.shown(name).foreign_runs_size(), 0);
  }
  const JobId fresh = w.submit(1000, gang(1));
  EXPECT_GT(fresh, w.later);
  w.settle();
  EXPECT_EQ(w.state(fresh), JobState::kRunning);
}

TEST(Outage, KilledShorterThanTheLeaseOlderState) {
  Outage w;
  const std::string of_held = w.node_of(w.held), of_later = w.node_of(w.later), of_known = w.node_of(w.known);
  w.killed(Comes::kBackToAnOlder, false);
  EXPECT_EQ(w.ended_by_order(), 0U);
  EXPECT_EQ(w.state(w.known), JobState::kRunning);
  EXPECT_TRUE(w.lives(of_known, {w.known.value, 1}));
  EXPECT_EQ(w.shown(of_known).foreign_runs_size(), 0);
  EXPECT_TRUE(w.lives(of_later, {w.later.value, 1}));
  EXPECT_FALSE(w.core->jobs().contains(w.later));
  EXPECT_GT(w.submit(1000, gang(1)), w.later);
  // It waits in this state, but runs: it is not started again.
  w.act(w.held, wire::kRelease);
  w.settle();
  EXPECT_EQ(w.state(w.held), JobState::kPending);
  EXPECT_EQ(w.job(w.held).waiting()->reason, model::WaitReason::kCleaning);
  EXPECT_TRUE(w.lives(of_held, {w.held.value, 1}));
  w.restart();  // once more: it is still known whose run that is
  w.join_all();
  EXPECT_EQ(w.ended_by_order(), 0U);
  EXPECT_EQ(w.state(w.held), JobState::kPending);
  w.end_script(of_held, {w.held.value, 1}, 3);
  ASSERT_EQ(w.state(w.held), JobState::kFailed);
  EXPECT_EQ(w.job(w.held).ended()->outcome.exit.code, 3);
  w.end_script(of_later, {w.later.value, 1}, 0);
  EXPECT_EQ(w.shown(of_later).foreign_runs_size(), 0);
}

TEST(Outage, KilledLongerThanTheLeaseOlderState) {
  Outage w;
  w.killed(Comes::kBackToAnOlder, true);
  w.expect_run_again(w.known);
  EXPECT_EQ(w.state(w.held), JobState::kPending);
  EXPECT_EQ(w.job(w.held).waiting()->reason, model::WaitReason::kJobHeldUser);
  w.act(w.held, wire::kRelease);
  w.settle();
  EXPECT_EQ(w.state(w.held), JobState::kRunning);
  EXPECT_EQ(w.job(w.held).attempt, 2U) << "the number of the run that is gone is not given again";
}

TEST(Outage, BeatsTellWhichIdsWereGivenAndNoCommitThatMayBeLost) {
  Outage w;
  const JobId last = w.submit(1000, gang(3));
  w.tick(w.settings.heartbeat + base::seconds(1));
  const wire::ControllerToNode* beat = w.last("n0", wire::ControllerToNode::kHeartbeat);
  ASSERT_NE(beat, nullptr);
  EXPECT_EQ(beat->next_job(), last.value + 1);
  EXPECT_EQ(beat->commit(), 0U);
  w.settle();
  w.killed(Comes::kBackToAnOlder, false);
  EXPECT_GT(w.submit(1000, gang(1)), last);
}

TEST(Outage, WhatTheOlderStateHasRunningButEndedSinceIsHeld) {
  Outage w;
  w.end_script(w.node_of(w.known), {w.known.value, 1}, 0);
  ASSERT_EQ(w.state(w.known), JobState::kCompleted);
  w.killed(Comes::kBackToAnOlder, false);
  EXPECT_EQ(w.state(w.known), JobState::kPending);
  EXPECT_EQ(w.job(w.known).waiting()->reason, model::WaitReason::kJobHeldAdmin);
  EXPECT_EQ(w.job(w.known).attempt, 1U) << "it does not run a second time by itself";
}

TEST(Outage, WhatTheOlderStateHasPreparingButEndedSinceIsHeld) {
  Outage w;
  wire::JobStatus status;
  store::JobRow& row = w.copy.jobs.at(w.known);
  ASSERT_TRUE(status.ParseFromString(row.status));
  status.set_state(static_cast<uint32_t>(JobState::kConfiguring));
  status.mutable_placed()->set_started_us(0);
  status.mutable_placed()->add_waiting_for(w.node_of(w.known));
  row.status = status.SerializeAsString();
  row.state = status.state();
  w.end_script(w.node_of(w.known), {w.known.value, 1}, 0);
  w.killed(Comes::kBackToAnOlder, false);
  EXPECT_EQ(w.state(w.known), JobState::kPending);
  EXPECT_EQ(w.job(w.known).attempt, 1U);
}

/// A controller on the older state, and one of the nodes that have run something since is not back yet; another is
/// free.
struct OneIsMissing : Outage {
  std::string missing;
  JobId fresh;

  OneIsMissing() {
    end_script(node_of(later), {later.value, 1}, 0);
    settle();
    missing = node_of(held);
    part();
    store = copy;
    restart();
    act(held, wire::kRelease);
    fresh = submit(1000, gang(1));
    for (const auto& node : settings.nodes)
      if (node.name != missing) join(node.name);
    settle();
  }
};

TEST(Outage, OfAnOlderStateNothingStartsBeforeAllNodesAreHeard) {
  OneIsMissing w;
  EXPECT_EQ(w.state(w.held), JobState::kPending);
  EXPECT_EQ(w.state(w.fresh), JobState::kPending);
  w.join(w.missing);
  w.settle();
  EXPECT_TRUE(w.lives(w.missing, {w.held.value, 1}));
  EXPECT_EQ(w.state(w.held), JobState::kPending);
  EXPECT_EQ(w.job(w.held).waiting()->reason, model::WaitReason::kCleaning);
  EXPECT_EQ(w.state(w.fresh), JobState::kRunning);
  EXPECT_EQ(w.ended_by_order(), 0U);
}

TEST(Outage, OfAnOlderStateANodeIsNotWaitedForWithoutEnd) {
  OneIsMissing w;
  w.act(w.held, wire::kHold);
  w.tick_with_beats(w.settings.node_timeout);  // it may be dead
  w.settle();
  EXPECT_EQ(w.state(w.fresh), JobState::kRunning);
  EXPECT_EQ(w.ended_by_order(), 0U);
}

TEST(Outage, StoresAndNodesWithoutMarksAreTakenOver) {
  Outage w;
  for (const std::string key : {"state_root", "state_starts", "commit"}) w.store.meta.erase(key);
  for (auto& [id, row] : w.store.jobs) {
    wire::JobStatus status;
    ASSERT_TRUE(status.ParseFromString(row.status));
    if (status.has_placed()) status.mutable_placed()->mutable_contract()->clear_placed_in();
    row.status = status.SerializeAsString();
  }
  for (auto& [name, node] : w.fleet) {
    node.seen = {};
    for (auto& [key, run] : node.runs) run.placed_in = {};
  }
  w.killed(Comes::kBackToTheSame, false);
  w.expect_all_go_on();
  w.killed(Comes::kBackToTheSame, false);
  w.expect_all_go_on();
}

TEST(Outage, RunsWithoutMarksThatTheStateCannotHavePlacedAreKept) {
  Outage w;
  for (auto& [name, node] : w.fleet) {
    node.seen = {};
    for (auto& [key, run] : node.runs) run.placed_in = {};
  }
  w.killed(Comes::kBackToNothing, false);
  EXPECT_EQ(w.ended_by_order(), 0U);
  EXPECT_GT(w.submit(1000, gang(1)), w.later);
}

TEST(Outage, AnExpectedRunGoesOnEvenIfTheStartThatPlacedItIsForgotten) {
  Outage w;
  w.store.meta["state_starts"].clear();
  w.killed(Comes::kBackToTheSame, false);
  w.expect_all_go_on();
}

TEST(Outage, ARunThatOurStateEndedIsEndedOnItsNode) {
  Outage w;
  const std::string node = w.node_of(w.later);
  w.part();
  w.restart();
  wire::ApiRequest dead;
  dead.mutable_update_node()->add_names(node);
  dead.mutable_update_node()->set_action(wire::kNodeDown);
  dead.mutable_update_node()->set_dead(true);
  dead.mutable_update_node()->set_reason("burnt");
  w.ask(0, dead);
  w.join_all();
  EXPECT_EQ(w.fleet[node].ended_by_order.count({w.later.value, 1}), 1U);
}

TEST(Outage, AReportOfAForeignRunDoesNotTouchTheJobThatHasItsNumber) {
  Fleet w(2, with_lease());
  w.join("n0");
  const JobId ours = w.submit(1000, gang(1));
  w.settle();
  ASSERT_EQ(w.state(ours), JobState::kRunning);
  Fleet::Run run;
  run.placed_in.set_root("x");
  run.placed_in.set_incarnation("x");
  run.phase = wire::kRunStarted;
  run.is_first = true;
  w.fleet["n1"].runs[{ours.value, 1}] = run;
  w.fleet["n1"].seen = run.placed_in;
  w.join("n1");
  w.end_script("n1", {ours.value, 1}, 1);
  EXPECT_EQ(w.state(ours), JobState::kRunning);
  EXPECT_TRUE(w.fleet["n1"].runs.empty());
}

}  // namespace
}  // namespace gw::ctld
