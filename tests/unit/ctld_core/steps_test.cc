// Steps in the controller's core: waiting for room, tickets, ends, restarts; and jobs without a script, which end with
// their client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/ctld_core/step_world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using ::testing::HasSubstr;

TEST(Steps, AreAnsweredWithTicketAndAddressesWhenAllNodesAreReady) {
  StepWorld w(2);
  w.run();
  const ConnId asked = w.begin('a', 8);
  ASSERT_EQ(w.replies[asked].size(), 0u);
  const auto* order = w.last("n1", wire::ControllerToNode::kStartStep);
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->start_step().step(), 1u);
  EXPECT_EQ(order->start_step().share().node(), "n1");
  EXPECT_EQ(order->start_step().share().tasks(), 4u);
  EXPECT_EQ(order->start_step().gang().nodes(), "n[0-1]");
  EXPECT_EQ(order->start_step().gang().tasks(), "4(x2)");
  EXPECT_EQ(order->start_step().gang().node_id(), 1u);
  EXPECT_EQ(order->start_step().job().job(), w.id.value);
  EXPECT_EQ(order->start_step().job().share().node(), "n1");
  w.ready("n0", 0);
  EXPECT_EQ(w.replies[asked].size(), 0u);
  w.ready("n1", 0);
  const wire::ApiReply reply = w.answer(asked);
  EXPECT_EQ(reply.step().ticket(), "full");
  ASSERT_EQ(reply.step().step().nodes_size(), 2);
  EXPECT_EQ(reply.step().step().nodes(1).address(), "127.0.0.1:4711");
  EXPECT_EQ(reply.step().step().nodes(1).key(), key_of('k'));
}

TEST(Steps, ClientsAreToldAnAddressThatTheyCanReach) {
  struct Row {
    std::string from, own, listening, told;
  };
  const Row rows[] = {
      {"10.0.0.7", "", "[::]:41", "10.0.0.7:41"},
      {"10.0.0.7", "", "0.0.0.0:41", "10.0.0.7:41"},
      {"10.0.0.7", "", "*:41", "10.0.0.7:41"},
      {"fd00::7", "", "[::]:41", "[fd00::7]:41"},
      {"10.0.0.7", "", "10.0.0.8:41", "10.0.0.8:41"},
      {"10.0.0.7", "192.168.9.9", "[::]:41", "10.0.0.7:41"},  // what is seen to work goes before what is said
      {"127.0.0.1", "10.0.0.1", "[::]:41", "10.0.0.1:41"},    // the controller's own host is a node, too
      {"::1", "fd00::1", "[::]:41", "[fd00::1]:41"},
      {"fe80::7", "10.0.0.7", "[::]:41", "10.0.0.7:41"},
      {"127.0.0.1", "127.0.1.1", "[::]:41", "127.0.0.1:41"},
      {"127.0.0.5", "", "127.0.0.5:41", "127.0.0.5:41"},
  };
  for (const Row& row : rows) {
    StepWorld w(1);
    w.run();
    w.cut("n0");
    wire::RunState run;
    run.set_job(w.id.value);
    run.set_attempt(1);
    run.set_phase(wire::kRunStarted);
    w.connect("n0", {run}, "b1", row.from, row.own);
    const ConnId asked = w.begin('a', 1);
    w.ready("n0", 0, row.listening);
    ASSERT_EQ(w.answer(asked).step().step().nodes_size(), 1) << row.told;
    EXPECT_EQ(w.answer(asked).step().step().nodes(0).address(), row.told);
  }
}

TEST(Steps, ShareTheAllocationAndWaitForEachOther) {
  StepWorld w(1, model::JobKind::kAllocation, 4);
  w.run();
  const ConnId first = w.begin('a', 3), second = w.begin('b', 2), third = w.begin('c', 1),
               beside = w.begin('d', 4, 0, true);
  EXPECT_EQ(w.steps().size(), 2u) << "the second waits, and the third behind it; the fourth shares";
  EXPECT_EQ(w.steps()[1].request().tasks(), 4u);
  w.ready("n0", 0);
  EXPECT_EQ(w.answer(first).step().step().nodes(0).share().cores(), "0-2");
  w.step_exit("n0", 0, 0);
  EXPECT_EQ(w.steps().size(), 2u) << "until nothing of it is left";
  w.step_gone("n0", 0);
  ASSERT_EQ(w.steps().size(), 3u);
  w.ready("n0", 2);
  w.ready("n0", 3);
  EXPECT_EQ(w.answer(second).step().step().nodes(0).share().cores(), "0-1");
  EXPECT_EQ(w.answer(third).step().step().nodes(0).share().cores(), "2");
  EXPECT_TRUE(w.replies[beside].empty());
}

TEST(Steps, LaunchedTogetherWaitForOthersButNotForEachOther) {
  StepWorld w(1, model::JobKind::kAllocation, 4);
  w.run();
  w.begin('a', 2);
  w.begin('b', 1);
  const ConnId small = w.begin('c', 2, 0, false, kAlice, {0}), large = w.begin('d', 3, 0, false, kAlice, {0});
  EXPECT_TRUE(w.replies[small].empty()) << "the other step of one core will end";
  EXPECT_TRUE(w.replies[large].empty()) << "it waits its turn behind the first";
  w.step_exit("n0", 1, 0);
  w.step_gone("n0", 1);
  EXPECT_THAT(w.answer(large).error().what(), HasSubstr("is too small for all parts that are to run together"));
  EXPECT_THAT(w.answer(w.begin('e', 3, 0, false, kAlice, {0, 2, 77})).error().what(), HasSubstr("too small"));
}

// Whatever the environment of their client says: it may be another job's, or another component's.
TEST(Steps, HaveWholeCoresAndSocketsAsTheirJob) {
  StepWorld w(1);
  model::Request r = StepWorld::request_of(1, 4);
  r.whole_cores = true;
  r.tasks_per_socket = 4;
  w.id = JobId(w.ask_on(++w.last_conn, kAlice, World::submission(r)).submit().job_id());
  w.schedule();
  w.run();
  w.begin('a', 2);
  wire::ApiRequest other;
  other.mutable_create_step()->set_job_id(w.id.value);
  other.mutable_create_step()->set_client_key(key_of('b'));
  other.mutable_create_step()->mutable_step()->set_tasks(1);
  other.mutable_create_step()->mutable_step()->set_tasks_per_socket(2);
  w.ask_on(++w.last_conn, kAlice, other);
  ASSERT_EQ(w.steps().size(), 2u);
  EXPECT_TRUE(w.steps()[0].request().whole_cores());
  EXPECT_EQ(w.steps()[0].request().tasks_per_socket(), 4u);
  EXPECT_EQ(w.steps()[1].request().tasks_per_socket(), 2u) << "what it says itself";
}

TEST(Steps, AskedForAgainWithTheSameKeyAreTheSame) {
  StepWorld w(1);
  w.run();
  w.begin('a', 1);
  const ConnId again = w.begin('a', 1);
  EXPECT_EQ(w.steps().size(), 1u);
  w.ready("n0", 0);
  EXPECT_EQ(w.answer(again).step().ticket(), "full");
  EXPECT_EQ(w.answer(w.begin('a', 1)).step().ticket(), "full");
}

TEST(Steps, AskedForWhileTheJobIsAboutToStartBeginWithIt) {
  StepWorld w(2);
  ASSERT_EQ(w.state(w.id), JobState::kConfiguring);
  const ConnId first = w.begin('a', 8), second = w.begin('b', 1);
  EXPECT_TRUE(w.replies[first].empty());
  w.run();
  w.ready("n0", 0);
  w.ready("n1", 0);
  EXPECT_TRUE(w.answer(first).has_step());
  EXPECT_TRUE(w.replies[second].empty());
}

TEST(Steps, AreRefusedWithTheNumbers) {
  StepWorld w(2, model::JobKind::kAllocation, 8);
  w.run();
  const JobId running =
      std::exchange(w.id, JobId(w.ask_on(++w.last_conn, kAlice, World::submission(gang(2, 8))).submit().job_id()));
  EXPECT_THAT(w.answer(w.begin('a', 1)).error().what(), HasSubstr("is PENDING: a step needs a job that runs"));
  w.id = running;
  EXPECT_THAT(w.answer(w.begin('a', 9)).error().what(), HasSubstr("9 tasks"));
  EXPECT_THAT(w.answer(w.begin('a', 3, 3)).error().what(), HasSubstr("3 nodes asked; 2"));
  EXPECT_THAT(w.answer(w.begin('a', 1, 0, false, 1002)).error().what(), HasSubstr("access denied"));
  EXPECT_THAT(w.answer(w.begin('a', 1, 0, false, 0)).error().what(), HasSubstr("only its owner"));
  EXPECT_TRUE(w.steps().empty());
}

TEST(Steps, OthersMayOnlyWatch) {
  StepWorld w(1);
  w.run();
  w.begin('a', 1);
  EXPECT_THAT(w.ticket(kAlice, 0, false).error().what(), HasSubstr("no step 0")) << "it is not ready";
  w.ready("n0", 0);
  EXPECT_EQ(w.ticket(kAlice, 0, false).step().ticket(), "full");
  EXPECT_EQ(w.ticket(0, 0, true).step().ticket(), "watch");
  EXPECT_THAT(w.ticket(0, 0, false).error().hint(), HasSubstr("only watch"));
  EXPECT_THAT(w.ticket(1002, 0, true).error().what(), HasSubstr("access denied"));
}

TEST(Steps, ThatCannotStartOnOneNodeEndOnAll) {
  StepWorld w(2);
  w.run();
  const ConnId asked = w.begin('a', 8);
  w.ready("n0", 0);
  wire::NodeToController m;
  m.mutable_prepare_failed()->set_job(w.id.value);
  m.mutable_prepare_failed()->set_attempt(1);
  m.mutable_prepare_failed()->set_step(1);
  m.mutable_prepare_failed()->set_detail("no room for a shepherd");
  w.say("n1", m);
  EXPECT_THAT(w.answer(asked).error().what(), HasSubstr("on n1: no room for a shepherd"));
  const auto* stop = w.last("n0", wire::ControllerToNode::kStop);
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->stop().step(), 1u);
  w.step_gone("n0", 0);
  EXPECT_TRUE(w.steps().empty());
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(Steps, OutliveTheControllerAndAreFoundAgain) {
  StepWorld w(2);
  w.run();
  w.begin('a', 8);
  w.ready("n0", 0);
  w.ready("n1", 0);
  w.restart();
  ASSERT_TRUE(w.restored);
  ASSERT_EQ(w.steps().size(), 1u);
  std::vector<wire::RunState> runs{World::run(w.id, 1, wire::kRunStarted), World::run(w.id, 1, wire::kRunStarted)};
  runs[1].set_step(1);
  runs[1].set_address("10.0.0.1:99");
  runs[1].set_key(key_of('k'));
  w.connect("n0", runs);
  const auto* registered = w.last("n0", wire::ControllerToNode::kRegistered);
  ASSERT_EQ(registered->registered().wanted_size(), 2);
  EXPECT_EQ(registered->registered().wanted(1).step(), 1u);
  EXPECT_THAT(w.ticket(kAlice, 0, false).error().what(), HasSubstr("no step")) << "not all nodes are back";
  w.connect("n1", runs);
  EXPECT_EQ(w.ticket(kAlice, 0, false).step().step().nodes(0).address(), "10.0.0.1:99");
  EXPECT_EQ(w.core->jobs().at(w.id).placed()->next_step, 1u);
}

TEST(Steps, AreRebuiltFromTheStoreAsTheyWere) {
  StepWorld w(2);
  w.run();
  w.begin('a', 8);
  w.ready("n0", 0);
  w.ready("n1", 0);
  w.step_exit("n1", 0, 7);
  w.step_gone("n1", 0);
  w.begin('b', 2, 0, true);
  // Of the job itself is changed which nodes are out of touch.
  const auto steps_part = [&] {
    const std::string all = w.core->fingerprint();
    return all.substr(all.find("qos normal"));
  };
  const std::string before = steps_part();
  w.restart();
  ASSERT_TRUE(w.restored);
  EXPECT_EQ(steps_part(), before);
  EXPECT_THAT(before, HasSubstr(key_of('b')));
  ASSERT_EQ(w.steps().size(), 2u);
  EXPECT_TRUE(w.steps()[0].nodes(1).is_gone());
}

TEST(Steps, ThatRanOutOfMemoryEndTheirJobSo) {
  StepWorld w(1, model::JobKind::kStep);
  w.run();
  w.begin('a', 1);
  w.ready("n0", 0);
  wire::NodeToController m;
  m.mutable_batch_exited()->set_job(w.id.value);
  m.mutable_batch_exited()->set_attempt(1);
  m.mutable_batch_exited()->set_step(1);
  m.mutable_batch_exited()->set_exit_signo(9);
  m.mutable_batch_exited()->set_oom(true);
  w.say("n0", m);
  w.step_gone("n0", 0);
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kOutOfMemory);
  EXPECT_THAT(w.job(w.id).ended()->outcome.detail, HasSubstr("--mem"));
}

TEST(Steps, ThatANodeLostAreOverThere) {
  StepWorld w(1);
  w.run();
  w.begin('a', 1);
  w.ready("n0", 0);
  w.cut("n0");
  w.connect("n0", {World::run(w.id, 1, wire::kRunStarted)});
  EXPECT_TRUE(w.steps().empty());
  const ConnId lost = w.begin('b', 1);  // the order is lost with the link
  w.cut("n0");
  w.connect("n0", {World::run(w.id, 1, wire::kRunStarted)});
  ASSERT_NE(w.last("n0", wire::ControllerToNode::kStartStep), nullptr) << "it is said again";
  w.ready("n0", 1);
  EXPECT_EQ(w.answer(lost).step().step().step(), 1u);
}

TEST(Steps, EndWithTheirJob) {
  StepWorld w(1, model::JobKind::kAllocation, 4);
  w.run();
  w.begin('a', 3);
  const ConnId waiting = w.begin('b', 4);
  w.cancel(kAlice, w.id);
  EXPECT_THAT(w.answer(waiting).error().what(), HasSubstr("is ending"));
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCancelled);
  EXPECT_TRUE(w.steps().empty());
  EXPECT_TRUE(w.store.steps.empty());
}

TEST(Steps, AreSignalledAndEnded) {
  StepWorld w(1);
  w.run();
  w.begin('a', 1);
  w.ready("n0", 0);
  wire::ApiRequest r;
  r.mutable_signal_step()->set_job_id(w.id.value);
  r.mutable_signal_step()->set_signo(10);
  EXPECT_TRUE(w.ask(kAlice, r).has_ok());
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kSignal)->signal().step(), 1u);
  r.mutable_signal_step()->set_signo(0);
  EXPECT_THAT(w.ask(1002, r).error().what(), HasSubstr("access denied"));
  EXPECT_TRUE(w.ask(kAlice, r).has_ok());
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kStop)->stop().step(), 1u);
  EXPECT_TRUE(w.steps()[0].is_ending());
}

/// What the nodes were told since `before`, as (step + 1, signal, script alone).
std::vector<std::tuple<uint32_t, int, bool>> signals_to(StepWorld& w, const std::string& node, size_t before) {
  std::vector<std::tuple<uint32_t, int, bool>> found;
  const auto& all = w.to_node[w.links.at(node)];
  for (size_t i = before; i < all.size(); ++i)
    if (all[i].has_signal())
      found.emplace_back(all[i].signal().step(), all[i].signal().signo(), all[i].signal().batch_only());
  return found;
}

TEST(Steps, GetTheSignalsOfTheirJobAndTheScriptDoesNot) {
  StepWorld w(1, model::JobKind::kBatch);
  w.run();
  const auto signal = [&w](int signo, bool batch, bool full) {
    const size_t before = w.to_node[w.links.at("n0")].size();
    wire::ApiRequest r;
    r.mutable_cancel()->mutable_filter()->add_ids(w.id.value);
    r.mutable_cancel()->set_signo(signo);
    r.mutable_cancel()->set_batch_only(batch);
    r.mutable_cancel()->set_full(full);
    const wire::ApiReply reply = w.ask(kAlice, r);
    return std::pair(signals_to(w, "n0", before), reply.cancel().done_size());
  };
  using Told = std::vector<std::tuple<uint32_t, int, bool>>;
  EXPECT_EQ(signal(10, false, false), std::pair(Told{}, 0)) << "no step runs";
  w.begin('a', 1);
  w.begin('b', 1);
  w.ready("n0", 0);
  w.ready("n0", 1);
  EXPECT_EQ(signal(10, false, false), std::pair(Told{{1, 10, false}, {2, 10, false}}, 1));
  EXPECT_EQ(signal(12, true, false), std::pair(Told{{0, 12, true}}, 1));
  EXPECT_EQ(signal(12, false, true), std::pair(Told{{0, 12, false}}, 1));
  EXPECT_EQ(signal(9, true, false), std::pair(Told{{0, 9, true}}, 1)) << "-b -s KILL is about the script";
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_EQ(signal(9, false, false), std::pair(Told{}, 1));
  EXPECT_EQ(w.state(w.id), JobState::kCompleting) << "KILL ends the job";
  EXPECT_TRUE(w.last("n0", wire::ControllerToNode::kStop)->stop().kill_now());
}

TEST(Steps, AreWarnedOfTheTimeLimitAndTheScriptOnlyByB) {
  for (const bool script_only : {false, true}) {
    World w(1);
    w.connect_all();
    model::Request request = StepWorld::request_of(1, 1);
    wire::ApiRequest r = World::submission(request);
    r.mutable_submit()->mutable_spec()->set_time_limit_us(base::minutes(10).us);
    r.mutable_submit()->mutable_spec()->set_warn_signo(10);
    r.mutable_submit()->mutable_spec()->set_warn_seconds_before(60);
    r.mutable_submit()->mutable_spec()->set_warn_batch_only(script_only);
    const JobId id(w.ask(kAlice, r).submit().job_id());
    w.schedule();
    w.prepared("n0", id);
    w.started("n0", id);
    ASSERT_EQ(w.state(id), JobState::kRunning);
    for (int i = 0; i < 542; ++i) {  // so that the node is heard of
      w.say("n0", {});
      w.tick(base::seconds(1));
    }
    EXPECT_EQ(w.last("n0", wire::ControllerToNode::kSignal) != nullptr, script_only);
    EXPECT_TRUE(w.job(id).placed()->warned);
  }
}

TEST(Steps, OfAJobThatIsOneEndIt) {
  StepWorld w(2, model::JobKind::kStep);
  w.run();
  w.begin('a', 8);
  w.ready("n0", 0);
  w.ready("n1", 0);
  w.step_exit("n0", 0, 3);
  w.step_exit("n1", 0, 0, 9);
  w.step_gone("n0", 0);
  w.step_gone("n1", 0);
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
  const auto is_told = [&](const store::Event& line) {
    const bool is_it = line.job == w.id && line.kind == model::kStepEnded;
    return is_it && model::exit_in(line.text, w.id.text() + ".0") == model::ExitStatus{0, 9};
  };
  EXPECT_TRUE(std::any_of(w.store.events.begin(), w.store.events.end(), is_told)) << "gattach reads it";
  w.done("n0", w.id);
  w.done("n1", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kFailed);
  EXPECT_EQ(w.job(w.id).ended()->outcome.exit.text(), "0:9");
}

TEST(AllocationEnd, AJobWithoutItsClientEnds) {
  StepWorld w(1);
  w.run();
  w.core->on_client_gone(w.now, w.conn);
  w.tick(base::seconds(10));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.tick(base::seconds(10));
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
}

TEST(Steps, ALookIntoAJobThatIsAStepLeavesItAlone) {
  StepWorld w(1, model::JobKind::kStep, 4);
  w.run();
  w.begin('a', 4);
  w.ready("n0", 0);
  w.begin('b', 1, 0, true);
  w.ready("n0", 1);
  w.step_exit("n0", 1, 0);
  w.step_gone("n0", 1);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(Steps, APartThatIsLostEndsTheWholeAndIsNoSuccess) {
  StepWorld w(2, model::JobKind::kStep);
  w.run();
  w.begin('a', 8);
  w.ready("n0", 0);
  w.ready("n1", 0);
  wire::NodeToController m;
  m.mutable_batch_exited()->set_job(w.id.value);
  m.mutable_batch_exited()->set_attempt(1);
  m.mutable_batch_exited()->set_step(1);
  m.mutable_batch_exited()->set_reason(static_cast<uint32_t>(model::EndReason::kShepherdDied));
  w.say("n1", m);
  ASSERT_NE(w.last("n0", wire::ControllerToNode::kStop), nullptr);
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kStop)->stop().step(), 1u);
  w.step_gone("n1", 0);
  w.step_gone("n0", 0);
  w.done("n0", w.id);
  w.done("n1", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kFailed);
  EXPECT_EQ(w.job(w.id).ended()->outcome.exit.code, 1);
}

TEST(Steps, AClientThatLeavesMakesWay) {
  StepWorld w(1, model::JobKind::kAllocation, 4);
  w.run();
  w.begin('a', 3);
  w.ready("n0", 0);
  const ConnId head = w.begin('b', 4), next = w.begin('c', 1);
  EXPECT_EQ(w.steps().size(), 1u);
  w.core->on_client_gone(w.now, head);
  w.pump();
  ASSERT_EQ(w.steps().size(), 2u) << "the one behind it goes";
  w.core->on_client_gone(w.now, next);
  w.pump();
  EXPECT_TRUE(w.steps()[1].is_ending()) << "nobody is there to launch it";
  EXPECT_EQ(w.last("n0", wire::ControllerToNode::kStop)->stop().step(), 2u);
  EXPECT_FALSE(w.steps()[0].is_ending()) << "that one runs";
}

TEST(Steps, OneThatWaitsIsFoundAgainByItsKey) {
  StepWorld w(1, model::JobKind::kAllocation, 4);
  w.run();
  w.begin('a', 4);
  w.begin('b', 4);
  const ConnId again = w.begin('b', 4);
  w.step_exit("n0", 0, 0);
  w.step_gone("n0", 0);
  ASSERT_EQ(w.steps().size(), 1u);
  w.ready("n0", 1);
  EXPECT_EQ(w.answer(again).step().ticket(), "full");
}

TEST(Steps, GoOnAfterASuspension) {
  StepWorld w(1, model::JobKind::kAllocation, 4);
  w.run();
  w.begin('a', 4);
  w.ready("n0", 0);
  const ConnId waiting = w.begin('b', 4);
  wire::ApiRequest r;
  r.mutable_job_action()->add_ids(w.id.value);
  r.mutable_job_action()->set_action(wire::kSuspend);
  w.ask(0, r);
  wire::NodeToController m;
  m.mutable_suspended()->set_job(w.id.value);
  m.mutable_suspended()->set_attempt(1);
  m.mutable_suspended()->set_round(1);
  w.say("n0", m);
  ASSERT_EQ(w.state(w.id), JobState::kSuspended);
  w.step_exit("n0", 0, 0, 9);
  w.step_gone("n0", 0);
  EXPECT_TRUE(w.steps().empty());
  r.mutable_job_action()->set_action(wire::kResume);
  w.ask(0, r);
  w.schedule();
  ASSERT_EQ(w.state(w.id), JobState::kRunning);
  w.ready("n0", 1);
  EXPECT_EQ(w.answer(waiting).step().ticket(), "full");
}

TEST(Steps, TooManyOrTooLargeAreRefused) {
  StepWorld w(1);
  w.run();
  wire::ApiRequest r;
  r.mutable_create_step()->set_job_id(w.id.value);
  r.mutable_create_step()->set_client_key(key_of('x'));
  for (int i = 0; i < 20'000; ++i) r.mutable_create_step()->mutable_step()->add_exclude("node" + std::to_string(i));
  EXPECT_THAT(w.ask(kAlice, r).error().what(), HasSubstr("bytes"));
  r.mutable_create_step()->clear_step();
  r.mutable_create_step()->mutable_step()->set_overlap(true);
  r.mutable_create_step()->mutable_step()->set_tasks(1);
  for (int i = 0; i < 1001; ++i) {
    r.mutable_create_step()->set_client_key(std::to_string(1'000'000 + i) + std::string(25, 'k'));
    w.ask_on(w.conn, kAlice, r);
  }
  EXPECT_EQ(w.steps().size(), 1000u);
  EXPECT_THAT(w.answer(w.conn).error().what(), HasSubstr("1000 steps at once"));
}

TEST(AllocationEnd, AJobThatIsAStepAndGetsNoneEnds) {
  StepWorld w(1, model::JobKind::kStep);
  w.run();
  w.tick(base::seconds(70));
  EXPECT_EQ(w.state(w.id), JobState::kRunning) << "its client is there";
  w.core->on_client_gone(w.now, w.conn);
  w.tick(base::seconds(20));
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
}

TEST(AllocationEnd, AClientThatComesBackKeepsItsJob) {
  StepWorld w(1);
  w.run();
  w.core->on_client_gone(w.now, w.conn);
  wire::ApiRequest r;
  r.mutable_wait_job()->set_id(w.id.value);
  r.mutable_wait_job()->set_attend(true);
  w.ask(1002, r);  // a lookup by another client does not count
  w.ask(kAlice, r);
  w.tick(base::seconds(60));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.restart();
  ASSERT_TRUE(w.restored);
  w.connect("n0", {World::run(w.id, 1, wire::kRunStarted)});
  w.tick(base::seconds(100));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.tick(base::seconds(30));
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
}

TEST(AllocationEnd, OneThatWaitsIsCancelled) {
  StepWorld w(1);
  const JobId other = JobId(w.ask_on(++w.last_conn, kAlice,
                                     [] {
                                       wire::ApiRequest request = World::submission(gang(1, 8));
                                       request.mutable_submit()->mutable_spec()->set_kind(1);
                                       request.mutable_submit()->mutable_spec()->set_attended(true);
                                       return request;
                                     }())
                                .submit()
                                .job_id());
  ASSERT_EQ(w.state(other), JobState::kPending);
  w.core->on_client_gone(w.now, w.last_conn);
  w.tick(base::seconds(20));
  EXPECT_EQ(w.state(other), JobState::kCancelled);
}

TEST(AllocationEnd, TheClientSaysHowItEnds) {
  StepWorld w(1);
  wire::ApiRequest wait;
  wait.mutable_wait_job()->set_id(w.id.value);
  wait.mutable_wait_job()->set_until_started(true);
  const ConnId waiting = ++w.last_conn;
  w.ask_on(waiting, kAlice, wait);
  EXPECT_TRUE(w.replies[waiting].empty());
  w.run();
  EXPECT_EQ(w.answer(waiting).wait_job().job().id(), w.id.value);
  EXPECT_EQ(w.answer(waiting).wait_job().cluster(), "test");
  wire::ApiRequest r;
  r.mutable_end_allocation()->set_job_id(w.id.value);
  r.mutable_end_allocation()->set_exit_code(4);
  EXPECT_THAT(w.ask(1002, r).error().what(), HasSubstr("access denied"));
  EXPECT_TRUE(w.ask(kAlice, r).has_ok());
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kFailed);
  EXPECT_EQ(w.job(w.id).ended()->outcome.exit.text(), "4:0");
}

}  // namespace
}  // namespace gw::ctld::testing
