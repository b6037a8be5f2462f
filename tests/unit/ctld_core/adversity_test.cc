// Orders of events that once broke a promise, or nearly did: each is a sequence that a review found by reading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using testing::with_lease;
using testing::World;
using ToNodeKind = wire::ControllerToNode;

/// One node with one running job.
struct RunningJob : World {
  JobId id;
  explicit RunningJob(Settings s = {}) : World(1, std::move(s)) {
    connect_all();
    id = submit(1000, gang(1));
    schedule();
    started("n0", id);
  }
  void reload(Settings changed) {
    core->on_reconfigured(now, std::move(changed), {}, {}, {});
    pump();
  }
};

TEST(Adversity, NodeThatForgotTheGoIsToldAgain) {
  World w(2);
  w.connect_all();
  const JobId id = w.submit(1000, gang(2));
  w.schedule();
  w.prepared("n0", id);
  w.prepared("n1", id);
  w.cut("n0");
  w.connect("n0", {World::run(id, 1, wire::kRunUnknown)});
  EXPECT_EQ(w.last("n0", ToNodeKind::kGo), nullptr);
  w.prepared("n0", id);
  EXPECT_NE(w.last("n0", ToNodeKind::kGo), nullptr);
}

TEST(Adversity, ShepherdDeadBeforeTheGangIsReadyStartsNobody) {
  World w(2);
  w.connect_all();
  const JobId id = w.submit(1000, gang(2));
  w.schedule();
  w.prepared("n0", id);
  wire::NodeToController m;
  m.mutable_batch_exited()->set_job(id.value);
  m.mutable_batch_exited()->set_attempt(1);
  m.mutable_batch_exited()->set_reason(static_cast<uint32_t>(model::EndReason::kShepherdDied));
  w.say("n0", m);
  EXPECT_EQ(w.last("n1", ToNodeKind::kGo), nullptr);
  w.done("n0", id);
  w.done("n1", id);
  EXPECT_EQ(w.state(id), JobState::kPending);
}

TEST(Adversity, UpdateOfAJobWhosePartitionIsGone) {
  RunningJob w;
  const JobId waiting = w.submit(1000, gang(1));
  Settings changed = w.settings;
  changed.partitions[0].name = "new";
  w.reload(changed);
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(waiting.value);
  r.mutable_update_job()->set_time_limit_us(base::minutes(1).us);
  EXPECT_EQ(w.ask(1000, r).jobs().faults_size(), 1);
}

TEST(Adversity, LeaseIsKeptOverARestart) {
  RunningJob w(with_lease(base::minutes(2)));
  w.restart();
  w.tick(base::hours(5));
  EXPECT_EQ(w.state(w.id), JobState::kPending);
}

TEST(Adversity, LeaseLoweredByAReloadBindsOnlyLaterRuns) {
  RunningJob w(with_lease(base::hours(2)));
  Settings changed = w.settings;
  changed.partitions[0].lease = base::minutes(1);
  w.reload(changed);
  w.cut("n0");
  w.tick(base::minutes(10));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(Adversity, FlappingNodeGetsOneChainOfHeartbeats) {
  World w(1);
  for (int i = 0; i < 50; ++i) {
    w.now = w.now + base::milliseconds(100);
    if (i > 0) w.cut("n0");
    w.connect("n0");
  }
  w.tick(base::seconds(11));
  const auto& inbox = w.to_node[w.links["n0"]];
  EXPECT_LE(std::count_if(inbox.begin(), inbox.end(), [](const auto& m) { return m.has_heartbeat(); }), 2);
}

TEST(Adversity, PriorityDoesNotWrapAround) {
  RunningJob w;
  const JobId honest = w.submit(1001, gang(1));
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_priority(INT64_MIN);
  EXPECT_THAT(w.ask(1002, r).error().what(), ::testing::HasSubstr("--priority: -9223372036854775808 is out of range"));
  r.mutable_submit()->mutable_spec()->set_priority(-(int64_t{1} << 32));
  r.mutable_submit()->mutable_spec()->set_nice(INT32_MAX);
  const JobId wrapping(w.ask(1002, r).submit().job_id());
  w.schedule();
  w.exited("n0", w.id, 0);
  w.done("n0", w.id);
  w.schedule();
  EXPECT_EQ(w.state(honest), JobState::kConfiguring);
  EXPECT_EQ(w.state(wrapping), JobState::kPending);
}

TEST(Adversity, GangOfOneWhoseStartWasNotHeardOfRunsOn) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.cut("n0");  // it started there, and the report was lost
  w.tick(w.settings.start_timeout + base::seconds(1));
  w.connect("n0", {World::run(id, 1, wire::kRunStarted)});
  EXPECT_EQ(w.state(id), JobState::kRunning);
}

TEST(Adversity, EndRecordedBeforeARebootCounts) {
  RunningJob w;
  w.cut("n0");
  w.connect("n0", {World::run(w.id, 1, wire::kRunEnding)}, "b2");
  w.schedule();
  EXPECT_EQ(w.job(w.id).attempt, 1U);
  w.exited("n0", w.id, 0);
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCompleted);
}

TEST(Adversity, LongJobStaysOutOfTheShortPartition) {
  World w(1);
  Settings changed = w.settings;
  model::Partition brief = changed.partitions[0];
  brief.name = "brief";
  brief.unlimited = brief.is_default = false;
  brief.max_time = brief.default_time = base::minutes(10);
  changed.partitions.push_back(brief);
  w.core->on_reconfigured(w.now, changed, {}, {}, {});
  w.pump();
  w.connect_all();
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->add_partitions("brief");
  r.mutable_submit()->mutable_spec()->add_partitions("main");
  r.mutable_submit()->mutable_spec()->set_time_limit_us(base::hours(48).us);
  const JobId id(w.ask(1000, r).submit().job_id());
  w.schedule();
  EXPECT_EQ(w.job(id).placed()->partition, "main");
}

TEST(Adversity, PlanForANodeThatWasReplacedIsDropped) {
  World w(2);
  w.connect_all();
  const JobId id = w.submit(1000, gang(2));
  const sched::Plan in_flight = sched::plan(w.view, w.now, {});
  Settings changed = w.settings;
  changed.nodes[1].name = "m9";
  changed.partitions[0].nodes[1] = "m9";
  w.core->on_reconfigured(w.now, changed, {}, {}, {});
  w.pump();
  w.connect("m9");
  w.core->on_plan(w.now, in_flight);
  w.pump();
  EXPECT_EQ(w.state(id), JobState::kPending);
}

TEST(Adversity, ManyTimesTheSameIdIsOneChange) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  wire::ApiRequest r;
  r.mutable_job_action()->set_action(wire::kUserHold);
  for (int i = 0; i < 10'000; ++i) r.mutable_job_action()->add_ids(id.value);
  const size_t before = w.store.events.size();
  w.ask(1000, r);
  EXPECT_EQ(w.store.events.size(), before + 1);
}

/// A node counts its leases from the beat that is answered: the answer names it, and comes at once.
TEST(Adversity, HeartbeatIsAnsweredAtOnceAndByName) {
  World w(1);
  w.connect_all();
  EXPECT_TRUE(w.last("n0", wire::ControllerToNode::kRegistered)->registered().echoes());
  wire::NodeToController beat;
  beat.mutable_heartbeat()->set_now_us(4711);
  w.core->on_store_state("disk full");
  w.core->on_node_message(w.now, w.links["n0"], NodePeer{0, "127.0.0.1"}, beat);
  const Effects effects = w.core->take_effects();
  ASSERT_FALSE(effects.out.empty());
  const auto& answer = std::get<ToNode>(effects.out.back());
  EXPECT_TRUE(answer.at_once);
  EXPECT_EQ(answer.message.heartbeat().echo_us(), 4711);
  w.tick(w.settings.heartbeat);  // it has had its sign of life in this interval
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kHeartbeat), nullptr);
  w.tick(w.settings.heartbeat);
  ASSERT_NE(w.last("n0", wire::ControllerToNode::kHeartbeat), nullptr);
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kHeartbeat)->heartbeat().echo_us(), 0);
}

TEST(Adversity, HeartbeatsDoNotWaitForTheDisk) {
  World w(1);
  w.connect_all();
  w.core->on_store_state("disk full");
  w.core->on_tick(w.now + w.settings.heartbeat);
  const Effects effects = w.core->take_effects();
  ASSERT_FALSE(effects.out.empty());
  bool is_sent = false;
  for (const Outgoing& out : effects.out)
    if (const auto* m = std::get_if<ToNode>(&out)) is_sent |= m->message.has_heartbeat() && m->at_once;
  EXPECT_TRUE(is_sent);
}

/// Messages of one kind that go out before what waits for the disk, to any node.
size_t sent_at_once(const Effects& effects, wire::ControllerToNode::KindCase kind) {
  size_t n = 0;
  for (const Outgoing& out : effects.out)
    if (const auto* m = std::get_if<ToNode>(&out)) n += m->at_once && m->message.kind_case() == kind;
  return n;
}

JobId running_job(World& w) {
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.prepared("n0", id);
  w.started("n0", id);
  EXPECT_EQ(w.state(id), JobState::kRunning);
  return id;
}

wire::ApiRequest cancel_of(JobId id) {
  wire::ApiRequest r;
  r.set_id(3);
  r.mutable_cancel()->mutable_filter()->add_ids(id.value);
  return r;
}

TEST(Unwritten, ACancelStopsWhatRunsAndSaysThatItIsNotOnDisk) {
  World w(1);
  const JobId id = running_job(w);
  const JobId waiting = w.submit(1000, gang(1));
  w.core->on_store_state("disk full");
  w.core->on_request(w.now, 77, World::user(1001), cancel_of(id));
  EXPECT_EQ(sent_at_once(w.core->take_effects(), wire::ControllerToNode::kStop), 0u) << "not somebody else's";
  w.core->on_request(w.now, 77, World::user(1000), cancel_of(id));
  Effects effects = w.core->take_effects();
  EXPECT_EQ(sent_at_once(effects, wire::ControllerToNode::kStop), 1u);
  const auto* answer = std::get_if<Reply>(&effects.out.back());
  ASSERT_NE(answer, nullptr);
  EXPECT_TRUE(answer->at_once);
  EXPECT_NE(std::string(answer->reply.error().what()).find("not on disk yet"), std::string::npos);
  w.core->on_request(w.now, 77, World::user(1000), cancel_of(waiting));
  effects = w.core->take_effects();
  EXPECT_TRUE(effects.writes.empty()) << "what waits is not touched";
  EXPECT_EQ(w.state(waiting), JobState::kPending);
}

TEST(Unwritten, ANodeWhoseRegistrationWaitsForTheDiskIsToldToStopBehindTheAnswerToo) {
  World w(1);
  const JobId id = running_job(w);
  w.cut("n0");
  w.core->on_store_state("disk full");
  wire::NodeToController back;
  back.mutable_register_node()->set_name("n0");
  back.mutable_register_node()->set_boot_id("b1");
  *back.mutable_register_node()->mutable_topology() = wire::to_wire(testing::eight_gpus());
  *back.mutable_register_node()->add_runs() = World::run(id, 1, wire::kRunStarted);
  w.core->on_node_message(w.now, 99, NodePeer{0, "127.0.0.1"}, back);
  w.core->on_request(w.now, 77, World::user(1000), cancel_of(id));
  std::vector<wire::ControllerToNode::KindCase> in_order;  // what waits for the disk
  for (const Outgoing& out : w.core->take_effects().out)
    if (const auto* m = std::get_if<ToNode>(&out); m != nullptr && !m->at_once)
      in_order.push_back(m->message.kind_case());
  ASSERT_FALSE(in_order.empty());
  EXPECT_EQ(in_order.front(), wire::ControllerToNode::kRegistered);
  EXPECT_EQ(in_order.back(), wire::ControllerToNode::kStop);
}

TEST(Unwritten, TimeLimitsHold) {
  World w(1);
  w.connect_all();
  wire::ApiRequest request = World::submission(gang(1));
  request.mutable_submit()->mutable_spec()->set_time_limit_us(base::seconds(5).us);
  const JobId id(w.ask(1000, request).submit().job_id());
  w.schedule();
  w.prepared("n0", id);
  w.started("n0", id);
  w.core->on_store_state("disk full");
  w.now = w.now + base::seconds(5);  // before the node counts as silent
  w.core->on_tick(w.now);
  EXPECT_EQ(sent_at_once(w.core->take_effects(), wire::ControllerToNode::kStop), 1u);
  EXPECT_EQ(w.state(id), JobState::kCompleting);
}

TEST(Unwritten, StopsThatWaitForTheDiskAreToldAgainAtOnce) {
  World w(1);
  const JobId id = running_job(w);
  w.core->on_request(w.now, 77, World::user(1000), cancel_of(id));
  EXPECT_EQ(sent_at_once(w.core->take_effects(), wire::ControllerToNode::kStop), 0u) << "the disk works";
  w.core->on_store_state("disk full");
  EXPECT_EQ(sent_at_once(w.core->take_effects(), wire::ControllerToNode::kStop), 1u);
}

TEST(Unwritten, StopsOfARunThatNoNodeHasReportedAreNotToldAgain) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.core->on_request(w.now, 77, World::user(1000), cancel_of(id));
  EXPECT_EQ(w.state(id), JobState::kCompleting);
  w.core->take_effects();
  w.core->on_store_state("disk full");
  EXPECT_EQ(sent_at_once(w.core->take_effects(), wire::ControllerToNode::kStop), 0u)
      << "its placement may not be on disk";
}

TEST(Unwritten, ARunThatNoNodeHasReportedIsNotStoppedAtOnce) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  ASSERT_EQ(w.state(id), JobState::kConfiguring);
  w.core->on_store_state("disk full");
  w.core->on_request(w.now, 77, World::user(1000), cancel_of(id));
  EXPECT_EQ(sent_at_once(w.core->take_effects(), wire::ControllerToNode::kStop), 0u);
  EXPECT_EQ(w.state(id), JobState::kConfiguring);
}

}  // namespace
}  // namespace gw::ctld
