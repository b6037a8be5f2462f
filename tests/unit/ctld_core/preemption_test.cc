// Preempted jobs: what their nodes are told, what becomes of them, what is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using model::OnPreempt;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::gang;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::World;
using ToNodeKind = wire::ControllerToNode;

constexpr base::Duration kGrace = base::seconds(40);

Settings with_shared_gpus() {
  Settings s;
  model::Partition& p = s.partitions.emplace_back();
  p.name = "main";
  p.is_default = p.unlimited = p.allow_shared_gpus = true;
  return s;
}

/// One node of eight GPUs. A job runs on it for 100 seconds, then it is preempted for another one.
struct Victim : World {
  JobId id, other;

  explicit Victim(OnPreempt what, model::Request request = gang(1), bool requeue = true)
      : World(1, with_shared_gpus()) {
    connect_all();
    id = enter(what, request, requeue);
    schedule();
    started("n0", id);
    other = submit(1000, gang(1));
    now = now + base::seconds(100);
  }
  JobId enter(OnPreempt what, const model::Request& request, bool requeue, int signo = SIGUSR1) {
    wire::ApiRequest r = submission(request);
    wire::JobSpec& spec = *r.mutable_submit()->mutable_spec();
    spec.set_on_preempt(static_cast<uint32_t>(what));
    spec.set_requeue(requeue);
    spec.set_preempt_signo(signo);
    const wire::ApiReply reply = ask(1000, r);
    last_error = reply.error().what();
    warnings = {reply.submit().warnings().begin(), reply.submit().warnings().end()};
    return JobId(reply.submit().job_id());
  }
  void take_off() {
    sched::Plan plan;
    plan.groups.push_back({{sched::Preempt{id, other, kGrace, 5}}});
    plan.epoch = view.epoch();
    core->on_plan(now, plan);
    pump();
  }
  void pass(int64_t seconds) { now = now + base::seconds(seconds); }
  void leave(int code) {
    exited("n0", id, code);
    done("n0", id);
  }
  std::string checkpointed() {
    wire::ApiRequest r;
    r.mutable_checkpointed()->set_job_id(id.value);
    return ask(1000, r).error().what();
  }
  /// Its counts, where they do not depend on whether it waits or has ended: preemptions, GPU-seconds lost.
  std::pair<uint32_t, double> counts() const {
    return {job(id).preemptions, static_cast<double>(job(id).lost_gpu_ms) / 1e3};
  }
  std::vector<std::string> warnings;
};

using Counts = std::pair<uint32_t, double>;

TEST(Preemption, TheNodeIsToldWhyAndUntilWhenAndTheJobWaitsAgain) {
  Victim w(OnPreempt::kRequeue);
  w.take_off();
  ASSERT_EQ(w.state(w.id), JobState::kCompleting);
  const wire::Stop& stop = w.last("n0", ToNodeKind::kStop)->stop();
  EXPECT_EQ(stop.signo(), SIGUSR1);
  EXPECT_EQ(stop.preempted_for(), w.other.value);
  EXPECT_EQ(stop.preempt_rule(), 5U);
  EXPECT_EQ(stop.grace_us(), kGrace.us);
  EXPECT_EQ(stop.until_us(), (w.now + kGrace).us);
  w.pass(10);
  w.leave(0);
  EXPECT_EQ(w.state(w.id), JobState::kPending);  // also where it ended its work just then
  EXPECT_EQ(w.counts(), Counts(1, 880));         // eight GPUs for 110 seconds
  EXPECT_EQ(w.job(w.id).restarts, 1U);
}

std::vector<std::string> texts_of(const World& w, JobId id, const std::string& kind) {
  std::vector<std::string> out;
  for (const store::Event& e : w.store.events)
    if (e.job == id && e.kind == kind) out.push_back(e.text);
  return out;
}

TEST(Preemption, TheHistoryOfTheOtherSaysWhomItDisplacesAndByWhichRule) {
  Victim w(OnPreempt::kRequeue);
  w.take_off();
  const std::string line = "job " + std::to_string(w.id.value) + " (rule 5 of the quotas)";
  EXPECT_THAT(texts_of(w, w.other, "preempts"), ElementsAre(line));
  w.take_off();
  EXPECT_THAT(texts_of(w, w.other, "preempts"), ElementsAre(line)) << "it leaves already";
}

TEST(Preemption, BothHistoriesKeepTheFiguresThatDecidedIt) {
  Victim w(OnPreempt::kRequeue);
  sched::Preempt taken{w.id, w.other, kGrace, 5};
  taken.ground =
      sched::Ground{8'000, {"QOS a", 0, 8'000, 8'000}, {"QOS b", 16'000, 8'000, 8'000}, model::Reclaim::kGuaranteed};
  sched::Plan plan;
  plan.groups.push_back({{taken}});
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  const std::string figures = words(*taken.ground, 5);
  const auto job = [](JobId id) { return "job " + std::to_string(id.value); };
  EXPECT_THAT(texts_of(w, w.id, "by quotas"), ElementsAre("preempted for " + job(w.other) + ": " + figures));
  EXPECT_THAT(texts_of(w, w.other, "by quotas"), ElementsAre("in place of " + job(w.id) + ": " + figures));
}

TEST(Preemption, WhatAStartBorrowsIsInItsHistory) {
  World w(1);
  w.connect_all();
  const JobId id = w.submit(1000, gang(1));
  sched::Plan plan = sched::plan(w.view, w.now, {});
  std::get<sched::Start>(plan.groups.at(0).decisions.at(0)).borrows = sched::Borrowing{"QOS a", 3'000};
  w.core->on_plan(w.now, plan);
  w.pump();
  const auto told = texts_of(w, id, "placed");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told.front(), HasSubstr("; it borrows 3 gpu beyond the guarantee of QOS a"));
}

TEST(Preemption, OfManyWhoAreDisplacedAFewAreNamed) {
  World w(4);
  w.connect_all();
  std::vector<JobId> victims;
  for (int i = 0; i < 30; ++i) victims.push_back(w.submit(1000, gang(1, 1)));
  w.schedule();
  const JobId other = w.submit(1000, gang(4));
  sched::Plan plan;
  plan.groups.emplace_back();
  for (const JobId id : victims) plan.groups.back().decisions.emplace_back(sched::Preempt{id, other, kGrace, 0});
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  const auto told = texts_of(w, other, "preempts");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told.front(), AllOf(HasSubstr("job 1, job 2"), HasSubstr("and 10 more"), Not(HasSubstr("rule"))));
}

TEST(Preemption, WhatItHasHadStaysWithTheJobUntilItsNextRun) {
  Victim w(OnPreempt::kRequeue);
  const Time begun = w.job(w.id).placed()->placed;
  w.take_off();
  w.leave(0);
  ASSERT_EQ(w.state(w.id), JobState::kPending);
  const base::Duration had = w.job(w.id).service.done;
  EXPECT_EQ(had.us, int64_t{8} * (w.now - begun).us) << "of all eight GPUs, until it had left them";
  EXPECT_EQ(w.view.queue().find(w.id)->attained, had);
  w.pass(1000);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.view.queue().find(w.id)->attained, had) << "nothing is added while it waits";
}

TEST(Preemption, WhatItCostsAQosIsKeptOverARestart) {
  Victim w(OnPreempt::kRequeue);
  w.take_off();
  w.leave(0);
  const PreemptionFigures before = w.core->metrics(w.now).preemptions.at("normal");
  EXPECT_EQ(before.count, 1U);
  EXPECT_EQ(before.lost_gpu_ms, 800'000U);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  const PreemptionFigures after = w.core->metrics(w.now).preemptions.at("normal");
  EXPECT_EQ(after.count, before.count);
  EXPECT_EQ(after.lost_gpu_ms, before.lost_gpu_ms);
}

TEST(Preemption, OtherEndsSayNothingOfIt) {
  Victim w(OnPreempt::kRequeue);
  w.cancel(1000, w.id);
  const wire::Stop& stop = w.last("n0", ToNodeKind::kStop)->stop();
  EXPECT_EQ(stop.signo(), 0);
  EXPECT_EQ(stop.preempted_for(), 0U);
  EXPECT_EQ(stop.until_us(), 0);
  w.leave(0);
  EXPECT_EQ(w.counts(), Counts(0, 0));
}

TEST(Preemption, WhatWasSaidHoldsOverARestartOfTheController) {
  Victim w(OnPreempt::kCheckpoint);
  w.take_off();
  const int64_t until = (w.now + kGrace).us;
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  w.pass(5);
  w.connect("n0", {World::run(w.id, 1, wire::kRunStarted)});
  const wire::Stop& again = w.last("n0", ToNodeKind::kStop)->stop();
  EXPECT_EQ(again.signo(), SIGUSR1);
  EXPECT_EQ(again.preempted_for(), w.other.value);
  EXPECT_EQ(again.until_us(), until);
  w.exited("n0", w.id, 0);
  w.restart();  // what it saved is known after that, too
  w.connect("n0", {World::run(w.id, 1, wire::kRunEnding)});
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  EXPECT_EQ(w.counts(), Counts(1, 0));
}

TEST(Preemption, TheNextRunIsToldHowManyThereWere) {
  Victim w(OnPreempt::kRequeue);
  EXPECT_EQ(w.last("n0", ToNodeKind::kPrepare)->prepare().environment(), "GANGWAY_PREEMPTIONS=0");
  w.take_off();
  w.leave(1);
  w.cancel(1000, w.other);
  w.schedule();
  ASSERT_EQ(w.job(w.id).attempt, 2U);
  EXPECT_EQ(w.last("n0", ToNodeKind::kPrepare)->prepare().environment(), "GANGWAY_PREEMPTIONS=1");
  EXPECT_EQ(w.last("n0", ToNodeKind::kPrepare)->prepare().restarts(), 1U);
}

TEST(Preemption, TheSchedulerKnowsWhoSavesItsWork) {
  EXPECT_TRUE(Victim(OnPreempt::kCheckpoint).view.running().begin()->second->saves_work);
  EXPECT_FALSE(Victim(OnPreempt::kRequeue).view.running().begin()->second->saves_work);
}

TEST(Preemption, OneThatWouldRatherEndEnds) {
  for (const bool requeue : {true, false}) {
    Victim w(OnPreempt::kCancel, gang(1), requeue);
    EXPECT_TRUE(w.view.running().at(w.id)->preemptible);
    EXPECT_FALSE(w.view.running().at(w.id)->saves_work);
    w.take_off();
    w.leave(3);
    ASSERT_EQ(w.state(w.id), JobState::kPreempted);
    EXPECT_EQ(w.job(w.id).ended()->outcome.exit.code, 3);
    EXPECT_EQ(w.counts(), Counts(1, 800));
    EXPECT_EQ(w.store.ended.size(), 1U);
  }
  EXPECT_FALSE(Victim(OnPreempt::kRequeue, gang(1), false).view.running().begin()->second->preemptible);
}

TEST(Preemption, WhatWasSavedIsNotLost) {
  struct Row {
    const char* what;
    OnPreempt on_preempt;
    int saves_after;  ///< `gangway checkpointed`, seconds after the start; 0: never.
    int code;
    double lost;
  };
  const std::vector<Row> table = {
      {"saved nothing", OnPreempt::kCheckpoint, 0, 1, 880},
      {"ended with code 0, as was asked", OnPreempt::kCheckpoint, 0, 0, 0},
      {"code 0 says nothing where it was not asked", OnPreempt::kRequeue, 0, 0, 880},
      {"saved long ago", OnPreempt::kRequeue, 60, 1, 8 * 50},
      {"saved when it was told to go", OnPreempt::kRequeue, 105, 1, 8 * 5},
      {"saved, and more at its end", OnPreempt::kCheckpoint, 60, 0, 0},
      {"saved as the last thing", OnPreempt::kCheckpoint, 110, 1, 0},
  };
  for (const Row& row : table) {
    Victim w(row.on_preempt);
    w.pass(-100);
    int at = 0;
    for (const int next : {60, 100, 105, 110}) {
      w.pass(next - at);
      at = next;
      if (at == 100) w.take_off();
      if (at == row.saves_after) {
        EXPECT_EQ(w.checkpointed(), "") << row.what;
      }
    }
    w.leave(row.code);
    EXPECT_EQ(w.state(w.id), JobState::kPending) << row.what;
    EXPECT_EQ(w.counts(), Counts(1, row.lost)) << row.what;
  }
}

TEST(Preemption, ASignalIsNoExitCodeZero) {
  Victim w(OnPreempt::kCheckpoint);
  w.take_off();
  wire::NodeToController m;
  m.mutable_batch_exited()->set_job(w.id.value);
  m.mutable_batch_exited()->set_attempt(1);
  m.mutable_batch_exited()->set_exit_signo(SIGKILL);
  w.say("n0", m);
  w.done("n0", w.id);
  EXPECT_EQ(w.counts(), Counts(1, 800));
}

TEST(Preemption, NothingIsSavedAfterTheGrace) {
  Victim w(OnPreempt::kCheckpoint);
  w.take_off();
  w.pass(41);
  EXPECT_THAT(w.checkpointed(), HasSubstr("not running"));
  w.leave(1);
  EXPECT_THAT(w.checkpointed(), HasSubstr("not running"));  // it waits
  EXPECT_EQ(w.counts(), Counts(1, 8 * 141));
}

TEST(Preemption, PartsOfGpusCountAsParts) {
  model::Request shared = gang(1, 1);
  shared.gpu_milli = 250;
  Victim w(OnPreempt::kRequeue, shared);
  w.take_off();
  w.leave(1);
  EXPECT_EQ(w.counts(), Counts(1, 25));
  Victim without(OnPreempt::kRequeue, gang(1, 0));
  without.take_off();
  without.leave(1);
  EXPECT_EQ(without.counts(), Counts(1, 0));
}

TEST(Preemption, IsNoFailureToLaunch) {
  Victim w(OnPreempt::kRequeue);
  w.cancel(1000, w.other);
  w.cancel(1000, w.id);
  w.leave(0);
  w.id = w.enter(OnPreempt::kRequeue, gang(1), true);
  w.schedule();
  wire::NodeToController failed;
  failed.mutable_prepare_failed()->set_job(w.id.value);
  failed.mutable_prepare_failed()->set_attempt(1);
  failed.mutable_prepare_failed()->set_node_fault(true);
  w.say("n0", failed);
  ASSERT_EQ(w.job(w.id).launch_failures, 1U);
  w.tick(base::seconds(6));
  ASSERT_EQ(w.state(w.id), JobState::kConfiguring);
  w.other = w.submit(1000, gang(1));
  w.take_off();  // before it has begun
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  EXPECT_EQ(w.job(w.id).waiting()->reason, model::WaitReason::kNone);
  EXPECT_EQ(w.job(w.id).launch_failures, 1U);
  EXPECT_EQ(w.counts(), Counts(1, 0));
}

TEST(Preemption, WhoIsCancelledInItsGraceDoesNotComeBack) {
  Victim w(OnPreempt::kRequeue);
  w.take_off();
  w.cancel(1000, w.id);
  w.leave(1);
  EXPECT_EQ(w.state(w.id), JobState::kPreempted);
  EXPECT_EQ(w.counts(), Counts(1, 800));
}

TEST(Preemption, ANodeThatDiesMeanwhileTakesAllThatWasNotSaved) {
  Victim w(OnPreempt::kCheckpoint);
  w.take_off();
  w.pass(5);
  w.cut("n0");
  w.connect("n0", {}, "b2");
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  EXPECT_EQ(w.counts(), Counts(1, 800));
}

TEST(Preemption, ANodeThatDoesNotComeBackIsWaitedForOnce) {
  World w(2);
  w.connect("n0");
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  w.started("n0", id);
  sched::Plan plan;
  plan.groups.push_back({{sched::Preempt{id, w.submit(1000, gang(1)), kGrace, 5}}});
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  ASSERT_EQ(w.state(id), JobState::kRunning);
  const uint64_t epoch = w.view.epoch();
  w.now = w.now + w.settings.node_timeout;
  w.core->on_tick(w.now);
  w.pump();
  EXPECT_GT(w.view.epoch(), epoch);  // nothing else would make the scheduler decide once more
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  EXPECT_EQ(w.state(id), JobState::kCompleting);
}

Settings with_consolidation() {
  Settings s = with_shared_gpus();
  s.partitions.front().consolidate = model::Consolidate::kOn;
  return s;
}

/// Two nodes with a job of three GPUs on each, and one that asks for a whole node: one of the two is to move.
struct Move : World {
  JobId mover, stayer, big;

  Move() : World(2, with_consolidation()) {
    connect_all();
    const JobId first = begin(gang(1, 3)), filler = begin(gang(1, 5)), second = begin(gang(1, 3));
    cancel(1000, filler);
    done(where(filler), filler);
    big = submit(1000, gang(1, 8));
    schedule();
    const bool is_first = state(first) == JobState::kCompleting;
    mover = is_first ? first : second;
    stayer = is_first ? second : first;
  }
  JobId begin(const model::Request& request) {
    const JobId id = submit(1000, request);
    schedule();
    started(where(id), id);
    return id;
  }
  std::string where(JobId id) const { return job(id).placed()->allocation.node_names().front(); }
};

TEST(Preemption, ThePlaceOfOneThatMovesIsKeptOverARestart) {
  Move w;
  ASSERT_EQ(w.state(w.mover), JobState::kCompleting);
  ASSERT_EQ(w.state(w.stayer), JobState::kRunning);
  const std::string from = w.where(w.mover), to = w.where(w.stayer);
  const auto by_job = [&w] {
    std::map<JobId, sched::Nomination> out;
    for (const auto& [made, nomination] : w.view.nominations()) out[nomination.job] = nomination;
    return out;
  };
  const auto nominations = by_job();
  ASSERT_TRUE(nominations.contains(w.mover) && nominations.contains(w.big));
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(by_job(), nominations);
  w.connect(from, {World::run(w.mover, 1, wire::kRunStarted)});
  w.connect(to, {World::run(w.stayer, 1, wire::kRunStarted)});
  const JobId other = w.submit(1000, gang(1, 5));  // it would fit beside the one that stays
  w.schedule();
  EXPECT_EQ(w.state(other), JobState::kPending);
  w.exited(from, w.mover, 1);
  w.done(from, w.mover);
  EXPECT_EQ(w.job(w.mover).waiting()->nomination->allocation, nominations.at(w.mover).allocation);
  EXPECT_EQ(w.job(w.mover).last_failure, "moved to make room for job " + w.big.text());
  w.schedule();
  EXPECT_EQ(w.where(w.mover), to);
  EXPECT_EQ(w.where(w.big), from);
  EXPECT_EQ(w.state(other), JobState::kPending);
  EXPECT_EQ(w.job(w.mover).preemptions, 1U);
}

TEST(Preemption, OneThatIsCancelledWhileItMovesLeavesItsPlace) {
  Move w;
  const std::string from = w.where(w.mover), to = w.where(w.stayer);
  w.cancel(1000, w.mover);
  w.exited(from, w.mover, 1);
  w.done(from, w.mover);
  EXPECT_EQ(w.state(w.mover), JobState::kPreempted);
  const JobId other = w.submit(1000, gang(1, 5));
  w.schedule();
  EXPECT_EQ(w.where(other), to);
}

TEST(Preemption, FiguresAreByQos) {
  Victim w(OnPreempt::kRequeue);
  w.take_off();
  w.leave(1);
  const std::string text = metrics_text(w.core->metrics(w.now));
  EXPECT_THAT(text, HasSubstr("gangway_preemptions_total{qos=\"normal\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("gangway_qos_lost_gpu_seconds_total{qos=\"normal\"} 800\n"));
}

TEST(Preemption, WhatCannotBeIsRefusedAtSubmission) {
  Victim w(OnPreempt::kRequeue);
  for (const int signo : {-1, 65}) {
    EXPECT_FALSE(w.enter(OnPreempt::kRequeue, gang(1), true, signo)) << signo;
    EXPECT_THAT(w.last_error, HasSubstr("--preempt-signal"));
  }
  EXPECT_TRUE(w.enter(OnPreempt::kCheckpoint, gang(1), false));
  EXPECT_THAT(w.warnings, ::testing::ElementsAre(HasSubstr("never preempted")));
}

TEST(Preemption, ComponentsGoTogetherAndSaveTogether) {
  World w(3);
  w.connect_all();
  wire::ApiRequest request = World::submission(gang(1));
  request.mutable_submit()->mutable_spec()->set_on_preempt(static_cast<uint32_t>(OnPreempt::kCheckpoint));
  request.mutable_submit()->mutable_spec()->set_requeue(true);
  *request.mutable_submit()->add_components() = request.submit().spec();
  const JobId first(w.ask(1000, request).submit().job_id()), second(first.value + 1);
  w.schedule();
  for (const JobId id : {first, second}) w.prepared(w.job(id).placed()->allocation.node_names().front(), id);
  const JobId other = w.submit(1000, gang(3));
  w.now = w.now + base::seconds(100);
  sched::Plan plan;
  plan.groups.push_back({{sched::Preempt{first, other, kGrace, 5}}});
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  ASSERT_EQ(w.state(second), JobState::kCompleting);
  wire::ApiRequest saved;
  saved.mutable_checkpointed()->set_job_id(first.value);
  EXPECT_EQ(w.ask(1000, saved).error().what(), "");
  for (const JobId id : {second, first}) w.done(w.job(id).placed()->allocation.node_names().front(), id);
  for (const JobId id : {first, second}) {
    EXPECT_EQ(w.state(id), JobState::kPending);
    EXPECT_EQ(w.job(id).preemptions, 1U);
    EXPECT_EQ(w.job(id).lost_gpu_ms, 0U);
  }
}

TEST(Preemption, ThePlacesOfAllComponentsAreKeptOverARestart) {
  World w(2);
  w.connect_all();
  const JobId victim = w.submit(1000, gang(2, 8));
  w.schedule();
  for (const char* node : {"n0", "n1"}) w.prepared(node, victim);
  wire::ApiRequest request = World::submission(gang(1, 8));
  *request.mutable_submit()->add_components() = request.submit().spec();
  const JobId first(w.ask(1000, request).submit().job_id()), second(first.value + 1);
  const std::vector<model::NodeShare>& shares = w.job(victim).placed()->allocation.shares;
  model::NodeShare own = shares[0], other = shares[1];
  own.tasks = other.tasks = 1;
  const sched::Nomination kept{first, "main", {{own}}, w.now + kGrace, {{"main", {{other}}}}};
  sched::Plan plan;
  plan.groups.push_back({{sched::Preempt{victim, first, kGrace, 5}, kept}});
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  ASSERT_EQ(w.view.nominations().size(), 1U);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  ASSERT_EQ(w.view.nominations().size(), 1U);
  EXPECT_EQ(w.view.nominations().begin()->second, kept);
  for (const char* node : {"n0", "n1"}) w.connect(node, {World::run(victim, 1, wire::kRunStarted)});
  for (const char* node : {"n0", "n1"}) w.done(node, victim);
  w.schedule();
  EXPECT_EQ(w.job(first).placed()->allocation.node_names(), std::vector<std::string>{"n0"});
  EXPECT_EQ(w.job(second).placed()->allocation.node_names(), std::vector<std::string>{"n1"});
  EXPECT_EQ(w.state(victim), JobState::kPending);
}

}  // namespace
}  // namespace gw::ctld
