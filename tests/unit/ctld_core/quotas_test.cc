// The tree of quotas in the controller: durable, changed as a whole, and asked at submission.
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

constexpr uint64_t kGpu = 1000;

wire::QuotaChange& add(wire::ApiRequest& request, wire::QuotaChange::What what, const std::string& name) {
  wire::QuotaChange& change = *request.mutable_change_quotas()->add_changes();
  change.set_what(what);
  change.set_name(name);
  return change;
}

wire::ApiRequest qos(const std::string& name, uint64_t gpus, const std::string& parent = {}) {
  wire::ApiRequest request;
  wire::QosPatch& patch = *add(request, wire::QuotaChange::kAdd, name).mutable_qos();
  wire::QosAmount& a = *patch.mutable_guaranteed()->add_set();
  a.set_resource("gpu");
  a.set_amount(gpus * kGpu);
  patch.set_parent(parent);
  return request;
}

struct Tree : World {
  Tree() : World(2) {
    restart();
    connect_all();
  }
  std::string change(const wire::ApiRequest& request, uint32_t uid = 0) {
    const wire::ApiReply reply = ask(uid, request);
    last_hint = reply.error().hint();
    effects.assign(reply.change_quotas().effects().begin(), reply.change_quotas().effects().end());
    return reply.error().what();
  }
  std::string submit_to(const std::string& name, uint32_t uid, uint32_t gpus = 1, base::Duration limit = {}) {
    wire::ApiRequest r = submission(gang(1, gpus));
    r.mutable_submit()->mutable_spec()->set_qos(name);
    if (limit.us > 0) r.mutable_submit()->mutable_spec()->set_time_limit_us(limit.us);
    const wire::ApiReply reply = ask(uid, r);
    last_job = JobId(reply.submit().job_id());
    last_hint = reply.error().hint();
    return reply.error().what();
  }
  std::string last_hint;
  std::vector<std::string> effects;
  JobId last_job;
};

/// A plan is a moment old when it is carried out: nobody starts, or is preempted, by quotas that are others by now.
TEST(Quotas, APlanForOtherQuotasIsNotCarriedOut) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.submit_to("q", 1000, 8), "");
  const sched::Plan plan = sched::plan(t.view, t.now, {});
  ASSERT_EQ(plan.groups.size(), 1U);
  wire::ApiRequest request;
  wire::QosPatch& patch = *add(request, wire::QuotaChange::kModify, "q").mutable_qos();
  patch.mutable_limit()->add_set()->set_resource("gpu");
  patch.mutable_limit()->mutable_set(0)->set_amount(4 * kGpu);
  patch.mutable_guaranteed()->set_clear(true);
  ASSERT_EQ(t.change(request), "");
  t.core->on_plan(t.now, plan);
  t.pump();
  EXPECT_EQ(t.state(t.last_job), model::JobState::kPending);
  t.schedule();
  EXPECT_EQ(t.state(t.last_job), model::JobState::kPending);
}

/// It is said once, so nobody would say it again.
TEST(Quotas, WhyOthersWaitIsKeptFromAPlanForOtherQuotas) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.submit_to("q", 1000, 8), "");
  t.schedule();
  ASSERT_EQ(t.submit_to("q", 1000, 8), "");
  t.schedule();
  ASSERT_EQ(t.submit_to("q", 1000, 7), "");  // no room for it
  const JobId waits = t.last_job;
  const sched::Plan plan = sched::plan(t.view, t.now, {});
  ASSERT_EQ(plan.groups.size(), 1U);
  ASSERT_EQ(t.submit_to("normal", 1000, 8), "");
  wire::ApiRequest other;  // only the QOS of another job changes, so that the scheduler tells nobody anew
  other.mutable_update_job()->add_ids(t.last_job.value);
  other.mutable_update_job()->set_qos("q");
  ASSERT_EQ(t.ask(0, other).error().what(), "");
  t.core->on_plan(t.now, plan);
  t.pump();
  wire::ApiRequest list;
  list.mutable_list_jobs()->mutable_filter()->add_ids(waits.value);
  const wire::ApiReply reply = t.ask(1000, list);
  ASSERT_EQ(reply.list_jobs().jobs_size(), 1);
  EXPECT_EQ(reply.list_jobs().jobs(0).status().waiting().reason(),
            static_cast<uint32_t>(model::WaitReason::kResources));
}

TEST(Quotas, AreKeptAcrossARestart) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.change(qos("q.1", 8, "q")), "");
  EXPECT_EQ(t.view.quota().tree().list().size(), 2);
  const std::string before = t.core->fingerprint();
  t.settings.qos.push_back({});
  t.settings.qos.back().name = "later";
  t.restart();
  EXPECT_EQ(t.core->fingerprint(), before) << "the configuration's list was taken over once";
  EXPECT_EQ(t.view.quota().tree().list().size(), 2);
}

TEST(Quotas, ADryRunChangesNothing) {
  Tree t;
  wire::ApiRequest request = qos("q", 8);
  request.mutable_change_quotas()->set_dry_run(true);
  EXPECT_EQ(t.change(request), "");
  EXPECT_TRUE(t.store.qos.empty());
  EXPECT_EQ(t.submit_to("q", 1000), "Invalid qos specification: q");
}

TEST(Quotas, ARetryGetsTheFirstAnswer) {
  Tree t;
  wire::ApiRequest request = qos("q", 8);
  request.set_client_id("one");
  EXPECT_EQ(t.change(request), "");
  EXPECT_EQ(t.change(request), "") << "and not: exists already";
}

TEST(Quotas, SayWhoComesToStandAboveAndWhatCanBeTakenBack) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.submit_to("q", 1000, 8), "");
  t.schedule();
  EXPECT_EQ(t.state(t.last_job), model::JobState::kConfiguring);
  wire::ApiRequest less = qos("q", 6);
  less.mutable_change_quotas()->mutable_changes(0)->set_what(wire::QuotaChange::kModify);
  EXPECT_EQ(t.change(less), "");
  EXPECT_EQ(base::join(t.effects, "|"),
            "QOS q holds 8 gpu, guaranteed 6: 2 borrowed|can be taken back now: job " + t.last_job.text());
  t.schedule();
  EXPECT_EQ(t.state(t.last_job), model::JobState::kConfiguring) << "shrinking kills nothing (rule 10)";
}

TEST(Quotas, AQosWithJobsIsDeletedOnlyIfTheyMove) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.change(qos("r", 8)), "");
  ASSERT_EQ(t.submit_to("q", 1000, 8), "");
  t.schedule();
  const JobId running = t.last_job;
  ASSERT_EQ(t.submit_to("q", 1000, 1), "");
  const JobId waiting = t.last_job;
  wire::ApiRequest gone;
  wire::QuotaChange& change = add(gone, wire::QuotaChange::kDelete, "q");
  EXPECT_EQ(t.change(gone), "QOS q has 2 jobs");
  change.set_move_to("r");
  EXPECT_EQ(t.change(gone), "");
  EXPECT_EQ(t.job(running).spec.qos, "r");
  EXPECT_EQ(t.job(waiting).spec.qos, "r");
  const auto r = *t.view.quota().tree().find("r");
  EXPECT_EQ(t.view.quota().tally().held[r][0], 8 * kGpu) << "the scheduler counts it there";
  EXPECT_EQ(t.view.quota().waiting()[r][0], 1 * kGpu);
  t.restart();
  EXPECT_EQ(t.job(running).spec.qos, "r");
  EXPECT_EQ(t.view.quota().tally().held[*t.view.quota().tree().find("r")][0], 8 * kGpu);
}

/// Without GPUs it is charged for its threads, there as well.
TEST(Quotas, AMovedJobIsChargedWhereItIsToItsEnd) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.change(qos("r", 8)), "");
  ASSERT_EQ(t.submit_to("q", 1000, 0), "");
  t.schedule();
  const JobId id = t.last_job;
  const std::string node = t.job(id).placed()->allocation.shares.front().name;
  t.started(node, id);
  wire::ApiRequest gone;
  add(gone, wire::QuotaChange::kDelete, "q").set_move_to("r");
  ASSERT_EQ(t.change(gone), "");
  t.now = t.now + base::seconds(640);
  t.exited(node, id, 0);
  t.done(node, id);
  for (const auto& [key, row] : t.store.usage) EXPECT_GE(row.amount, 0) << key.first << " " << key.second;
  const auto use = t.store.usage.find({"qos", "r"});
  ASSERT_TRUE(use != t.store.usage.end());
  EXPECT_GT(use->second.amount, 0);
}

TEST(Quotas, ADryRunOfADeletionCountsTheJobsWhereTheyGo) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.change(qos("r", 4)), "");
  ASSERT_EQ(t.submit_to("q", 1000, 8), "");
  t.schedule();
  wire::ApiRequest gone;
  add(gone, wire::QuotaChange::kDelete, "q").set_move_to("r");
  gone.mutable_change_quotas()->set_dry_run(true);
  ASSERT_EQ(t.change(gone), "");
  ASSERT_EQ(t.effects.size(), 2U);
  EXPECT_EQ(t.effects[0], "QOS r holds 8 gpu, guaranteed 4: 4 borrowed");
  EXPECT_EQ(t.effects[1], "can be taken back now: job " + t.last_job.text());
}

/// What comes of a submission with an account, and perhaps a QOS: "QOS account", or the refusal.
std::string with_account(Tree& t, const std::string& account, const std::string& qos = {}, uint32_t uid = 1) {
  wire::ApiRequest r = World::submission(gang(1));
  r.mutable_submit()->mutable_spec()->set_account(account);
  r.mutable_submit()->mutable_spec()->set_qos(qos);
  const wire::ApiReply reply = t.ask(uid, r);
  if (reply.has_error()) return reply.error().what();
  const model::JobSpec& spec = t.job(JobId(reply.submit().job_id())).spec;
  return spec.qos + " " + spec.account;
}

TEST(Accounts, SelectTheQosOfTheirName) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.change(qos("r", 8)), "");
  wire::ApiRequest roles;
  add(roles, wire::QuotaChange::kModify, "r").mutable_qos()->mutable_users()->add_add("user2");
  ASSERT_EQ(t.change(roles), "");
  const std::string unknown = "Invalid account or account/partition combination specified: lab";
  EXPECT_EQ(with_account(t, "q"), "q q");
  EXPECT_EQ(with_account(t, "q", "normal"), "normal q");
  EXPECT_EQ(with_account(t, "lab"), unknown);
  EXPECT_EQ(with_account(t, "lab", "q"), unknown) << "also beside a QOS";
  EXPECT_EQ(with_account(t, "r", "q"), "user user1 may not use QOS r") << "nobody is charged by strangers";
  EXPECT_EQ(with_account(t, "r", "q", 2), "q r");
}

TEST(Accounts, AreLabelsWhereTheyAreNotEnforced) {
  Tree t;
  t.settings.enforce_accounts = false;
  t.restart();
  ASSERT_EQ(t.change(qos("q", 8)), "");
  EXPECT_EQ(with_account(t, "lab"), "normal lab");
  EXPECT_EQ(with_account(t, "lab", "q"), "q lab");
  EXPECT_EQ(with_account(t, "q"), "q q") << "the name of a QOS selects it all the same";
  wire::ApiRequest update;
  update.mutable_update_job()->add_ids(2);
  update.mutable_update_job()->set_account("other");
  EXPECT_EQ(t.ask(1, update).jobs().done_size(), 1);
  EXPECT_EQ(t.job(JobId(2)).spec.qos, "q") << "a label moves nobody";
  EXPECT_EQ(t.job(JobId(2)).spec.account, "other");
}

TEST(Quotas, OnlyWhoHasARoleSubmits) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.change(qos("r", 8)), "");
  wire::ApiRequest roles;
  add(roles, wire::QuotaChange::kModify, "q").mutable_qos()->mutable_users()->add_add("user1");
  add(roles, wire::QuotaChange::kModify, "r").mutable_qos()->mutable_operators()->add_add("user2");
  ASSERT_EQ(t.change(roles), "");
  EXPECT_EQ(t.submit_to("q", 1), "");
  const JobId ones = t.last_job;
  EXPECT_EQ(t.submit_to("q", 3), "user user3 may not use QOS q");
  EXPECT_EQ(t.last_hint, "you may use: r");
  // An operator may end the jobs of its QOS, and nobody else's.
  EXPECT_EQ(t.cancel(2, ones).cancel().faults_size(), 1);
  EXPECT_EQ(t.submit_to("r", 1), "");
  EXPECT_EQ(t.cancel(2, t.last_job).cancel().done_size(), 1);
}

TEST(Quotas, DefaultsOfUsersAndPartitions) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.change(qos("r", 8)), "");
  wire::ApiRequest partition;
  partition.mutable_update_partition()->set_name("main");
  partition.mutable_update_partition()->set_default_qos("r");
  ASSERT_EQ(t.ask(0, partition).error().what(), "");
  EXPECT_EQ(t.submit_to("", 1), "");
  EXPECT_EQ(t.job(t.last_job).spec.qos, "r");
  wire::ApiRequest user;
  wire::QuotaChange& change = add(user, wire::QuotaChange::kAdd, "user1");
  change.set_is_user(true);
  change.set_default_qos("q");
  ASSERT_EQ(t.change(user), "");
  EXPECT_EQ(t.submit_to("", 1), "");
  EXPECT_EQ(t.job(t.last_job).spec.qos, "q");
  EXPECT_EQ(t.submit_to("", 2), "");
  EXPECT_EQ(t.job(t.last_job).spec.qos, "r");
}

TEST(Quotas, PatienceIsInheritedUntilItIsGiven) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  const auto set = [&t](int64_t us) {
    wire::ApiRequest change;
    add(change, wire::QuotaChange::kModify, "q").mutable_qos()->set_patience_us(us);
    return t.change(change);
  };
  const auto kept = [&t] {
    const sched::QuotaTree& tree = t.view.quota().tree();
    return tree.qos(*tree.find("q")).patience;
  };
  EXPECT_FALSE(kept());
  EXPECT_EQ(set(base::hours(3).us), "");
  EXPECT_EQ(kept(), base::hours(3));
  t.restart();
  EXPECT_EQ(kept(), base::hours(3));
  EXPECT_EQ(set(0), "");
  EXPECT_EQ(kept(), base::Duration{});
  EXPECT_EQ(set(-1), "");
  EXPECT_FALSE(kept());
}

TEST(Quotas, CapsOfTimeAndOfJobs) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 8)), "");
  ASSERT_EQ(t.change(qos("q.1", 8, "q")), "");
  wire::ApiRequest caps;
  wire::QosPatch& patch = *add(caps, wire::QuotaChange::kModify, "q").mutable_qos();
  patch.set_max_wall_us(base::hours(1).us);
  patch.set_max_submit(3);
  patch.set_max_submit_per_user(2);
  ASSERT_EQ(t.change(caps), "");
  EXPECT_EQ(t.submit_to("q.1", 1, 1, base::hours(2)), "the time limit 02:00:00 is longer than QOS q allows: 01:00:00");
  EXPECT_EQ(t.submit_to("q.1", 1), "");
  EXPECT_EQ(t.job(t.last_job).spec.time_limit, base::hours(1)) << "who names none gets what is allowed";
  EXPECT_EQ(t.submit_to("q", 1), "");
  EXPECT_EQ(t.submit_to("q", 1),
            "QOS q takes at most 2 jobs waiting and running (max_submit_per_user); 2 of yours are there");
  EXPECT_EQ(t.submit_to("q", 2), "");
  EXPECT_EQ(t.submit_to("q.1", 2), "QOS q takes at most 3 jobs waiting and running (max_submit); 3 are there");
  t.cancel(2, t.last_job);
  EXPECT_EQ(t.cancel(1, JobId(1)).cancel().done_size(), 1);
  EXPECT_EQ(t.submit_to("q.1", 2), "") << "what has ended no longer counts";
}

TEST(Quotas, SoManyRunAtOnceAndSoMuchOfEachUser) {
  Tree t;
  ASSERT_EQ(t.change(qos("q", 16)), "");
  wire::ApiRequest caps;
  wire::QosPatch& patch = *add(caps, wire::QuotaChange::kModify, "q").mutable_qos();
  patch.set_max_jobs(3);
  wire::QosAmount& own = *patch.mutable_limit_per_user()->add_set();
  own.set_resource("gpu");
  own.set_amount(2 * kGpu);
  ASSERT_EQ(t.change(caps), "");
  std::vector<JobId> jobs;
  for (uint32_t uid : {1, 1, 1, 2, 3}) {
    ASSERT_EQ(t.submit_to("q", uid), "");
    jobs.push_back(t.last_job);
  }
  t.schedule();
  const auto runs = [&](size_t i) { return t.state(jobs[i]) == model::JobState::kConfiguring; };
  EXPECT_TRUE(runs(0) && runs(1) && !runs(2) && runs(3) && !runs(4));
  wire::ApiRequest list;
  list.mutable_list_jobs()->mutable_filter()->add_ids(jobs[2].value);
  list.mutable_list_jobs()->mutable_filter()->add_ids(jobs[4].value);
  const wire::ApiReply shown = t.ask(0, list);
  EXPECT_EQ(
      shown.list_jobs().jobs(0).status().waiting().detail(),
      "the limit of each user in QOS q is 2 gpu: 2 held, 1 more asked; the limit of QOS q is 3 jobs: 3 held, 1 more "
      "asked");
  EXPECT_EQ(shown.list_jobs().jobs(1).status().waiting().detail(),
            "the limit of QOS q is 3 jobs: 3 held, 1 more asked");
}

TEST(Quotas, PartitionsAreMadeAndDeletedForGood) {
  Tree t;
  wire::ApiRequest request;
  wire::Partition& p = *request.mutable_create_partition()->mutable_partition();
  p = wire::to_wire(model::Partition{});
  p.set_name("small");
  EXPECT_EQ(t.ask(0, request).error().what(), "a partition needs nodes");
  p.add_nodes("n7");
  EXPECT_EQ(t.ask(0, request).error().what(), "Invalid node name specified: n7");
  p.set_nodes(0, "n1");
  EXPECT_EQ(t.ask(1, request).error().what(), "permission denied");
  EXPECT_EQ(t.ask(0, request).error().what(), "");
  EXPECT_EQ(t.ask(0, request).error().what(), "partition small exists already");
  t.restart();
  t.connect_all();
  wire::ApiRequest job = World::submission(gang(1, 1));
  job.mutable_submit()->mutable_spec()->add_partitions("small");
  EXPECT_EQ(t.ask(1, job).error().what(), "");
  wire::ApiRequest gone;
  gone.mutable_delete_partition()->set_name("small");
  EXPECT_EQ(t.ask(0, gone).error().what(), "partition small has 1 job");
  gone.mutable_delete_partition()->set_name("main");
  EXPECT_EQ(t.ask(0, gone).error().what(), "");
  t.restart();
  EXPECT_EQ(t.ask(0, gone).error().what(), "Invalid partition name specified: main") << "although the file has it";
}

}  // namespace
}  // namespace gw::ctld::testing
