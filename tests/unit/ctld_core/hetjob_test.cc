// Heterogeneous jobs through the core: components start together or not at all, and end together.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using testing::World;

struct Components : ::testing::Test {
  Components() : w(3) { w.connect_all(); }

  /// A component each with so many nodes of 8 GPUs.
  JobId submit(const std::vector<uint32_t>& nodes, bool is_attended = false) {
    wire::ApiRequest request = World::submission(gang(nodes.front()));
    if (is_attended) {
      request.mutable_submit()->clear_script();
      request.mutable_submit()->mutable_spec()->set_kind(static_cast<uint32_t>(model::JobKind::kAllocation));
      request.mutable_submit()->mutable_spec()->set_attended(true);
    }
    for (size_t k = 1; k < nodes.size(); ++k) {
      wire::JobSpec& spec = *request.mutable_submit()->add_components();
      spec = request.submit().spec();
      *spec.mutable_request() = wire::to_wire(gang(nodes[k]));
    }
    const wire::ApiReply reply = w.ask(1000, request);
    error = reply.error().what();
    w.schedule();
    return JobId(reply.submit().job_id());
  }
  JobState state(JobId first, uint32_t offset) { return w.state(JobId(first.value + offset)); }
  std::vector<std::string> nodes_of(JobId id) { return w.job(id).placed()->allocation.node_names(); }
  void prepare_all(JobId id) {
    for (const std::string& node : nodes_of(id)) w.prepared(node, id);
  }
  void start(JobId first, uint32_t size) {
    for (uint32_t k = 0; k < size; ++k) prepare_all(JobId(first.value + k));
  }
  void clean_up(JobId id) {
    for (const std::string& node : nodes_of(id)) w.done(node, id);
  }
  wire::ApiReply act(JobId id, wire::JobAction what) {
    wire::ApiRequest r;
    r.mutable_job_action()->add_ids(id.value);
    r.mutable_job_action()->set_action(what);
    return w.ask(1000, r);
  }

  World w;
  std::string error;
};

TEST_F(Components, WhatIsAComponentsOwnChangesForTheNamedOneAlone) {
  submit({3});  // all nodes are taken
  const JobId first = submit({1, 1});
  const JobId second(first.value + 1);
  wire::ApiRequest update;
  update.mutable_update_job()->add_ids(second.value);
  update.mutable_update_job()->set_min_nodes(2);
  update.mutable_update_job()->set_comment("larger");
  ASSERT_FALSE(w.ask(1000, update).has_error());
  EXPECT_EQ(w.job(first).spec.request.min_nodes, 1U);
  EXPECT_EQ(w.job(second).spec.request.min_nodes, 2U);
  EXPECT_EQ(w.job(first).spec.comment, "larger");
  EXPECT_EQ(w.job(second).spec.comment, "larger");
}

/// Each of 128 components would else have the scheduler told of all 128 of them.
TEST_F(Components, AreToldOnceHoweverManyAreChanged) {
  submit({3});  // all nodes are taken
  size_t told = 0;
  w.on_effects = [&told](const Effects& e) {
    for (const sched::Delta& d : e.deltas) told += std::holds_alternative<sched::JobQueued>(d.kind) ? 1 : 0;
  };
  const JobId first = submit({1, 1, 1});
  ASSERT_EQ(state(first, 2), JobState::kPending) << error;
  EXPECT_EQ(told, 1U);
  wire::ApiRequest update;
  update.mutable_update_job()->add_ids(first.value);
  update.mutable_update_job()->set_time_limit_us(base::minutes(5).us);
  ASSERT_FALSE(w.ask(1000, update).has_error());
  EXPECT_EQ(told, 2U);
  for (uint32_t k = 0; k < 3; ++k) EXPECT_EQ(w.job(JobId(first.value + k)).spec.time_limit, base::minutes(5));
  act(first, wire::kHold);
  act(first, wire::kRelease);
  EXPECT_EQ(told, 3U);
}

TEST_F(Components, OfAnAllocationAreAttendedWithTheFirst) {
  const JobId first = submit({1, 1}, true);
  start(first, 2);
  ASSERT_EQ(state(first, 1), JobState::kRunning) << error;
  w.restart();
  ASSERT_TRUE(w.restored);
  wire::ApiRequest attend;
  attend.mutable_wait_job()->set_id(first.value);
  attend.mutable_wait_job()->set_attend(true);
  w.ask(1000, attend);
  for (const uint32_t k : {0U, 1U}) {
    const JobId id(first.value + k);
    w.connect(nodes_of(id).front(), {World::run(id, 1, wire::kRunStarted)});
  }
  w.tick(base::seconds(300));
  EXPECT_EQ(state(first, 0), JobState::kRunning);
  EXPECT_EQ(state(first, 1), JobState::kRunning);
  wire::ApiRequest end;
  end.mutable_end_allocation()->set_job_id(first.value);
  end.mutable_end_allocation()->set_exit_code(4);
  EXPECT_TRUE(w.ask(1000, end).has_ok());
  EXPECT_EQ(state(first, 1), JobState::kCompleting) << "they end together";
}

TEST_F(Components, StartTogetherOnceAllAreReady) {
  const JobId first = submit({1, 2});
  const JobId second(first.value + 1);
  ASSERT_EQ(state(first, 0), JobState::kConfiguring);
  ASSERT_EQ(state(first, 1), JobState::kConfiguring);
  const std::string leader_node = nodes_of(first).front();
  const wire::Prepare& prepare = w.last(leader_node, wire::ControllerToNode::kPrepare)->prepare();
  EXPECT_FALSE(prepare.go());
  ASSERT_EQ(prepare.components_size(), 2);
  EXPECT_EQ(prepare.components(1).gang().node_count(), 2u);
  prepare_all(first);
  EXPECT_EQ(state(first, 0), JobState::kConfiguring);  // it waits for the other
  w.prepared(nodes_of(second).front(), second);
  EXPECT_EQ(state(first, 0), JobState::kConfiguring);
  w.prepared(nodes_of(second).back(), second);
  EXPECT_EQ(state(first, 0), JobState::kRunning);
  EXPECT_EQ(state(first, 1), JobState::kRunning);
  EXPECT_NE(w.last(leader_node, wire::ControllerToNode::kGo), nullptr);
}

TEST_F(Components, WaitTogether) {
  const JobId filler = w.submit(1001, gang(1));
  w.schedule();
  ASSERT_EQ(w.state(filler), JobState::kConfiguring);
  const JobId first = submit({1, 2});
  EXPECT_EQ(state(first, 0), JobState::kPending);
  EXPECT_EQ(state(first, 1), JobState::kPending);
  w.cancel(1001, filler);
  w.done(nodes_of(filler).front(), filler);
  w.schedule();
  EXPECT_EQ(state(first, 0), JobState::kConfiguring);
  EXPECT_EQ(state(first, 1), JobState::kConfiguring);
}

TEST_F(Components, EndWithTheBatchScript) {
  const JobId first = submit({1, 2});
  const JobId second(first.value + 1);
  start(first, 2);
  w.exited(nodes_of(first).front(), first, 3);
  EXPECT_EQ(state(first, 0), JobState::kCompleting);
  EXPECT_EQ(state(first, 1), JobState::kCompleting);
  clean_up(second);
  clean_up(first);
  EXPECT_EQ(state(first, 0), JobState::kFailed);
  EXPECT_EQ(state(first, 1), JobState::kFailed);
}

TEST_F(Components, AreRequeuedTogetherWhenOneLosesItsNode) {
  const JobId first = submit({1, 2});
  const JobId second(first.value + 1);
  start(first, 2);
  const std::string lost = nodes_of(second).front();
  w.cut(lost);
  w.connect(lost, {}, "another boot");
  EXPECT_EQ(state(first, 0), JobState::kCompleting);
  clean_up(first);
  EXPECT_EQ(state(first, 0), JobState::kPending);
  w.schedule();
  EXPECT_EQ(state(first, 0), JobState::kPending);  // the other still holds a node
  w.done(nodes_of(second).back(), second);
  w.schedule();
  EXPECT_EQ(state(first, 0), JobState::kConfiguring);
  EXPECT_EQ(state(first, 1), JobState::kConfiguring);
}

TEST_F(Components, FailureToPrepareReleasesAll) {
  const JobId first = submit({1, 2});
  const JobId second(first.value + 1);
  prepare_all(first);
  wire::NodeToController m;
  m.mutable_prepare_failed()->set_job(second.value);
  m.mutable_prepare_failed()->set_attempt(1);
  m.mutable_prepare_failed()->set_detail("no such directory");
  w.say(nodes_of(second).front(), m);
  EXPECT_EQ(state(first, 0), JobState::kCompleting);
  EXPECT_EQ(w.last(nodes_of(first).front(), wire::ControllerToNode::kGo), nullptr);
  w.done(nodes_of(second).back(), second);
  clean_up(first);
  EXPECT_EQ(state(first, 0), JobState::kFailed);
  EXPECT_EQ(state(first, 1), JobState::kFailed);
  EXPECT_TRUE(w.core->ledger().holdings().empty());
}

TEST_F(Components, CancelAndHoldAndRequeueMeanAll) {
  const JobId first = submit({1, 1});
  const JobId second(first.value + 1);
  start(first, 2);
  EXPECT_EQ(act(second, wire::kRequeueHold).jobs().faults_size(), 0);
  clean_up(first);
  clean_up(second);
  w.schedule();
  EXPECT_EQ(state(first, 0), JobState::kPending);
  EXPECT_EQ(act(first, wire::kRelease).jobs().faults_size(), 0);
  w.schedule();
  ASSERT_EQ(state(first, 1), JobState::kConfiguring);
  EXPECT_EQ(w.cancel(1000, second).cancel().faults_size(), 0);
  clean_up(first);
  clean_up(second);
  EXPECT_EQ(state(first, 0), JobState::kCancelled);
  EXPECT_EQ(state(first, 1), JobState::kCancelled);

  w.cut("n0");
  const JobId held = submit({1, 2});
  ASSERT_EQ(state(held, 0), JobState::kPending);
  act(held, wire::kHold);
  w.cancel(1000, held);
  EXPECT_EQ(state(held, 0), JobState::kCancelled);
  EXPECT_EQ(state(held, 1), JobState::kCancelled);
}

TEST_F(Components, EachSaysWhyItWaits) {
  const auto reason = [this](JobId first, uint32_t offset) {
    wire::ApiRequest r;
    r.mutable_show_job()->set_id(first.value + offset);
    const wire::Waiting waiting = w.ask(1000, r).show_job().job().status().waiting();
    return fmt::format("{}: {}", name(static_cast<model::WaitReason>(waiting.reason())), waiting.detail());
  };
  const JobId filler = w.submit(1001, gang(3));
  w.schedule();
  const JobId blocked = submit({1, 1});
  EXPECT_EQ(reason(blocked, 0).substr(0, 11), "Resources: ");
  EXPECT_EQ(reason(blocked, 1), fmt::format("Resources: it starts with component 0, job {}: {}", blocked.value,
                                            reason(blocked, 0).substr(11)));
  w.cancel(1000, blocked);
  w.cancel(1001, filler);
  clean_up(filler);

  const JobId first = submit({1, 1});
  start(first, 2);
  act(JobId(first.value + 1), wire::kRequeueHold);
  clean_up(first);
  w.schedule();
  EXPECT_EQ(reason(first, 0), fmt::format("JobHeldUser: held by its owner: gcontrol release {}", first.value));
  clean_up(JobId(first.value + 1));
  EXPECT_EQ(reason(first, 1), fmt::format("JobHeldUser: held by its owner: gcontrol release {}", first.value + 1));
  act(first, wire::kRelease);
  w.schedule();
  start(first, 2);
  act(first, wire::kRequeue);
  clean_up(JobId(first.value + 1));
  EXPECT_EQ(reason(first, 1), fmt::format("Cleaning: component 0, job {}, has not left its nodes yet", first.value));
}

TEST_F(Components, AreListedByTheIdOfTheFirst) {
  const JobId filler = w.submit(1001, gang(3));
  w.schedule();
  const JobId first = submit({1, 1, 1});
  const auto listed = [this](std::vector<uint32_t> ids) {
    wire::ApiRequest r;
    for (const uint32_t id : ids) r.mutable_list_jobs()->mutable_filter()->add_ids(id);
    std::vector<uint32_t> out;
    const wire::ApiReply reply = w.ask(1000, r);
    for (const wire::Job& job : reply.list_jobs().jobs()) out.push_back(job.id());
    return out;
  };
  const uint32_t id = first.value;
  EXPECT_EQ(listed({id}), (std::vector<uint32_t>{id, id + 1, id + 2}));
  EXPECT_EQ(listed({id, id + 1}), (std::vector<uint32_t>{id, id + 1, id + 2}));
  EXPECT_EQ(listed({id + 1}), (std::vector<uint32_t>{id + 1}));
  EXPECT_EQ(listed({filler.value}), (std::vector<uint32_t>{filler.value}));
}

TEST_F(Components, HaveThePriorityOfTheFirst) {
  w.submit(1001, gang(3));
  w.schedule();
  const JobId first = submit({1, 1});
  wire::ApiRequest change;
  change.mutable_update_job()->add_ids(first.value);
  change.mutable_update_job()->set_priority(-5);
  ASSERT_EQ(w.ask(1000, change).jobs().faults_size(), 0);
  for (const uint32_t offset : {0U, 1U}) {
    wire::ApiRequest r;
    r.mutable_show_job()->set_id(first.value + offset);
    EXPECT_EQ(w.ask(1000, r).show_job().job().status().waiting().priority(), -5) << offset;
  }
}

TEST_F(Components, ARestartKeepsThemTogether) {
  w.cut("n0");
  const JobId first = submit({1, 2});
  ASSERT_EQ(state(first, 0), JobState::kPending);
  const std::string before = w.core->fingerprint();
  w.restart();
  ASSERT_TRUE(w.restored);
  EXPECT_EQ(w.core->fingerprint(), before);
  w.connect_all();
  w.schedule();
  EXPECT_EQ(state(first, 0), JobState::kConfiguring);
  EXPECT_EQ(state(first, 1), JobState::kConfiguring);
}

TEST_F(Components, TestOnlyPlacesThemBesideEachOther) {
  wire::ApiRequest request = World::submission(gang(1));
  wire::JobSpec& second = *request.mutable_submit()->add_components();
  second = request.submit().spec();
  *second.mutable_request() = wire::to_wire(gang(2));
  request.mutable_submit()->set_test_only(true);
  std::string verdict = w.ask(1000, request).submit().test_verdict();
  EXPECT_NE(verdict.find("would start now in partition main on n"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find(" : in partition main on n"), std::string::npos) << verdict;
  EXPECT_TRUE(w.core->ledger().holdings().empty());
  w.cut("n0");
  verdict = w.ask(1000, request).submit().test_verdict();
  EXPECT_NE(verdict.find("does not fit beside the others"), std::string::npos) << verdict;
}

TEST_F(Components, ShareWhatIsNotAboutResources) {
  w.cut("n0");
  const JobId first = submit({1, 2});
  const JobId second(first.value + 1);
  wire::ApiRequest change;
  change.mutable_update_job()->add_ids(second.value);
  change.mutable_update_job()->set_time_limit_us(base::hours(3).us);
  change.mutable_update_job()->set_requeue(false);
  change.mutable_update_job()->set_min_nodes(1);
  ASSERT_EQ(w.ask(1000, change).jobs().faults_size(), 0);
  EXPECT_EQ(w.job(first).spec.time_limit, base::hours(3));
  EXPECT_FALSE(w.job(first).spec.requeue);
  EXPECT_EQ(w.job(first).spec.request.min_nodes, 1U);
  w.schedule();
  EXPECT_EQ(state(first, 0), JobState::kConfiguring);  // one node each: they fit now
  EXPECT_EQ(w.job(second).spec.time_limit, base::hours(3));
}

TEST_F(Components, ABadOneIsRefusedWithItsNumber) {
  submit({1, 9});
  EXPECT_NE(error.find("component 1: 9 nodes asked"), std::string::npos) << error;
  submit({3, 1});
  EXPECT_NE(error.find("component 1 does not fit beside those before it"), std::string::npos) << error;
  EXPECT_TRUE(w.core->jobs().empty());
}

}  // namespace
}  // namespace gw::ctld
