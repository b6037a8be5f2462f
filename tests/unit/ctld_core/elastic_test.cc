// Elastic gangs: nodes join and leave a job that runs, and its script is told; over restarts, lost nodes and late
// words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using ::testing::ElementsAre;
using testing::gang;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;
using ToNodeKind = wire::ControllerToNode;

constexpr base::Duration kLeavingGrace = base::seconds(40);

model::Request elastic(uint32_t least, uint32_t most) {
  model::Request r = gang(least);
  r.max_nodes = most;
  r.elastic = true;
  return r;
}

Settings with_short_start() {
  Settings s;
  s.start_timeout = base::seconds(2);  // before a node that says nothing counts as gone
  return s;
}

/// Three nodes of eight GPUs, and a gang of one to three that runs on the first.
struct Gang : World {
  JobId id;

  Gang() : World(3, with_short_start()) {
    connect_all();
    id = submit(1000, elastic(1, 3));
    EXPECT_EQ(last_error, "");
    for (int i = 0; i < 2; ++i) plan_once();
    prepared("n0", id);
  }
  void plan_once() {
    core->on_plan(now, sched::plan(view, now, {}));
    pump();
  }
  /// Without a plan.
  void pass(base::Duration time) {
    now = now + time;
    core->on_tick(now);
    pump();
  }
  /// It has its three nodes.
  void grow() {
    schedule();
    prepared("n1", id);
    prepared("n2", id);
  }
  /// Another needs the node, which has to be one that the gang does not need.
  void take(const std::string& node, base::Duration grace = kLeavingGrace) {
    sched::Plan plan;
    const JobId other = submit(1000, gang(1));
    for (const auto& [at, extension] : job(id).placed()->extensions)
      if (share(at) == node) plan.groups.push_back({{sched::Preempt{extension.id, other, grace, 5}}});
    ASSERT_FALSE(plan.groups.empty());
    plan.epoch = view.epoch();
    core->on_plan(now, plan);
    pump();
  }
  std::string share(base::NodeId node) const {
    for (const model::NodeShare& s : job(id).placed()->allocation.shares)
      if (s.node == node) return s.name;
    return "";
  }
  std::vector<std::string> nodes() const { return job(id).placed()->allocation.node_names(); }
  /// What the script's node was told last.
  std::vector<std::string> told() {
    const wire::ControllerToNode* m = last("n0", ToNodeKind::kResize);
    if (m == nullptr) return {};
    return {m->resize().nodes().begin(), m->resize().nodes().end()};
  }
  bool is_stopped(const std::string& node) { return last(node, ToNodeKind::kStop) != nullptr; }
};

TEST(Elastic, StartsSmallAndIsToldOfEachNodeOnceItIsReady) {
  Gang w;
  ASSERT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_THAT(w.nodes(), ElementsAre("n0"));
  w.schedule();
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1", "n2"));
  ASSERT_NE(w.last("n1", ToNodeKind::kPrepare), nullptr);
  EXPECT_FALSE(w.last("n1", ToNodeKind::kPrepare)->prepare().go());
  EXPECT_THAT(w.told(), ElementsAre("n0"));
  w.prepared("n2", w.id);
  EXPECT_THAT(w.told(), ElementsAre("n0", "n2"));
  ASSERT_NE(w.last("n2", ToNodeKind::kGo), nullptr);
  w.prepared("n1", w.id);
  EXPECT_THAT(w.told(), ElementsAre("n0", "n1", "n2"));
}

TEST(Elastic, HowItScalesFollowsFromWhatItTellsAtTheSizesThatItKnowsOf) {
  Gang w;
  const auto tell = [&w](uint64_t rate_milli) {
    wire::ApiRequest r;
    r.mutable_progress()->set_job_id(w.id.value);
    r.mutable_progress()->set_rate_milli(rate_milli);
    r.mutable_progress()->set_of(1'000);
    w.pass(base::seconds(1));
    EXPECT_EQ(w.ask(1000, r).error().what(), "");
  };
  const auto known = [&w] { return w.view.running().at(w.id)->scaling; };
  tell(1'000);
  w.schedule();
  ASSERT_THAT(w.nodes(), ElementsAre("n0", "n1", "n2"));
  tell(1'000);
  EXPECT_EQ(w.job(w.id).progress.tasks, 1U) << "the others are not ready, so it has not been told of them";
  EXPECT_EQ(known(), 100U);
  w.prepared("n1", w.id);
  w.prepared("n2", w.id);
  tell(1'733);
  EXPECT_EQ(w.job(w.id).progress.tasks, 3U);
  EXPECT_EQ(known(), 50U) << "three times the nodes, by the root of three faster";
  EXPECT_FALSE(w.job(w.id).progress.promised) << "how long it takes depends on what it is given";
  EXPECT_EQ(w.view.running().at(w.id)->remaining, base::kUnlimited);
  w.take("n2");
  tell(1'415);
  EXPECT_EQ(w.job(w.id).progress.tasks, 2U) << "one is about to leave, which it was told";
  EXPECT_EQ(known(), 50U);
}

TEST(Elastic, ANodeThatLeavesHasItsGraceAndTheGangGoesOn) {
  Gang w;
  w.grow();
  w.take("n2");
  EXPECT_THAT(w.told(), ElementsAre("n0", "n1"));
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1", "n2"));
  EXPECT_FALSE(w.is_stopped("n2"));
  w.pass(kLeavingGrace);
  EXPECT_TRUE(w.is_stopped("n2"));
  EXPECT_FALSE(w.is_stopped("n0"));
  w.done("n2", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1"));
  EXPECT_EQ(w.job(w.id).preemptions, 0U);
  EXPECT_EQ(w.view.capacity().node("n2")->free.gpus.size(), 8U);
}

TEST(Elastic, AChangedTimeLimitLeavesTheEndOfANodeThatLeavesAlone) {
  Gang w;
  w.grow();
  w.take("n2");
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(w.id.value);
  r.mutable_update_job()->set_time_limit_us(base::hours(3).us);
  const wire::ApiReply reply = w.ask(0, r);
  ASSERT_EQ(reply.jobs().faults_size(), 0) << reply.error().what();
  size_t leaving = 0;
  for (const auto& [node, extension] : w.job(w.id).placed()->extensions) {
    const Time in_ledger = w.core->ledger().holdings().at(extension.id).expected_end;
    EXPECT_EQ(w.view.capacity().holdings().at(extension.id).expected_end, in_ledger);
    leaving += static_cast<bool>(extension.until);
    EXPECT_EQ(in_ledger == w.now + kLeavingGrace, static_cast<bool>(extension.until));
  }
  EXPECT_EQ(leaving, 1U);
}

TEST(Elastic, ANodeMayLeaveAndJoinAgain) {
  Gang w;
  w.grow();
  w.take("n2", {});
  const uint32_t before = w.last("n2", ToNodeKind::kStop)->stop().generation();
  w.done("n2", w.id, 0, before);
  for (const auto& [id, job] : w.core->jobs())
    if (job.state == JobState::kPending) w.cancel(0, id);
  w.schedule();
  const uint32_t again = w.last("n2", ToNodeKind::kPrepare)->prepare().generation();
  EXPECT_GT(again, before);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1", "n2"));
  w.prepared("n2", w.id);
  w.done("n2", w.id, 0, before);  // said again of its first stay
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1", "n2"));
  EXPECT_THAT(w.told(), ElementsAre("n0", "n1", "n2"));
}

TEST(Elastic, NoStayHasTheNumberOfAnEarlierOneEvenAfterARestart) {
  Gang w;
  w.grow();
  w.take("n2", {});
  const uint32_t before = w.last("n2", ToNodeKind::kStop)->stop().generation();
  w.done("n2", w.id);
  for (const auto& [id, job] : w.core->jobs())
    if (job.state == JobState::kPending) w.cancel(0, id);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  for (const char* node : {"n0", "n1"}) w.connect(node, {World::run(w.id, 1, wire::kRunStarted)});
  w.connect("n2");
  w.schedule();
  ASSERT_NE(w.last("n2", ToNodeKind::kPrepare), nullptr);
  EXPECT_GT(w.last("n2", ToNodeKind::kPrepare)->prepare().generation(), before);
}

TEST(Elastic, ANodeThatIsReadyTooLateIsCleared) {
  Gang w;
  w.grow();
  w.take("n2", {});
  w.done("n2", w.id);
  w.prepared("n2", w.id);
  EXPECT_EQ(w.last("n2", ToNodeKind::kStop)->stop().generation(), 0U);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1"));
  w.done("n2", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(Elastic, WithoutGraceTheNodeIsClearedAtOnce) {
  Gang w;
  w.grow();
  w.take("n1", {});
  EXPECT_TRUE(w.is_stopped("n1"));
  w.done("n1", w.id);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n2"));
}

TEST(Elastic, ItEndsOnAllNodesThatItHas) {
  Gang w;
  w.grow();
  w.exited("n0", w.id, 0);
  for (const char* node : {"n0", "n1", "n2"}) {
    EXPECT_TRUE(w.is_stopped(node)) << node;
    w.done(node, w.id);
  }
  EXPECT_EQ(w.state(w.id), JobState::kCompleted);
  for (const char* node : {"n0", "n1", "n2"}) EXPECT_TRUE(w.view.capacity().node(node)->is_idle()) << node;
  EXPECT_THAT(w.view.gangs(), IsEmpty());
}

TEST(Elastic, ALostNodeAboveTheSmallestSizeEndsNothing) {
  Gang w;
  w.grow();
  w.cut("n1");
  w.connect("n1", {}, "another boot");
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n2"));
  EXPECT_THAT(w.told(), ElementsAre("n0", "n2"));
  w.cut("n0");  // the script's own
  w.connect("n0", {}, "another boot");
  EXPECT_NE(w.state(w.id), JobState::kRunning);
}

/// Asks for a step that has all of n1.
ConnId step_on_n1(Gang& w, char key) {
  wire::ApiRequest r;
  r.set_id(7);
  r.mutable_create_step()->set_job_id(w.id.value);
  r.mutable_create_step()->set_client_key(std::string(32, key));
  r.mutable_create_step()->mutable_step()->add_nodelist("n1");
  r.mutable_create_step()->mutable_step()->set_whole(true);
  const ConnId conn = 900 + static_cast<ConnId>(key);
  w.core->on_request(w.now, conn, World::user(1000), r);
  w.pump();
  return conn;
}

TEST(Elastic, AWaitingStepNeverBeginsOnTheNodeThatWasJustLost) {
  Gang w;
  w.grow();
  step_on_n1(w, 'a');
  ASSERT_NE(w.last("n1", ToNodeKind::kStartStep), nullptr);
  const ConnId waiting = step_on_n1(w, 'b');
  ASSERT_TRUE(w.replies[waiting].empty()) << "the first has all of the node";
  w.cut("n1");
  w.connect("n1", {}, "another boot");
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n2"));
  EXPECT_EQ(w.last("n1", ToNodeKind::kStartStep), nullptr);
  ASSERT_FALSE(w.replies[waiting].empty());
  EXPECT_THAT(w.replies[waiting].back().error().what(), HasSubstr("n1 is not in the job's allocation"));
}

TEST(Elastic, AStepEndsWithTheNodeThatTheGangHasLost) {
  Gang w;
  w.grow();
  step_on_n1(w, 'a');
  const wire::ControllerToNode* start = w.last("n1", ToNodeKind::kStartStep);
  ASSERT_NE(start, nullptr);
  const uint32_t generation = start->start_step().job().generation();
  const ConnId waiting = step_on_n1(w, 'b');
  w.done("n1", w.id, 0, generation);  // it says that nothing of the job is left, and has not been away
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n2"));
  ASSERT_FALSE(w.replies[waiting].empty()) << "the step before it is over";
  EXPECT_THAT(w.replies[waiting].back().error().what(), HasSubstr("n1 is not in the job's allocation"));
}

TEST(Elastic, ANodeThatCannotPrepareIsLeftOut) {
  Gang w;
  w.plan_once();
  wire::NodeToController m;
  m.mutable_prepare_failed()->set_job(w.id.value);
  m.mutable_prepare_failed()->set_attempt(w.job(w.id).attempt);
  m.mutable_prepare_failed()->set_node_fault(true);
  w.say("n1", m);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n2"));
}

TEST(Elastic, ANodeThatIsNeverReadyIsClearedAfterAWhile) {
  Gang w;
  w.plan_once();
  w.prepared("n1", w.id);
  w.pass(w.settings.start_timeout);
  EXPECT_TRUE(w.is_stopped("n2"));
  EXPECT_FALSE(w.is_stopped("n1"));
  w.done("n2", w.id);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1"));
}

TEST(Elastic, HoldsOverARestartOfTheController) {
  Gang w;
  w.grow();
  w.take("n2");
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1", "n2"));
  ASSERT_EQ(w.view.extensions_of(w.id).size(), 2U);
  EXPECT_EQ(w.view.present_tasks(w.id), 2U);
  for (const char* node : {"n0", "n1", "n2"}) w.connect(node, {World::run(w.id, 1, wire::kRunStarted)});
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_THAT(w.told(), ElementsAre("n0", "n1"));
  EXPECT_FALSE(w.is_stopped("n2"));
  w.pass(kLeavingGrace);
  EXPECT_TRUE(w.is_stopped("n2"));
  w.done("n2", w.id);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1"));
}

TEST(Elastic, ANodeThatIsBackAfterTheGraceIsClearedThen) {
  Gang w;
  w.grow();
  w.take("n2");
  w.cut("n2");
  w.pass(kLeavingGrace);
  w.connect("n2", {World::run(w.id, 1, wire::kRunStarted)});
  EXPECT_TRUE(w.is_stopped("n2"));
  w.done("n2", w.id);
  EXPECT_THAT(w.nodes(), ElementsAre("n0", "n1"));
}

TEST(Elastic, OthersAreTakenSoThatItGrows) {
  Gang w;
  const JobId victim = w.submit(1000, gang(1)), plain = w.submit(1000, gang(1));
  w.schedule();
  w.prepared("n1", victim);
  w.prepared("n2", plain);
  ASSERT_EQ(w.state(plain), JobState::kRunning);
  const auto take_for = [&](JobId beneficiary) {
    sched::Plan plan;
    plan.groups.push_back({{sched::Preempt{victim, beneficiary, kLeavingGrace, 5}}});
    plan.epoch = w.view.epoch();
    w.core->on_plan(w.now, plan);
    w.pump();
    return w.state(victim);
  };
  EXPECT_EQ(take_for(plain), JobState::kRunning) << "it runs, and wants nothing more";
  EXPECT_EQ(take_for(w.id), JobState::kCompleting);
}

TEST(Elastic, NonsenseIsRefused) {
  World w(3);
  w.connect_all();
  const auto refused = [&w](const model::Request& r) {
    w.submit(1000, r);
    return w.last_error;
  };
  EXPECT_THAT(refused(elastic(2, 2)), HasSubstr("one size only"));
  model::Request r = elastic(1, 3);
  r.gpu_counting = model::GpuCounting::kPerJob;
  EXPECT_THAT(refused(r), HasSubstr("no fixed number"));
  r = elastic(1, 3);
  r.max_switches = 1;
  EXPECT_THAT(refused(r), HasSubstr("--switches"));
  r = elastic(1, 3);
  r.min_tasks = 2;
  EXPECT_THAT(refused(r), HasSubstr("--min-tasks needs"));
  wire::ApiRequest het = World::submission(elastic(1, 2));
  *het.mutable_submit()->add_components() = World::submission(gang(1)).submit().spec();
  EXPECT_THAT(w.ask(1000, het).error().what(), HasSubstr("several components"));
  EXPECT_THAT(refused(elastic(4, 8)), HasSubstr("4 nodes"));  // more than there are, at its smallest
}

}  // namespace
}  // namespace gw::ctld
