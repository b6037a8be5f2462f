// Jobs that are suspended: what their nodes are told, what is free meanwhile, and how they resume, over failures and
// restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "sched/queue/orders.h"
#include "sched/view/standings.h"
#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using ::testing::HasSubstr;
using testing::World;
using ToNodeKind = wire::ControllerToNode;

constexpr base::Duration kLongGrace = base::seconds(100);  // longer than a node has to answer

Settings preempting(bool shares_gpus) {
  Settings s;
  model::Partition& p = s.partitions.emplace_back();
  p.name = "main";
  p.is_default = p.unlimited = true;
  p.share_suspended_gpus = shares_gpus;
  s.policy.preempts = true;
  s.policy.grace = kLongGrace;
  s.allow_root_jobs = true;
  s.node_timeout = base::hours(100);  // nobody sends beats
  return s;
}

/// A gang on all nodes that would rather be suspended than end; it has run for 100 of its 1,000 seconds.
struct Still : World {
  uint32_t nodes;
  JobId id;

  explicit Still(uint32_t count = 1, bool shares_gpus = true, int signo = 0, bool is_exclusive = false)
      : World(count, preempting(shares_gpus)), nodes(count) {
    connect_all();
    wire::ApiRequest r = request(count, 1000);
    r.mutable_submit()->mutable_spec()->set_on_preempt(static_cast<uint32_t>(model::OnPreempt::kSuspend));
    r.mutable_submit()->mutable_spec()->set_preempt_signo(signo);
    r.mutable_submit()->mutable_spec()->mutable_request()->set_exclusive(is_exclusive);
    r.mutable_submit()->mutable_spec()->set_time_limit_us(base::seconds(1000).us);
    id = JobId(ask(1000, r).submit().job_id());
    run(id);
    now = now + base::seconds(100);
  }
  static wire::ApiRequest request(uint32_t count, uint64_t mem_mb, uint32_t gpus = 8) {
    model::Request r = gang(count, gpus);
    r.mem_per_node_mb = mem_mb;
    return submission(r);
  }
  static std::string name(uint32_t i) { return "n" + std::to_string(i); }
  void run(JobId job_id) {
    schedule();
    if (nodes == 1) return started("n0", job_id);
    for (uint32_t i = 0; i < nodes; ++i) prepared(name(i), job_id);
  }
  /// Of higher priority; asks for whole nodes but for memory.
  JobId urgent(uint32_t count, uint64_t mem_mb = 1000, int64_t priority = 10) {
    wire::ApiRequest r = request(count, mem_mb);
    r.mutable_submit()->mutable_spec()->set_priority(priority);
    const JobId out(ask(0, r).submit().job_id());
    schedule();
    return out;
  }
  void froze(uint32_t node, const std::string& problem = "", uint32_t round = 1) {
    wire::NodeToController m;
    m.mutable_suspended()->set_job(id.value);
    m.mutable_suspended()->set_attempt(job(id).attempt);
    m.mutable_suspended()->set_round(round);
    m.mutable_suspended()->set_problem(problem);
    say(name(node), m);
    schedule();
  }
  JobId make_way() {
    const JobId other = urgent(nodes);
    for (uint32_t i = 0; i < nodes; ++i) froze(i);
    begin(other);
    return other;
  }
  void begin(JobId other) {
    for (uint32_t i = 0; i < nodes; ++i)
      if (nodes == 1)
        started(name(i), other);
      else
        prepared(name(i), other);
  }
  void finish(JobId other) {
    exited("n0", other, 0);
    for (uint32_t i = 0; i < nodes; ++i) done(name(i), other);
    schedule();
  }
  std::string act(wire::JobAction action, uint32_t uid = 0) {
    wire::ApiRequest r;
    r.mutable_job_action()->add_ids(id.value);
    r.mutable_job_action()->set_action(action);
    const wire::ApiReply reply = ask(uid, r);
    schedule();
    return reply.jobs().faults_size() > 0 ? reply.jobs().faults(0).error().what() : reply.error().what();
  }
  void expect_audit() { EXPECT_TRUE(view.capacity().audit()); }
};

/// GPU-seconds that it has had, as it is told to orders.
double attained_s(const World& w, JobId id) {
  const sched::PendingJob* waits = w.view.queue().find(id);
  const auto runs = w.view.running().find(id);
  const sched::PendingJob& job = waits != nullptr ? *waits : *runs->second;
  if (waits != nullptr) return static_cast<double>(sched::waiting_facts(job, w.now).attained.us) / 1e6;
  const Time since = w.view.capacity().holdings().at(id).started;
  return static_cast<double>(
             sched::running_facts(job, since, sched::held_with_parts(w.view, id).gpus(), w.now).attained.us) /
         1e6;
}

TEST(Suspend, WhatItHasHadIsCountedWhileItHoldsItsGpusAndKeptOverARestart) {
  Still w(1);
  EXPECT_DOUBLE_EQ(attained_s(w, w.id), 800) << "eight GPUs for 100 seconds";
  const JobId other = w.make_way();
  w.now = w.now + base::seconds(500);
  EXPECT_DOUBLE_EQ(attained_s(w, w.id), 800) << "another has them";
  w.finish(other);
  ASSERT_EQ(w.state(w.id), JobState::kRunning);
  w.now = w.now + base::seconds(10);
  EXPECT_DOUBLE_EQ(attained_s(w, w.id), 880);
  w.now = w.now + base::seconds(100);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_DOUBLE_EQ(attained_s(w, w.id), 1680) << "it ran on while nobody counted";
}

TEST(Suspend, NothingIsAttainedInSuspensionThoughItKeepsItsGpus) {
  Still w(1, /*shares_gpus=*/false);
  w.act(wire::kSuspend);
  w.froze(0);
  ASSERT_EQ(w.state(w.id), JobState::kSuspended);
  w.now = w.now + base::seconds(50);
  EXPECT_EQ(w.job(w.id).service, (model::Service{base::seconds(800), 0, {}}));
}

TEST(Suspend, ItMakesWayAndGoesOnWhereItWas) {
  Still w(2);
  const model::Allocation place = w.job(w.id).placed()->allocation;
  const JobId other = w.urgent(2);
  ASSERT_NE(w.last("n0", ToNodeKind::kSuspend), nullptr);
  const wire::Suspend told = w.last("n0", ToNodeKind::kSuspend)->suspend();
  EXPECT_EQ(told.preempted_for(), other.value);
  EXPECT_EQ(told.preempt_rule(), 7U);
  EXPECT_EQ(told.grace_us(), 0) << "who is not told needs no time";
  EXPECT_EQ(w.last("n0", ToNodeKind::kStop), nullptr);
  w.froze(0);
  EXPECT_EQ(w.state(w.id), JobState::kRunning) << "not all of it is suspended";
  EXPECT_EQ(w.state(other), JobState::kPending);
  w.froze(1);
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
  EXPECT_EQ(w.state(other), JobState::kConfiguring);
  EXPECT_EQ(w.job(w.id).preemptions, 1U);
  EXPECT_EQ(w.job(w.id).lost_gpu_ms, 0U);
  w.begin(other);
  w.now = w.now + base::seconds(500);
  w.finish(other);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  // To the scheduler it is a job that has run for 100 seconds, not one that has just begun.
  EXPECT_EQ(w.view.capacity().holdings().at(w.id).started, w.now - base::seconds(100));
  EXPECT_EQ(w.job(w.id).attempt, 1U);
  EXPECT_EQ(w.job(w.id).placed()->allocation, place);
  EXPECT_EQ(w.last("n1", ToNodeKind::kResume)->resume().round(), 1U);
  w.expect_audit();
}

TEST(Suspend, ItsTimeLimitDoesNotCountMeanwhile) {
  Still w;
  const JobId other = w.make_way();
  w.tick(base::seconds(5000));
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
  w.finish(other);
  w.tick(base::seconds(899));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.tick(base::seconds(2));
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
  EXPECT_EQ(w.job(w.id).placed()->outcome->end, JobState::kTimeout);
}

TEST(Suspend, OneThatWantsToBeToldHasItsGrace) {
  Still w(1, true, SIGUSR2);
  w.urgent(1);
  const wire::Suspend& told = w.last("n0", ToNodeKind::kSuspend)->suspend();
  EXPECT_EQ(told.signo(), SIGUSR2);
  EXPECT_EQ(told.grace_us(), kLongGrace.us);
}

TEST(Suspend, WhereItsGpusAreNotSharedItIsEnded) {
  Still w(1, false);
  w.urgent(1);
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend), nullptr);
  ASSERT_NE(w.last("n0", ToNodeKind::kStop), nullptr);
  EXPECT_TRUE(w.job(w.id).placed()->outcome->requeue);
}

TEST(Suspend, WhereItsMemoryIsNeededItIsEnded) {
  Still w;
  w.urgent(1, 64'000);
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend), nullptr);
  EXPECT_NE(w.last("n0", ToNodeKind::kStop), nullptr);
}

TEST(Suspend, WhatItKeepsIsTakenFromItInTheEnd) {
  Still w;
  const JobId other = w.make_way();
  w.finish(other);
  w.froze(0);
  const JobId big = w.urgent(1, 64'000, 20);
  ASSERT_NE(w.last("n0", ToNodeKind::kStop), nullptr);
  w.done("n0", w.id);
  w.schedule();
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  EXPECT_EQ(w.state(big), JobState::kConfiguring);
  w.expect_audit();
}

TEST(Suspend, ASuspendedOneIsEndedForItsMemory) {
  Still w;
  w.make_way();
  const JobId big = w.urgent(1, 64'000, 20);
  const wire::Stop& stop = w.last("n0", ToNodeKind::kStop)->stop();
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
  EXPECT_GT(stop.preempted_for(), 0U);
  w.done("n0", w.id);
  w.schedule();
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  EXPECT_EQ(w.job(w.id).lost_gpu_ms, 800'000U) << "eight GPUs for the 100 seconds that it ran";
  EXPECT_NE(big.value, 0U);
  w.expect_audit();
}

TEST(Suspend, AllIsKeptOverRestarts) {
  Still w;
  const auto again = [&w](std::vector<wire::RunState> runs) {
    w.restart();
    ASSERT_TRUE(w.restored) << w.restored.error().text();
    w.connect("n0", runs);
    w.schedule();
  };
  const auto runs = [](JobId id) { return World::run(id, 1, wire::kRunStarted); };
  const JobId other = w.urgent(1);
  again({runs(w.id)});
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend)->suspend().round(), 1U) << "told again";
  w.froze(0);
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
  EXPECT_EQ(w.state(other), JobState::kConfiguring);
  again({runs(w.id), runs(other)});
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
  w.froze(0);
  EXPECT_EQ(w.state(other), JobState::kRunning);
  w.expect_audit();
  w.finish(other);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  again({runs(w.id)});
  EXPECT_EQ(w.last("n0", ToNodeKind::kResume)->resume().round(), 1U) << "it may not have heard";
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend), nullptr);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.expect_audit();
}

TEST(Suspend, ANodeThatCannotFreezeEndsTheJob) {
  Still w;
  w.urgent(1);
  w.froze(0, "freeze: no such controller");
  ASSERT_EQ(w.state(w.id), JobState::kCompleting);
  EXPECT_TRUE(w.job(w.id).placed()->outcome->requeue);
  EXPECT_THAT(w.job(w.id).placed()->outcome->detail, HasSubstr("cannot be suspended: n0: freeze"));
}

TEST(Suspend, ASilentNodeEndsTheJob) {
  Still w(2);
  w.urgent(2);
  w.froze(0);
  w.tick(w.settings.start_timeout + base::seconds(1));
  ASSERT_EQ(w.state(w.id), JobState::kCompleting);
  EXPECT_THAT(w.job(w.id).placed()->outcome->detail, HasSubstr("no word from n1"));
}

TEST(Suspend, ASuspendedJobCanBeCancelled) {
  Still w;
  const JobId other = w.make_way();
  w.cancel(1000, w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kCancelled);
  EXPECT_EQ(w.job(w.id).ended()->stood_still.us, 0);
  w.finish(other);
  EXPECT_EQ(w.last("n0", ToNodeKind::kResume), nullptr);
  EXPECT_EQ(w.view.capacity().node(NodeId(1))->free.mem_mb, w.view.capacity().node(NodeId(1))->facts.mem_mb);
  w.expect_audit();
}

TEST(Suspend, ANodeThatRebootsTakesItAlong) {
  Still w(2);
  w.make_way();
  w.cut("n1");
  w.connect("n1", {}, "b2");
  w.done("n0", w.id);
  w.schedule();
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  w.expect_audit();
}

TEST(Suspend, LateWordsChangeNothing) {
  Still w;
  const JobId other = w.make_way();
  w.froze(0);
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
  w.finish(other);
  w.froze(0);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.urgent(1);
  w.froze(0, "", 1);
  EXPECT_EQ(w.state(w.id), JobState::kRunning) << "of the round before";
  w.froze(0, "", 2);
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
}

TEST(Suspend, ByHandUntilItIsResumed) {
  Still w(1, true, SIGUSR1);
  EXPECT_THAT(w.act(wire::kSuspend, 1000), HasSubstr("only administrators"));
  EXPECT_THAT(w.act(wire::kResume), HasSubstr("is not suspended"));
  EXPECT_EQ(w.act(wire::kSuspend), "");
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend)->suspend().signo(), 0) << "nobody takes its place: it need not save";
  w.froze(0);
  w.tick(base::seconds(100));
  EXPECT_EQ(w.state(w.id), JobState::kSuspended) << "although its place is free";
  EXPECT_EQ(w.job(w.id).preemptions, 0U);
  EXPECT_THAT(w.act(wire::kSuspend), HasSubstr("suspended already"));
  EXPECT_EQ(w.act(wire::kResume), "");
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_NE(w.last("n0", ToNodeKind::kResume), nullptr);
  w.expect_audit();
}

TEST(Suspend, ByHandItMayBeTakenBackOnTheWay) {
  Still w;
  EXPECT_EQ(w.act(wire::kSuspend), "");
  EXPECT_EQ(w.act(wire::kResume), "");
  EXPECT_NE(w.last("n0", ToNodeKind::kResume), nullptr);
  w.froze(0);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  EXPECT_EQ(w.act(wire::kSuspend), "");
  w.froze(0, "", 2);
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
}

TEST(Suspend, ANominationOfItIsForGoingOnAndForNothingElse) {
  Still w;
  const JobId other = w.make_way();
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(w.id.value);
  sched::Plan plan;
  const auto rest = w.view.queue().find(w.id)->request.exactly;
  plan.groups.push_back({{sched::Nomination{w.id, "main", {rest}, w.now + base::minutes(5)}}});
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  ASSERT_TRUE(w.job(w.id).placed()->moves_to);
  EXPECT_EQ(w.act(wire::kRequeue), "");
  w.done("n0", w.id);
  w.finish(other);
  ASSERT_EQ(w.state(w.id), JobState::kConfiguring);
  EXPECT_EQ(w.job(w.id).placed()->allocation.shares[0].mem_mb, 1000U);
}

TEST(Suspend, WhatItKeepsCanBeTakenWhateverItsOwnerSaysLater) {
  Still w;
  w.make_way();
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(w.id.value);
  r.mutable_update_job()->set_requeue(false);
  EXPECT_EQ(w.ask(1000, r).error().what(), "");
  for (const auto& [id, running] : w.view.running()) EXPECT_TRUE(running->preemptible) << id.value;
  w.urgent(1, 64'000, 20);
  EXPECT_EQ(w.state(w.id), JobState::kCompleting);
}

TEST(Suspend, ADeadlineThatPassesDoesNotKeepItForEver) {
  Still w;
  const JobId other = w.make_way();
  wire::ApiRequest r;
  r.mutable_update_job()->add_ids(w.id.value);
  r.mutable_update_job()->set_deadline_us((w.now + base::seconds(950)).us);
  w.ask(1000, r);
  w.now = w.now + base::seconds(900);
  w.finish(other);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(Suspend, APlanMadeBeforeItStoodStillTakesNothing) {
  Still w(1, true, SIGUSR1);
  EXPECT_EQ(w.act(wire::kSuspend), "");
  sched::Plan plan;
  plan.groups.push_back({{sched::Preempt{w.id, JobId(99), kLongGrace, 7, false, true}}});
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.froze(0);
  ASSERT_EQ(w.state(w.id), JobState::kSuspended);
  const JobId other = w.urgent(1);
  plan.groups = {{{sched::Preempt{w.id, other, kLongGrace, 7, false, true}}}};
  plan.epoch = w.view.epoch();
  w.core->on_plan(w.now, plan);
  w.pump();
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
}

TEST(Suspend, ANodeThatHasNothingOfItHasNothingToSay) {
  Still w(2);
  const JobId other = w.urgent(2);
  w.froze(0);
  w.froze(0, "a lie: it has said that it is frozen");
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.froze(1);
  EXPECT_EQ(w.state(w.id), JobState::kSuspended);
  EXPECT_EQ(w.state(other), JobState::kConfiguring);
}

TEST(Suspend, AfterALongGraceTheWatchdogStillWatches) {
  Still w(1, true, SIGUSR1);
  w.urgent(1);
  w.restart();
  ASSERT_TRUE(w.restored);
  w.tick(w.settings.start_timeout + base::seconds(1));
  ASSERT_EQ(w.state(w.id), JobState::kRunning) << "it has its grace";
  w.tick(kLongGrace);
  EXPECT_EQ(w.state(w.id), JobState::kCompleting) << "nobody heard of it";
}

TEST(Suspend, ARestartWhileItEndsKeepsThatItLeaves) {
  Still w;
  w.make_way();
  w.urgent(1, 64'000, 20);
  ASSERT_EQ(w.state(w.id), JobState::kCompleting);
  w.restart();
  ASSERT_TRUE(w.restored);
  bool is_leaving = false;
  for (const auto& [id, holder] : w.view.quota().holders())
    is_leaving |= id.value >= sched::kFirstHoldingId && holder.is_leaving;
  EXPECT_TRUE(is_leaving);
}

TEST(Suspend, ItTakesItsPlaceBackByTheRules) {
  for (const bool is_exclusive : {false, true}) {
    Still w(1, true, 0, is_exclusive);
    EXPECT_EQ(w.act(wire::kSuspend), "");
    w.froze(0);
    const JobId urgent_job = w.urgent(1, 1000, -5);
    ASSERT_EQ(w.state(urgent_job), JobState::kConfiguring) << is_exclusive;
    w.begin(urgent_job);
    EXPECT_EQ(w.act(wire::kResume), "");
    ASSERT_EQ(w.state(urgent_job), JobState::kCompleting) << "of lower priority";
    EXPECT_TRUE(w.job(w.id).placed()->moves_to) << "what is being freed is kept for it";
    w.restart();
    ASSERT_TRUE(w.restored);
    w.connect("n0", {World::run(w.id, 1, wire::kRunStarted), World::run(urgent_job, 1, wire::kRunStarted)});
    w.schedule();
    ASSERT_EQ(w.view.nominations().size(), 1U) << is_exclusive;
    wire::ApiRequest tiny = Still::request(1, 100, 0);
    tiny.mutable_submit()->mutable_spec()->set_time_limit_us(base::seconds(5).us);
    const JobId other(w.ask(1000, tiny).submit().job_id());
    w.schedule();
    EXPECT_EQ(w.state(other) == JobState::kPending, is_exclusive) << "not even for the time until then";
    if (!is_exclusive) w.cancel(1000, other);
    w.done("n0", urgent_job);
    w.schedule();
    EXPECT_EQ(w.state(w.id), JobState::kRunning) << is_exclusive;
    EXPECT_FALSE(w.job(w.id).placed()->moves_to);
    EXPECT_EQ(w.state(urgent_job), JobState::kPending);
    w.expect_audit();
  }
}

TEST(Suspend, WhoCannotStandStillIsTold) {
  Still w(2);
  model::Request elastic = gang(1);
  elastic.max_nodes = 2;
  elastic.elastic = true;
  wire::ApiRequest r = World::submission(elastic);
  r.mutable_submit()->mutable_spec()->set_on_preempt(static_cast<uint32_t>(model::OnPreempt::kSuspend));
  const wire::ApiReply reply = w.ask(1000, r);
  ASSERT_EQ(reply.submit().warnings_size(), 1) << reply.error().what();
  EXPECT_THAT(reply.submit().warnings(0), HasSubstr("is requeued instead"));
}

TEST(Suspend, AShorterLimitOfItsPartitionDoesNotKeepItForEver) {
  Still w;
  const JobId other = w.make_way();
  wire::ApiRequest r;
  r.mutable_update_partition()->set_name("main");
  r.mutable_update_partition()->set_max_time_us(base::seconds(60).us);
  EXPECT_EQ(w.ask(0, r).error().what(), "");
  w.finish(other);
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

TEST(Suspend, OneThatMakesWayGoesOnByItself) {
  Still w;
  const JobId other = w.make_way();
  EXPECT_THAT(w.act(wire::kResume), HasSubstr("is preempted for job"));
  EXPECT_EQ(w.act(wire::kSuspend), "");
  w.finish(other);
  EXPECT_EQ(w.state(w.id), JobState::kSuspended) << "held by now";
  EXPECT_EQ(w.act(wire::kResume), "");
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
}

Settings taking_turns() {
  Settings s = preempting(true);
  s.policy.preempts = false;
  s.policy.order = *sched::make_order("time_slice");
  s.policy.quantum = base::minutes(1);
  return s;
}

/// Gangs of all GPUs of one node, which are requeued if they are preempted, take turns of a minute.
struct Turns : World {
  Turns() : World(1, taking_turns()) {
    connect_all();
    now = Time{base::minutes(1'000'000).us};
  }
  JobId submit() {
    now = now + base::seconds(1);
    const JobId id(ask(1000, Still::request(1, 1000)).submit().job_id());
    schedule();
    return id;
  }
  /// At the end of the minute.
  void next_turn() {
    const int64_t minute = base::minutes(1).us;
    now = Time{(now.us / minute + 1) * minute};
    schedule();
  }
  void froze(JobId id, uint32_t round, const std::string& problem = "") {
    wire::NodeToController m;
    m.mutable_suspended()->set_job(id.value);
    m.mutable_suspended()->set_attempt(job(id).attempt);
    m.mutable_suspended()->set_round(round);
    m.mutable_suspended()->set_problem(problem);
    now = now + base::milliseconds(100);
    say("n0", m);
    schedule();
  }
};

/// Of one to four tasks with a GPU each: such a job cannot be suspended.
wire::ApiRequest elastic_submission() {
  model::Request r = gang(1, 2);
  r.nodes_given = false;
  r.tasks = 4;
  r.tasks_given = true;
  r.gpu_counting = model::GpuCounting::kPerTask;
  r.gpus = 1;
  r.elastic = true;
  r.min_tasks = 1;
  return World::submission(r);
}

TEST(TakesTurns, WhoWaitsLongestIsNextAndNobodyIsPreempted) {
  Turns w;
  const JobId first = w.submit();
  w.started("n0", first);
  const JobId second = w.submit(), third = w.submit();
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend), nullptr) << "the turn is not over";
  w.next_turn();
  ASSERT_NE(w.last("n0", ToNodeKind::kSuspend), nullptr);
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend)->suspend().preempted_for(), second.value);
  w.froze(first, 1);
  w.started("n0", second);
  w.next_turn();
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend)->suspend().preempted_for(), third.value) << "the first has had a turn";
  w.froze(second, 1);
  w.started("n0", third);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  w.connect("n0", {World::run(first, 1, wire::kRunStarted), World::run(second, 1, wire::kRunStarted),
                   World::run(third, 1, wire::kRunStarted)});
  w.next_turn();
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend)->suspend().preempted_for(), first.value) << "also after a restart";
  w.froze(third, 1);
  EXPECT_EQ(w.state(first), JobState::kRunning);
  for (const JobId id : {first, second, third}) {
    EXPECT_EQ(w.job(id).preemptions, 0U);
    EXPECT_EQ(w.job(id).attempt, 1U);
    EXPECT_EQ(w.job(id).lost_gpu_ms, 0U);
  }
  EXPECT_TRUE(w.view.capacity().audit());
}

TEST(TakesTurns, WhoseProcessesCannotBeFrozenKeepsItsPlace) {
  Turns w;
  const JobId first = w.submit();
  w.started("n0", first);
  w.submit();
  w.next_turn();
  w.froze(first, 1, "freeze: no such controller");
  EXPECT_EQ(w.state(first), JobState::kRunning);
  EXPECT_EQ(w.last("n0", ToNodeKind::kStop), nullptr) << "nobody loses work by a turn";
  EXPECT_TRUE(w.view.capacity().audit());
  w.next_turn();
  EXPECT_EQ(w.last("n0", ToNodeKind::kSuspend)->suspend().round(), 1U) << "others would stop for nothing each time";
  EXPECT_EQ(w.state(first), JobState::kRunning);
}

TEST(TakesTurns, WhatATurnIsIsNotDecidedAnewByAnotherOrder) {
  Turns w;
  const JobId first = w.submit();
  w.started("n0", first);
  w.submit();
  w.next_turn();
  Settings s = w.settings;
  s.policy.order = *sched::make_order("fifo");
  w.core->on_reconfigured(w.now, std::move(s), {}, {}, {});
  w.froze(first, 1, "freeze: no such controller");
  EXPECT_EQ(w.state(first), JobState::kRunning) << "it was to be suspended for a turn, which costs nothing";
}

TEST(TakesTurns, OneThatCouldNeverYieldIsNotLetIn) {
  Turns w;
  wire::ApiRequest request = elastic_submission();
  EXPECT_THAT(w.ask(1000, request).error().what(), HasSubstr("jobs of partition main take turns"));
  request.mutable_submit()->mutable_spec()->set_on_preempt(static_cast<uint32_t>(model::OnPreempt::kCheckpoint));
  EXPECT_GT(w.ask(1000, request).submit().job_id(), 0U);
}

TEST(TakesTurns, OneThatWasThereBeforeCanStillBeChanged) {
  Turns w;
  const Settings turns = w.settings;
  Settings s = turns;
  s.policy.order = *sched::make_order("fifo");
  w.core->on_reconfigured(w.now, s, {}, {}, {});
  w.submit();
  const JobId id(w.ask(1000, elastic_submission()).submit().job_id());
  ASSERT_NE(id.value, 0U);
  w.core->on_reconfigured(w.now, turns, {}, {}, {});
  wire::ApiRequest change;
  change.mutable_update_job()->add_ids(id.value);
  change.mutable_update_job()->set_partition("main");
  change.mutable_update_job()->set_priority(-3);
  const wire::ApiReply reply = w.ask(1000, change);
  ASSERT_EQ(reply.jobs().faults_size(), 0) << reply.jobs().faults(0).error().what();
  EXPECT_EQ(w.job(id).spec.priority, -3);
}

TEST(TakesTurns, ASuspendedOneThatIsPreemptedAfterAllCountsOnce) {
  Turns w;
  const JobId first = w.submit();
  w.started("n0", first);
  const JobId second = w.submit();
  w.next_turn();
  w.froze(first, 1);
  w.started("n0", second);
  Settings s = w.settings;
  s.policy.preempts = true;
  w.core->on_reconfigured(w.now, std::move(s), {}, {}, {});
  wire::ApiRequest r = Still::request(1, 64'000);
  r.mutable_submit()->mutable_spec()->set_priority(10);
  w.ask(0, r);
  w.schedule();
  EXPECT_EQ(w.state(first), JobState::kCompleting);
  w.done("n0", first);
  EXPECT_EQ(w.job(first).preemptions, 1U);
}

}  // namespace
}  // namespace gw::ctld
