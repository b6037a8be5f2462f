// Jobs through the controller's core: gangs start whole, nothing is lost or run twice, whatever dies meanwhile.
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using testing::World;
using ToNodeKind = wire::ControllerToNode;

/// Two nodes, one job of both, running.
struct RunningGang : World {
  JobId id;
  RunningGang() : World(2) {
    connect_all();
    id = submit(1000, gang(2));
    schedule();
    prepared("n0", id);
    prepared("n1", id);
  }
};

TEST(Lifecycle, GangStartsOnlyWhenEveryNodeHasPrepared) {
  World w(2);
  w.connect_all();
  const JobId id = w.submit(1000, gang(2));
  ASSERT_TRUE(id) << w.last_error;
  EXPECT_EQ(w.state(id), JobState::kPending);
  w.schedule();
  EXPECT_EQ(w.state(id), JobState::kConfiguring);
  w.prepared("n0", id);
  EXPECT_EQ(w.last("n0", ToNodeKind::kGo), nullptr);
  w.prepared("n1", id);
  EXPECT_EQ(w.state(id), JobState::kRunning);
  EXPECT_NE(w.last("n0", ToNodeKind::kGo), nullptr);
  EXPECT_NE(w.last("n1", ToNodeKind::kGo), nullptr);
}

TEST(Lifecycle, EndWaitsForEveryNode) {
  RunningGang w;
  w.exited("n0", w.id, 3);
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
  EXPECT_EQ(w.core->ledger().node("n0")->free.gpus.size(), 8U);
  EXPECT_EQ(w.core->ledger().node("n1")->free.gpus.size(), 0U);
  w.done("n1", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kFailed);
  EXPECT_EQ(w.job(w.id).ended()->outcome.exit.code, 3);
  EXPECT_TRUE(w.store.jobs.empty());
  EXPECT_EQ(w.store.ended.size(), 1U);
}

TEST(Lifecycle, StartTimeoutReleasesTheWholeGang) {
  World w(2);
  w.connect_all();
  const JobId id = w.submit(1000, gang(2));
  w.schedule();
  w.prepared("n0", id);
  w.now = w.now + w.settings.start_timeout;
  for (const char* node : {"n0", "n1"}) {  // still alive: only the preparation hangs
    wire::NodeToController beat;
    beat.mutable_heartbeat();
    w.say(node, beat);
  }
  w.tick({});
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  w.done("n0", id);
  w.done("n1", id);
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_EQ(w.job(id).waiting()->reason, model::WaitReason::kLaunchBackoff);
  EXPECT_TRUE(w.core->ledger().holdings().empty());
}

TEST(Lifecycle, LateReportsOfAnEarlierRunAreDropped) {
  World w(2);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.started("n0", id);
  w.cut("n0");
  w.connect("n0", {}, "b2");  // rebooted: the run is dead, the job is queued again
  w.schedule();
  ASSERT_EQ(w.job(id).attempt, 2U);
  w.exited("n0", id, 0, /*attempt=*/1);
  EXPECT_EQ(w.state(id), JobState::kConfiguring);
  EXPECT_EQ(w.job(id).restarts, 1U);
}

TEST(Lifecycle, NodeOutOfReachKeepsItsJob) {
  RunningGang w;
  w.cut("n1");
  w.tick(base::hours(10));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_TRUE(w.job(w.id).placed()->unreachable.contains(NodeId(2)));
}

TEST(Lifecycle, ProofOfDeathRequeues) {
  struct Row {
    const char* what;
    std::function<void(World&)> proof;
  };
  const std::vector<Row> table = {
      {"new boot id", [](World& w) { w.connect("n1", {}, "b2"); }},
      {"the node reports none", [](World& w) { w.connect("n1"); }},
      {"fencing program",
       [](World& w) {
         w.core->on_fenced(w.now, "n1", w.core->nodes().at(NodeId(2)).since, true, "");
         w.pump();
       }},
      {"an administrator's word",
       [](World& w) {
         wire::ApiRequest r;
         r.mutable_update_node()->add_names("n1");
         r.mutable_update_node()->set_action(wire::kNodeDown);
         r.mutable_update_node()->set_dead(true);
         w.ask(0, r);
       }},
  };
  for (const Row& row : table) {
    RunningGang w;
    w.cut("n1");
    row.proof(w);
    EXPECT_EQ(w.state(w.id), JobState::kCompleting) << row.what;
    w.done("n0", w.id);
    EXPECT_EQ(w.state(w.id), JobState::kPending) << row.what;
  }
}

TEST(Lifecycle, FailedFencingProvesNothing) {
  RunningGang w;
  w.cut("n1");
  w.core->on_fenced(w.now, "n1", w.core->nodes().at(NodeId(2)).since, false, "power switch does not answer");
  w.pump();
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(Lifecycle, LeaseEndsTheJobAfterItsTimeAndNotBefore) {
  Settings s;
  model::Partition p;
  p.name = "main";
  p.is_default = p.unlimited = true;
  p.lease = base::minutes(5);
  s.partitions = {p};
  World w(1, s);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.started("n0", id);
  w.cut("n0");
  w.tick(base::minutes(5));
  EXPECT_EQ(w.state(id), JobState::kRunning);
  w.tick(base::minutes(2));
  EXPECT_EQ(w.state(id), JobState::kPending);
}

TEST(Lifecycle, ControllerRestartLosesNothingAndStartsNothingTwice) {
  RunningGang w;
  const JobId waiting = w.submit(1000, gang(2));
  const std::string before = w.core->fingerprint();
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  w.schedule();
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_EQ(w.state(waiting), JobState::kPending);
  w.connect("n0", {World::run(w.id, 1, wire::kRunStarted)});
  w.connect("n1", {World::run(w.id, 1, wire::kRunPrepared)});
  EXPECT_NE(w.last("n1", ToNodeKind::kGo), nullptr);  // the order was lost on the way
  w.schedule();
  EXPECT_EQ(w.job(w.id).attempt, 1U);
  EXPECT_EQ(w.state(waiting), JobState::kPending);
  EXPECT_EQ(w.core->fingerprint(), before);
}

TEST(Lifecycle, OrderToPrepareLostInARestartIsSaidAgain) {
  World w(2);
  w.connect_all();
  const JobId id = w.submit(1000, gang(2));
  w.schedule();
  w.restart();
  w.connect("n0", {World::run(id, 1, wire::kRunPrepared)});
  w.connect("n1");
  EXPECT_NE(w.last("n1", ToNodeKind::kPrepare), nullptr);
  w.prepared("n1", id);
  EXPECT_EQ(w.state(id), JobState::kRunning);
}

TEST(Lifecycle, UnknownRunsOfANodeAreNotWanted) {
  World w(1);
  const JobId ended = w.submit(1000, gang(1));
  w.cancel(1000, ended);
  w.connect("n0", {World::run(ended, 1, wire::kRunStarted)});
  const auto* registered = w.last("n0", ToNodeKind::kRegistered);
  ASSERT_NE(registered, nullptr);
  EXPECT_TRUE(registered->registered().wanted().empty());
}

TEST(Lifecycle, TimeLimitStops) {
  World w(1);
  w.connect_all();
  model::Request r = gang(1);
  wire::ApiRequest request = World::submission(r);
  request.mutable_submit()->mutable_spec()->set_time_limit_us(base::minutes(1).us);
  const JobId id(w.ask(1000, request).submit().job_id());
  w.schedule();
  w.started("n0", id);
  w.core->on_tick(w.now + base::seconds(59));
  w.pump();
  EXPECT_EQ(w.state(id), JobState::kRunning);
  w.now = w.now + base::seconds(60);
  w.core->on_tick(w.now);
  w.pump();
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  w.exited("n0", id, 0);
  w.done("n0", id);
  EXPECT_EQ(w.state(id), JobState::kTimeout);
}

TEST(Lifecycle, LaunchFaultsBackOffAndDrainTheNode) {
  World w(1);
  w.connect_all();
  const JobId first = w.submit(1000, gang(1, 1)), second = w.submit(1000, gang(1, 1)),
              third = w.submit(1000, gang(1, 1));
  w.schedule();
  for (JobId id : {first, second, third}) {
    wire::NodeToController m;
    m.mutable_prepare_failed()->set_job(id.value);
    m.mutable_prepare_failed()->set_attempt(1);
    m.mutable_prepare_failed()->set_node_fault(true);
    w.say("n0", m);
    EXPECT_EQ(w.state(id), JobState::kPending);
  }
  EXPECT_EQ(w.core->nodes().begin()->second.admin, model::NodeAdmin::kDrain);
  EXPECT_TRUE(w.core->ledger().holdings().empty());
}

TEST(Lifecycle, LateWordOfAFailedPrepareChangesNothing) {
  RunningGang w;
  wire::NodeToController late;
  late.mutable_prepare_failed()->set_job(w.id.value);
  late.mutable_prepare_failed()->set_attempt(w.job(w.id).attempt);
  late.mutable_prepare_failed()->set_node_fault(true);
  const auto free_gpus = [&] { return w.core->ledger().node("n1")->free.gpus.size(); };
  w.say("n1", late);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_EQ(free_gpus(), 0U);  // what runs there keeps what it has
  EXPECT_EQ(w.core->metrics(w.now).unexpected_events, 1U);
  EXPECT_EQ(w.core->nodes().at(NodeId(2)).admin, model::NodeAdmin::kUp);
  w.exited("n0", w.id, 0);
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);  // n1 is still waited for
  w.done("n1", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCompleted);
}

TEST(Lifecycle, PrepareThatCannotBeSentEndsTheJobAndBlamesNoNode) {
  for (const bool is_final : {true, false}) {
    World w(2);
    w.connect_all();
    const JobId id = w.submit(1000, gang(2));
    w.schedule();
    const uint32_t attempt = w.job(id).attempt;
    w.core->on_prepare_unsent(w.now, id, attempt + 1, "of another run", is_final);
    EXPECT_EQ(w.state(id), JobState::kConfiguring);
    w.core->on_prepare_unsent(w.now, id, attempt, "the script is gone", is_final);
    w.pump();
    EXPECT_EQ(w.state(id), JobState::kCompleting);  // until both nodes say that nothing of it is there
    w.done("n0", id);
    w.done("n1", id);
    EXPECT_TRUE(w.core->ledger().holdings().empty());
    if (is_final) {
      EXPECT_EQ(w.state(id), JobState::kFailed);
      EXPECT_EQ(w.job(id).ended()->outcome.detail, "could not be sent to its nodes: the script is gone");
    } else {
      EXPECT_EQ(w.state(id), JobState::kPending);
      EXPECT_EQ(w.job(id).waiting()->reason, model::WaitReason::kLaunchBackoff);
    }
    for (const auto& [number, node] : w.core->nodes()) EXPECT_EQ(node.admin, model::NodeAdmin::kUp);
  }
}

TEST(Lifecycle, MistakeOfTheUserEndsTheJob) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  wire::NodeToController m;
  m.mutable_prepare_failed()->set_job(id.value);
  m.mutable_prepare_failed()->set_attempt(1);
  m.mutable_prepare_failed()->set_reason(static_cast<uint32_t>(model::EndReason::kWorkDir));
  m.mutable_prepare_failed()->set_detail("/nowhere: No such file or directory");
  w.say("n0", m);
  EXPECT_EQ(w.state(id), JobState::kFailed);
  EXPECT_EQ(w.job(id).ended()->outcome.reason, model::EndReason::kWorkDir);
}

TEST(Lifecycle, SecondLiveLinkAndStrangersAreRefused) {
  World w(1);
  w.connect_all();
  w.connect("n0");
  EXPECT_EQ(w.closed.size(), 1U);
  wire::NodeToController m;
  m.mutable_register_node()->set_name("n0");
  w.core->on_node_message(w.now, 77, NodePeer{1000, "127.0.0.1"}, m);
  m.mutable_register_node()->set_name("x1");
  w.core->on_node_message(w.now, 78, NodePeer{0, "127.0.0.1"}, m);
  w.pump();
  EXPECT_EQ(w.closed.size(), 3U);
}

TEST(Lifecycle, SilentNodeIsGivenUp) {
  World w(1);
  w.connect_all();
  w.tick(w.settings.node_timeout);
  EXPECT_EQ(w.closed.size(), 1U);
  EXPECT_FALSE(w.core->nodes().begin()->second.connected);
}

TEST(Lifecycle, EndedJobLeavesMemoryAfterItsAge) {
  RunningGang w;
  w.exited("n0", w.id, 0);
  w.done("n0", w.id);
  w.done("n1", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCompleted);
  w.tick(w.settings.min_job_age);
  EXPECT_FALSE(w.core->jobs().contains(w.id));
  EXPECT_EQ(w.store.ended.size(), 1U);
}

TEST(Lifecycle, SinceWhenAJobCouldRunIsKeptWhereItsTimeCameWhileTheControllerWasAway) {
  World w(1);
  wire::ApiRequest request = World::submission(gang(1));
  request.mutable_submit()->mutable_spec()->set_begin_us((w.now + base::seconds(60)).us);
  const JobId id(w.ask(1000, request).submit().job_id());
  w.now = w.now + base::seconds(120);
  w.restart();
  const base::Time eligible = w.job(id).eligible;
  EXPECT_EQ(eligible, w.now);
  w.now = w.now + base::seconds(60);
  w.restart();
  EXPECT_EQ(w.job(id).eligible, eligible);
}

TEST(Lifecycle, NoJobHasANumberThatTheSchedulerUsesForOtherThings) {
  World w(1);
  w.store.meta["next_job"] = std::to_string(sched::kFirstHoldingId - 1);
  w.restart();
  w.connect_all();
  EXPECT_EQ(w.submit(1000, gang(1)).value, sched::kFirstHoldingId - 1);
  EXPECT_FALSE(w.submit(1000, gang(1)));
  EXPECT_EQ(w.last_error, "all job numbers are used up");
}

TEST(Lifecycle, ARestartKnowsWhenARunThatWasToldToGoIsGone) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.prepared("n0", id);
  w.cancel(1000, id);
  ASSERT_EQ(w.state(id), JobState::kCompleting);
  const base::Time end = w.core->ledger().holdings().at(id).expected_end;
  w.restart();
  EXPECT_EQ(w.core->ledger().holdings().at(id).expected_end, end);
  EXPECT_EQ(w.view.capacity().holdings().at(id).expected_end, end);
}

}  // namespace
}  // namespace gw::ctld
