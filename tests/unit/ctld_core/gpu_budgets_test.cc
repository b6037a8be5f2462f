// Budgets of GPU-hours: counted while GPUs are held, over restarts and periods; what is refused, kept back and lent
// once one is spent, and who may set one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/calendar.h"
#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using model::WaitReason;
using ::testing::ElementsAre;
using testing::gang;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

constexpr uint32_t kAnn = 1000, kBob = 1001;
constexpr uint64_t kHour = 3600;

/// Two nodes of eight GPUs; QOS `dept` with `ml` and `bio` below it.
struct Budgets : World {
  Budgets() : World(2) {
    connect_all();
    change_qos(wire::QuotaChange::kAdd, "dept", [](wire::QosPatch&) {});
    for (const char* name : {"ml", "bio"})
      change_qos(wire::QuotaChange::kAdd, name, [](wire::QosPatch& p) { p.set_parent("dept"); });
  }
  template <typename Fn>
  std::string change_qos(wire::QuotaChange::What what, const std::string& name, const Fn& fn, uint32_t uid = 0) {
    wire::ApiRequest request;
    wire::QuotaChange& change = *request.mutable_change_quotas()->add_changes();
    change.set_what(what);
    change.set_name(name);
    fn(*change.mutable_qos());
    return ask(uid, request).error().what();
  }
  static wire::GpuBudget budget(uint64_t gpu_seconds, base::Period period = base::Period::kNone, bool borrows = false) {
    wire::GpuBudget out;
    out.set_gpu_seconds(gpu_seconds);
    out.set_period(static_cast<wire::Period>(period));
    out.set_borrows(borrows);
    return out;
  }
  void give(const std::string& qos, const wire::GpuBudget& b) {
    ASSERT_EQ(change_qos(wire::QuotaChange::kModify, qos, [&b](wire::QosPatch& p) { *p.mutable_budget() = b; }), "");
  }
  std::string give_user(const std::string& user, const wire::GpuBudget& b, uint32_t by = 0) {
    wire::ApiRequest request;
    wire::QuotaChange& change = *request.mutable_change_quotas()->add_changes();
    change.set_what(wire::QuotaChange::kModify);
    change.set_is_user(true);
    change.set_name(user);
    *change.mutable_budget() = b;
    return ask(by, request).error().what();
  }
  wire::ApiReply try_submit(const std::string& qos, uint32_t gpus, uint32_t uid = kAnn) {
    wire::ApiRequest r = submission(gpus == 0 ? model::Request{} : gang(1, gpus));
    r.mutable_submit()->mutable_spec()->set_qos(qos);
    return ask(uid, r);
  }
  JobId enter(const std::string& qos, uint32_t gpus, uint32_t uid = kAnn) {
    return JobId(try_submit(qos, gpus, uid).submit().job_id());
  }
  JobId begin(const std::string& qos, uint32_t gpus, uint32_t uid = kAnn) {
    const JobId id = enter(qos, gpus, uid);
    schedule();
    started(job(id).placed()->allocation.shares.front().name, id);
    return id;
  }
  void finish(JobId id) {
    const std::string node = job(id).placed()->allocation.shares.front().name;
    exited(node, id, 0);
    done(node, id);
  }
  /// GPU-seconds; -1: no such budget.
  double used(const std::string& name) {
    wire::ApiRequest r;
    r.mutable_list_quotas();
    const wire::ApiReply reply = ask(kAnn, r);
    for (const wire::BudgetUse& use : reply.list_quotas().budgets())
      if (use.name() == name) return static_cast<double>(use.used_us()) / 1e6;
    return -1;
  }
  wire::Waiting waiting(JobId id) {
    wire::ApiRequest r;
    r.mutable_list_jobs()->mutable_filter()->add_ids(id.value);
    return ask(kAnn, r).list_jobs().jobs(0).status().waiting();
  }
  WaitReason reason(JobId id) { return static_cast<WaitReason>(waiting(id).reason()); }
  /// GPUs that the scheduler was told are guaranteed to a QOS.
  int64_t guaranteed(const std::string& name) const {
    const sched::QuotaTree& tree = view.quota().tree();
    for (uint32_t i = 1; i < tree.nodes().size(); ++i) {
      if (tree.qos(i).name != name || tree.qos(i).is_own) continue;
      for (size_t r = 0; r < tree.width(); ++r)
        if (tree.resources()[r] == "gpu") return static_cast<int64_t>(tree.qos(i).guaranteed[r]) / model::kWholeGpu;
    }
    return -1;
  }
  std::vector<std::string> told() const {
    std::vector<std::string> out;
    for (const store::Event& e : store.events)
      if (e.kind.starts_with("budget")) out.push_back(e.kind + ": " + e.text);
    return out;
  }
};

TEST(GpuBudgets, CountWhatJobsHoldAtAQosAndBelowIt) {
  Budgets w;
  w.give("dept", Budgets::budget(100 * kHour));
  w.give("ml", Budgets::budget(50 * kHour));
  const JobId a = w.begin("ml", 4), b = w.begin("bio", 2);
  w.tick_with_beats(base::minutes(10));
  EXPECT_EQ(w.used("ml"), 4 * 600);
  EXPECT_EQ(w.used("dept"), 6 * 600);
  w.finish(a);
  w.tick_with_beats(base::minutes(5));
  EXPECT_EQ(w.used("ml"), 4 * 600) << "it has given its GPUs back";
  EXPECT_EQ(w.used("dept"), 6 * 600 + 2 * 300);
  w.finish(b);
}

TEST(GpuBudgets, JobsWithoutGpusCostNothing) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour));
  w.begin("ml", 0);
  w.tick_with_beats(base::minutes(10));
  EXPECT_EQ(w.used("ml"), 0);
}

TEST(GpuBudgets, CountFromWhenTheyAreSetAlsoWhatRunsAlready) {
  Budgets w;
  w.begin("ml", 4);
  w.tick_with_beats(base::minutes(10));
  w.give("dept", Budgets::budget(100 * kHour));
  EXPECT_EQ(w.used("dept"), 0);
  w.tick_with_beats(base::minutes(1));
  EXPECT_EQ(w.used("dept"), 4 * 60);
}

TEST(GpuBudgets, AUsersBudgetCountsItsJobsOfAllQos) {
  Budgets w;
  ASSERT_EQ(w.give_user("user1000", Budgets::budget(100 * kHour)), "");
  w.begin("ml", 1);
  w.begin("bio", 2);
  w.begin("bio", 4, kBob);
  w.tick_with_beats(base::minutes(1));
  EXPECT_EQ(w.used("user1000"), 3 * 60);
}

TEST(GpuBudgets, ARestartChangesNothingAndCountsWhileTheControllerWasAway) {
  Budgets w;
  w.give("ml", Budgets::budget(100 * kHour));
  const JobId id = w.begin("ml", 4);
  w.tick_with_beats(base::minutes(10));
  w.now = w.now + base::seconds(30);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().what;
  EXPECT_EQ(w.used("ml"), 4 * 630);
  for (const std::string node : {"n0", "n1"}) {
    const bool has_it = w.job(id).placed()->allocation.shares.front().name == node;
    w.connect(node, has_it ? std::vector{World::run(id, 1, wire::kRunStarted)} : std::vector<wire::RunState>{});
  }
  w.tick_with_beats(base::minutes(1));
  EXPECT_EQ(w.used("ml"), 4 * 690);
  w.finish(id);
  w.restart();
  w.now = w.now + base::minutes(10);
  EXPECT_EQ(w.used("ml"), 4 * 690);
}

TEST(GpuBudgets, ANewPeriodBeginsWithNothingButWhatRunsOn) {
  Budgets w;
  w.give("ml", Budgets::budget(10'000 * kHour, base::Period::kDay));
  const JobId id = w.begin("ml", 4);
  const base::Time next = base::period_end(base::Period::kDay, w.now);
  w.tick_with_beats(next - w.now - base::seconds(10));
  EXPECT_GT(w.used("ml"), 0);
  w.tick_with_beats(base::seconds(70));
  EXPECT_EQ(w.used("ml"), 4 * 60) << "since midnight";
  w.finish(id);
  w.restart();
  EXPECT_EQ(w.used("ml"), 4 * 60);
}

TEST(GpuBudgets, APeriodMayEndWhileTheControllerIsAway) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour, base::Period::kDay));
  const JobId id = w.begin("ml", 8);
  w.tick_with_beats(base::minutes(10));
  w.finish(id);
  EXPECT_THAT(w.try_submit("ml", 1).error().what(), HasSubstr("is spent"));
  w.now = base::period_end(base::Period::kDay, w.now) + base::seconds(1);
  w.restart();
  EXPECT_EQ(w.used("ml"), 0);
  EXPECT_EQ(w.try_submit("ml", 1).error().what(), "");
}

TEST(GpuBudgets, ASpentOneRefusesNewJobsWithGpusAndKeepsThoseThatWait) {
  Budgets w;
  w.give("dept", Budgets::budget(kHour, base::Period::kDay));
  const JobId runs = w.begin("ml", 8);
  const JobId waits = w.enter("bio", 2), held = w.enter("bio", 3);
  w.tick(base::Duration{});
  w.started("n1", waits);
  w.started("n1", held);
  const JobId later = w.enter("ml", 8);
  w.tick_with_beats(base::minutes(6));
  EXPECT_EQ(w.reason(later), WaitReason::kBudgetSpent);
  EXPECT_THAT(w.waiting(later).detail(),
              HasSubstr("the budget of QOS dept is spent: 1 GPU-hour a day, the next begins at "));
  EXPECT_EQ(w.state(runs), JobState::kRunning) << "what runs runs on";
  const wire::ApiReply refused = w.try_submit("ml", 1);
  EXPECT_THAT(refused.error().what(), HasSubstr("the budget of QOS dept is spent: 1 GPU-hour a day; the next begins"));
  EXPECT_EQ(refused.error().sentence(),
            "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)");
  EXPECT_EQ(w.try_submit("ml", 0).error().what(), "") << "it needs no GPU";
  EXPECT_EQ(w.try_submit("normal", 1).error().what(), "") << "not below it";
  w.finish(runs);
  w.schedule();
  EXPECT_EQ(w.state(later), JobState::kPending);
  w.tick_with_beats(base::period_end(base::Period::kDay, w.now) - w.now + base::minutes(1));
  EXPECT_NE(w.state(later), JobState::kPending) << "the next period has begun";
}

TEST(GpuBudgets, ARaisedOneLetsJobsGo) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour));
  const JobId runs = w.begin("ml", 8);
  const JobId other = w.begin("ml", 8);
  const JobId waits = w.enter("ml", 8);
  w.tick_with_beats(base::minutes(6));
  w.finish(runs);
  w.finish(other);
  ASSERT_EQ(w.reason(waits), WaitReason::kBudgetSpent);
  w.give("ml", Budgets::budget(2 * kHour));
  w.schedule();
  EXPECT_EQ(w.state(waits), JobState::kConfiguring);
  EXPECT_THAT(w.used("ml"), 2 * 8 * 360) << "what was used stays used";
}

TEST(GpuBudgets, OneThatIsTakenAwayLetsJobsGo) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour));
  const JobId runs = w.begin("ml", 8), other = w.begin("ml", 8), waits = w.enter("ml", 8);
  w.tick_with_beats(base::minutes(6));
  w.finish(runs);
  w.finish(other);
  ASSERT_EQ(w.reason(waits), WaitReason::kBudgetSpent);
  w.give("ml", wire::GpuBudget());
  w.schedule();
  EXPECT_EQ(w.state(waits), JobState::kConfiguring);
  EXPECT_EQ(w.used("ml"), -1);
  w.restart();
  EXPECT_EQ(w.used("ml"), -1);
}

TEST(GpuBudgets, HeldJobsStayHeld) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour));
  w.begin("ml", 8);
  wire::ApiRequest r = World::submission(gang(1, 8));
  r.mutable_submit()->mutable_spec()->set_qos("ml");
  r.mutable_submit()->mutable_spec()->set_hold_user(true);
  const JobId held(w.ask(kAnn, r).submit().job_id());
  w.tick_with_beats(base::minutes(9));
  EXPECT_EQ(w.reason(held), WaitReason::kJobHeldUser);
  w.give("ml", Budgets::budget(1000 * kHour));
  EXPECT_EQ(w.reason(held), WaitReason::kJobHeldUser);
}

TEST(GpuBudgets, WithBorrowOnlyTheGuaranteeIsGone) {
  Budgets w;
  for (const char* name : {"dept", "ml"})
    w.change_qos(wire::QuotaChange::kModify, name, [](wire::QosPatch& p) {
      for (const auto& [resource, amount] : {std::pair("gpu", 8'000), std::pair("cpu", 4)}) {
        wire::QosAmount& a = *p.mutable_guaranteed()->add_set();
        a.set_resource(resource);
        a.set_amount(static_cast<uint64_t>(amount));
      }
    });
  w.give("dept", Budgets::budget(kHour, base::Period::kDay, true));
  w.begin("ml", 8);
  EXPECT_EQ(w.guaranteed("ml"), 8);
  w.tick_with_beats(base::minutes(9));
  EXPECT_EQ(w.guaranteed("dept"), 0);
  EXPECT_EQ(w.guaranteed("ml"), 0) << "below it too";
  const wire::ApiReply reply = w.try_submit("ml", 8);
  ASSERT_EQ(reply.submit().warnings_size(), 1);
  EXPECT_THAT(reply.submit().warnings(0), HasSubstr("only borrows GPUs"));
  w.schedule();
  EXPECT_EQ(w.state(JobId(reply.submit().job_id())), JobState::kConfiguring);
  w.restart();
  EXPECT_EQ(w.guaranteed("ml"), 0) << "nor after a restart";
  w.now = base::period_end(base::Period::kDay, w.now);
  w.tick(base::minutes(1));
  EXPECT_EQ(w.guaranteed("ml"), 8);
}

TEST(GpuBudgets, AreToldWhenTheyRunLowAreSpentAndRenewed) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour, base::Period::kDay));
  const JobId id = w.begin("ml", 8);
  w.begin("normal", 8);
  w.tick_with_beats(base::minutes(5));
  EXPECT_THAT(w.told(), IsEmpty());
  EXPECT_EQ(w.try_submit("ml", 8).submit().warnings_size(), 0);
  w.tick_with_beats(base::minutes(2));
  const std::vector<std::string> low = w.told();
  ASSERT_EQ(low.size(), 1U);
  EXPECT_THAT(low[0], HasSubstr("budget low: "));
  EXPECT_THAT(low[0], HasSubstr("% of the budget of QOS ml (1 GPU-hour a day) are used; the next begins at "));
  const wire::ApiReply warned = w.try_submit("ml", 8);
  ASSERT_EQ(warned.submit().warnings_size(), 1);
  EXPECT_THAT(warned.submit().warnings(0), HasSubstr("of the budget of QOS ml (1 GPU-hour a day) are used"));
  w.tick_with_beats(base::minutes(2));
  w.finish(id);
  w.restart();
  w.connect_all();
  w.tick_with_beats(base::period_end(base::Period::kDay, w.now) - w.now + base::seconds(1));
  EXPECT_THAT(w.told(), ElementsAre(low[0], HasSubstr("budget spent: the budget of QOS ml is spent"),
                                    HasSubstr("budget renewed: 0% of the budget of QOS ml")));
}

/// Or it would take from others, up to its fair share, and keep it.
TEST(GpuBudgets, WithBorrowThereIsNoClaimOnWhatNobodyIsGuaranteed) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour, base::Period::kDay, true));
  w.begin("ml", 8);
  const auto weight = [&w] {
    const sched::QuotaTree& tree = w.view.quota().tree();
    for (uint32_t i = 1; i < tree.nodes().size(); ++i)
      if (tree.qos(i).name == "ml" && !tree.qos(i).is_own) return static_cast<int>(tree.qos(i).weight);
    return -1;
  };
  EXPECT_EQ(weight(), 1);
  w.tick_with_beats(base::minutes(9));
  EXPECT_EQ(weight(), 0);
  wire::ApiRequest r = World::submission(gang(1, 1));
  r.mutable_submit()->mutable_spec()->set_qos("ml");
  r.mutable_submit()->mutable_spec()->set_not_preemptible(true);
  const wire::ApiReply reply = w.ask(kAnn, r);
  ASSERT_EQ(reply.submit().warnings_size(), 1);
  EXPECT_THAT(reply.submit().warnings(0), HasSubstr("a job that is never preempted does not start until then"));
}

Settings exclusive_partition() {
  Settings s;
  model::Partition p;
  p.name = "whole";
  p.is_default = p.unlimited = p.exclusive = true;
  s.partitions = {p};
  return s;
}

TEST(GpuBudgets, WholeNodesWithGpusCountAlsoIfNobodyAsksForGpus) {
  struct Whole : World {
    Whole() : World(2, exclusive_partition()) { connect_all(); }
  } w;
  wire::ApiRequest give;
  wire::QuotaChange& change = *give.mutable_change_quotas()->add_changes();
  change.set_what(wire::QuotaChange::kAdd);
  change.set_name("ml");
  *change.mutable_qos()->mutable_budget() = Budgets::budget(kHour);
  ASSERT_EQ(w.ask(0, give).error().what(), "");
  wire::ApiRequest r = World::submission(model::Request{});
  r.mutable_submit()->mutable_spec()->set_qos("ml");
  const JobId id(w.ask(kAnn, r).submit().job_id());
  w.schedule();
  ASSERT_EQ(w.job(id).placed()->allocation.total_gpus(), 8U);
  w.started("n0", id);
  w.tick_with_beats(base::minutes(9));
  EXPECT_THAT(w.ask(kAnn, r).error().what(), HasSubstr("the budget of QOS ml is spent"));
}

TEST(GpuBudgets, AJobThatBeginsInTheNextPeriodIsTaken) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour, base::Period::kDay));
  w.begin("ml", 8);
  w.tick_with_beats(base::minutes(9));
  wire::ApiRequest r = World::submission(gang(1, 1));
  r.mutable_submit()->mutable_spec()->set_qos("ml");
  r.mutable_submit()->mutable_spec()->set_begin_us(base::period_end(base::Period::kDay, w.now).us - 1);
  EXPECT_THAT(w.ask(kAnn, r).error().what(), HasSubstr("is spent"));
  r.mutable_submit()->mutable_spec()->set_begin_us(base::period_end(base::Period::kDay, w.now).us);
  EXPECT_EQ(w.ask(kAnn, r).error().what(), "");
}

TEST(GpuBudgets, AClockThatWasAheadHasUsedNothing) {
  Budgets w;
  w.give("ml", Budgets::budget(1000 * kHour, base::Period::kDay));
  const base::Time before = w.now;
  w.now = w.now + base::hours(24 * 366);
  const JobId id = w.begin("ml", 8);
  w.now = before;
  w.tick(base::minutes(1));
  EXPECT_EQ(w.used("ml"), 0);
  w.tick(base::minutes(1));
  EXPECT_EQ(w.used("ml"), 8 * 60);
  w.finish(id);
}

TEST(GpuBudgets, ARestartTellsNothingAnewAndHoldsWhatWasHeld) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour));
  const JobId runs = w.begin("ml", 8);
  w.begin("normal", 8);
  const JobId waits = w.enter("ml", 8);
  w.tick_with_beats(base::minutes(9));
  const size_t told = w.told().size();
  ASSERT_EQ(told, 2U) << "low, spent";
  ASSERT_EQ(w.state(runs), JobState::kRunning);
  const base::Time eligible = w.job(waits).eligible;
  w.restart();
  EXPECT_EQ(w.reason(waits), WaitReason::kBudgetSpent);
  EXPECT_EQ(w.job(waits).eligible, eligible);
  w.connect_all();
  w.tick_with_beats(base::minutes(2));
  EXPECT_EQ(w.told().size(), told);
}

/// Whoever repairs the row finds what was used; also where the configuration has a budget for a QOS of that name.
TEST(GpuBudgets, WhatIsUsedOutlivesAQosThatIsHeldAside) {
  Budgets w;
  w.settings.qos.emplace_back().name = "ml";
  w.settings.qos.back().budget = model::GpuBudget{kHour, base::Period::kDay, false};
  w.give("ml", Budgets::budget(100 * kHour));
  const JobId id = w.begin("ml", 8);
  w.tick_with_beats(base::minutes(1));
  w.finish(id);
  const std::string row = w.store.qos.at("ml");
  w.store.qos["ml"] = "\xff";
  w.restart();
  EXPECT_EQ(w.used("ml"), -1);
  w.store.qos["ml"] = row;
  w.restart();
  EXPECT_EQ(w.used("ml"), 8 * 60);
}

TEST(GpuBudgets, ATreeThatIsOtherwiseTheSameWritesNoUse) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour));
  w.give("bio", Budgets::budget(kHour));
  size_t rows = 0;
  w.on_effects = [&rows](const Effects& e) {
    for (const store::Op& op : e.writes) rows += std::holds_alternative<store::PutUsage>(op) ? 1 : 0;
  };
  w.change_qos(wire::QuotaChange::kModify, "dept", [](wire::QosPatch& p) { p.set_description("else"); });
  EXPECT_EQ(rows, 0U);
  w.give("ml", Budgets::budget(2 * kHour));
  EXPECT_EQ(rows, 1U);
}

TEST(GpuBudgets, VeryManyJobsAreLookedAtInPortions) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour, base::Period::kDay));
  const JobId runs = w.begin("ml", 8), others = w.begin("normal", 8);
  constexpr size_t kJobs = 2'500;
  std::vector<JobId> waiting;
  for (size_t i = 0; i < kJobs; ++i) waiting.push_back(w.enter("ml", 8));
  w.tick_with_beats(base::minutes(9));
  for (int i = 0; i < 5; ++i) w.core->on_tick(w.now = w.now + base::milliseconds(2));
  w.pump();
  const auto kept = [&] {
    return std::count_if(waiting.begin(), waiting.end(), [&w](JobId id) {
      return w.job(id).waiting() != nullptr && w.job(id).waiting()->reason == WaitReason::kBudgetSpent;
    });
  };
  EXPECT_EQ(kept(), static_cast<std::ptrdiff_t>(kJobs));
  w.finish(runs);
  w.finish(others);
  w.now = base::period_end(base::Period::kDay, w.now);
  w.core->on_tick(w.now);
  EXPECT_EQ(kept(), static_cast<std::ptrdiff_t>(kJobs - 1'000));
  for (int i = 0; i < 3; ++i) w.core->on_tick(w.now = w.now + base::milliseconds(2));
  w.pump();
  EXPECT_EQ(kept(), 0);
}

TEST(GpuBudgets, AnElasticGangGrowsNoFurther) {
  Budgets w;
  w.give("ml", Budgets::budget(kHour));
  model::Request elastic = gang(1);
  elastic.max_nodes = 2;
  elastic.elastic = true;
  const JobId blocks = w.begin("normal", 8);
  wire::ApiRequest r = World::submission(elastic);
  r.mutable_submit()->mutable_spec()->set_qos("ml");
  const JobId id(w.ask(kAnn, r).submit().job_id());
  w.schedule();
  const std::string node = w.job(id).placed()->allocation.shares.front().name;
  w.prepared(node, id);
  w.started(node, id);
  w.tick_with_beats(base::minutes(9));
  w.finish(blocks);
  w.tick_with_beats(base::minutes(1));
  EXPECT_EQ(w.job(id).placed()->allocation.shares.size(), 1U);
  EXPECT_TRUE(sched::plan(w.view, w.now, {}).groups.empty()) << "the scheduler does not try it, either";
  w.give("ml", Budgets::budget(1000 * kHour));
  w.schedule();
  EXPECT_EQ(w.job(id).placed()->allocation.shares.size(), 2U);
}

TEST(GpuBudgets, MayBeGivenByThoseAboveAQosAndToUsersByAdministrators) {
  Budgets w;
  w.change_qos(wire::QuotaChange::kModify, "dept",
               [](wire::QosPatch& p) { p.mutable_operators()->add_add("user1000"); });
  const auto one_hour = [](wire::QosPatch& p) { *p.mutable_budget() = Budgets::budget(kHour); };
  EXPECT_EQ(w.change_qos(wire::QuotaChange::kModify, "ml", one_hour, kAnn), "");
  EXPECT_THAT(w.change_qos(wire::QuotaChange::kModify, "dept", one_hour, kAnn), HasSubstr("may not change"));
  EXPECT_EQ(w.give_user("user1001", Budgets::budget(kHour), kAnn), "only administrators may set the budget of a user");
  EXPECT_THAT(w.give_user("user1001", Budgets::budget(kHour, base::Period::kDay, true)),
              HasSubstr("only the budget of a QOS can say :borrow"));
  EXPECT_EQ(w.give_user("user1001", Budgets::budget(kHour)), "");
  EXPECT_EQ(w.give_user("user1001", wire::GpuBudget()), "");
  EXPECT_EQ(w.used("user1001"), -1);
}

TEST(GpuBudgets, AJobOfADeletedQosCountsWhereItGoes) {
  Budgets w;
  w.give("bio", Budgets::budget(100 * kHour));
  w.give("ml", Budgets::budget(100 * kHour));
  w.begin("ml", 8);
  w.tick_with_beats(base::minutes(1));
  wire::ApiRequest request;
  wire::QuotaChange& change = *request.mutable_change_quotas()->add_changes();
  change.set_what(wire::QuotaChange::kDelete);
  change.set_name("ml");
  change.set_move_to("bio");
  ASSERT_EQ(w.ask(0, request).error().what(), "");
  w.tick_with_beats(base::minutes(1));
  EXPECT_EQ(w.used("ml"), -1);
  EXPECT_EQ(w.used("bio"), 8 * 60);
}

}  // namespace
}  // namespace gw::ctld
