// Use of the cluster through the controller's core: charged while held, faded, durable, and told to the scheduler; and
// what gprio shows of it.
#include <gtest/gtest.h>

#include <cmath>

#include "sched/queue/order_facts.h"
#include "world.h"

namespace gw::ctld {
namespace {

using model::JobState;
using testing::gang;
using testing::World;

Settings multifactor(base::Duration half_life = base::hours(1)) {
  Settings s;
  s.policy.order = *sched::make_order("multifactor", {{"fair_share", 1000}, {"age", 0}, {"size", 0}, {"partition", 0}});
  s.usage_half_life = half_life;
  return s;
}

/// One node of eight GPUs on which jobs run to order.
struct OneNode : World {
  explicit OneNode(const Settings& s) : World(1, s) { connect_all(); }
  JobId begin(uint32_t uid, uint32_t gpus) {
    const JobId id = submit(uid, gang(1, gpus));
    schedule();
    started("n0", id);
    return id;
  }
  void finish(JobId id) {
    exited("n0", id, 0);
    done("n0", id);
  }
  /// The node must not be taken for lost.
  void pass(base::Duration d) {
    for (const base::Time end = now + d; now < end;) {
      const base::Duration step = std::min(base::seconds(30), end - now);
      now = now + step;
      wire::NodeToController beat;
      beat.mutable_heartbeat();
      say("n0", beat);
      core->on_tick(now);
      pump();
    }
  }
  wire::ListPrioritiesReply priorities(const std::vector<JobId>& ids = {}) {
    wire::ApiRequest r;
    r.mutable_list_priorities();
    for (JobId id : ids) r.mutable_list_priorities()->mutable_filter()->add_ids(id.value);
    return ask(1000, r).list_priorities();
  }
};

double amount(const World& w, const std::string& kind, const std::string& name) {
  const auto it = w.store.usage.find({kind, name});
  return it == w.store.usage.end() ? -1 : sched::gpu_seconds(it->second.amount);
}

TEST(CoreUsage, IsChargedFromPlacementToRelease) {
  OneNode w(multifactor(base::kUnlimited));
  const JobId id = w.begin(1000, 4);
  w.pass(base::minutes(10));
  w.exited("n0", id, 0);
  EXPECT_EQ(amount(w, "user", "1000"), 0) << "stored as the rate changes, and not yet";
  w.pass(base::minutes(1));
  w.done("n0", id);
  EXPECT_EQ(amount(w, "user", "1000"), 4 * 11 * 60);
  EXPECT_EQ(amount(w, "qos", "normal"), 4 * 11 * 60);
  EXPECT_EQ(w.core->use_of_users().at(1000).rate, 0);
}

TEST(CoreUsage, AJobWithoutGpusCountsItsThreads) {
  OneNode w(multifactor(base::kUnlimited));
  model::Request r;
  r.cpus_per_task = 8;
  const JobId id = w.submit(1000, r);
  w.schedule();
  w.started("n0", id);
  w.pass(base::seconds(64));
  w.finish(id);
  EXPECT_EQ(amount(w, "user", "1000"), 64.0 * 8 / 32);
}

TEST(CoreUsage, FadesByTheHalfLife) {
  OneNode w(multifactor());
  w.finish(w.begin(1000, 8));
  const JobId id = w.begin(1001, 8);
  w.pass(base::hours(1));
  w.finish(id);
  const double one_hour = 8 * 3600 / std::log(2.0) / 2;
  EXPECT_NEAR(amount(w, "user", "1001"), one_hour, 1e-3);
  w.pass(base::hours(2));
  EXPECT_NEAR(w.view.usage().at(1001), one_hour / 4, one_hour / 4 * 0.06) << "told at most five minutes ago";
  const sched::Used& used = w.core->use_of_users().at(1001);
  EXPECT_EQ(w.view.usage().at(1001),
            sched::gpu_seconds(sched::used_by(used, sched::usage_period_start(w.now), base::hours(1))));
  EXPECT_FALSE(w.view.usage().contains(1000)) << "it used nothing worth remembering";
  EXPECT_FALSE(w.store.usage.contains({"user", "1000"}));
}

/// Amount, rate and time of every user.
std::vector<std::tuple<uint32_t, int64_t, int64_t, int64_t>> uses(const World& w) {
  std::vector<std::tuple<uint32_t, int64_t, int64_t, int64_t>> out;
  for (const auto& [uid, used] : w.core->use_of_users()) out.emplace_back(uid, used.amount, used.rate, used.at.us);
  return out;
}

TEST(CoreUsage, ARestartDoesNotChangeIt) {
  OneNode w(multifactor()), undisturbed(multifactor());
  for (OneNode* each : {&w, &undisturbed}) {
    each->finish(each->begin(1002, 1));
    each->begin(1000, 3);
    each->pass(base::minutes(17));
    each->begin(1000, 2);
    each->begin(1001, 1);
    each->pass(base::minutes(33));
  }
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(uses(w), uses(undisturbed));
  EXPECT_EQ(w.view.usage(), undisturbed.view.usage());
  EXPECT_EQ(w.core->use_of_users().at(1000).rate, 5'000'000);
  w.connect("n0", {World::run(JobId(2), 1, wire::kRunStarted), World::run(JobId(3), 1, wire::kRunStarted),
                   World::run(JobId(4), 1, wire::kRunStarted)});
  for (OneNode* each : {&w, &undisturbed}) {
    each->pass(base::minutes(41));
    each->finish(JobId(2));
    each->pass(base::minutes(3));
  }
  EXPECT_EQ(w.core->fingerprint(), undisturbed.core->fingerprint());
  EXPECT_EQ(w.view.usage(), undisturbed.view.usage());
}

TEST(CoreUsage, DamagedRowsAreHeldAside) {
  for (const store::PutUsage& row : {store::PutUsage{"user", "x", 1, {1}}, store::PutUsage{"user", "-1", 1, {1}},
                                     store::PutUsage{"team", "1", 1, {1}}, store::PutUsage{"user", "1", -1, {1}}}) {
    World w(1);
    w.store.usage[{row.kind, row.name}] = row;
    w.restart();
    ASSERT_TRUE(w.restored) << row.kind << row.name;
    EXPECT_TRUE(w.store.held.contains({"usage", row.kind + "/" + row.name}));
    EXPECT_TRUE(w.core->use_of_users().empty());
  }
}

TEST(CoreUsage, AHeavyUserGoesBehindALightOne) {
  OneNode w(multifactor());
  const JobId heavy = w.begin(1000, 8);
  w.pass(base::minutes(30));
  const JobId first = w.submit(1000, gang(1));
  w.pass(base::minutes(1));
  const JobId second = w.submit(1001, gang(1));
  w.pass(base::minutes(10));
  w.finish(heavy);
  w.schedule();
  EXPECT_EQ(w.state(second), JobState::kConfiguring);
  EXPECT_EQ(w.state(first), JobState::kPending);
}

TEST(CoreUsage, OtherOrdersAreNotToldButAllIsKept) {
  OneNode w({});
  w.begin(1000, 8);
  w.pass(base::minutes(30));
  EXPECT_TRUE(w.view.usage().empty());
  Settings s = multifactor();
  s.cluster = "test";
  s.nodes = w.settings.nodes;
  s.partitions = w.settings.partitions;
  s.qos = w.settings.qos;
  s.admin_uids = s.node_uids = {0};
  w.core->on_reconfigured(w.now, s, {}, {}, {});
  w.pump();
  ASSERT_TRUE(w.view.usage().contains(1000));
  EXPECT_GT(w.view.usage().at(1000), 8 * 25 * 60 * 0.7);
}

TEST(CoreUsage, OfQosIsToldWhereItCounts) {
  Settings s = multifactor();
  OneNode off(s);
  s.policy.fairness_over_time = 1;
  OneNode w(s);
  for (OneNode* each : {&off, &w}) {
    each->begin(1000, 8);
    each->pass(base::minutes(31));
  }
  EXPECT_TRUE(off.view.qos_usage().empty());
  EXPECT_EQ(w.view.qos_usage().at("normal"), w.view.usage().at(1000)) << "one user, one QOS";
  const std::map<std::string, double> told = w.view.qos_usage();
  w.pass(base::minutes(2));
  EXPECT_EQ(w.view.qos_usage(), told) << "within the same five minutes";
  w.restart();
  EXPECT_EQ(w.view.qos_usage(), told);
  w.core->on_reconfigured(w.now, off.settings, {}, {}, {});
  w.pump();
  EXPECT_TRUE(w.view.qos_usage().empty()) << "it was turned off";
}

TEST(Services, OfEndedJobsAreToldToOrdersThatGoByThemAndKept) {
  Settings s;
  s.policy.order = *sched::make_order("gittins");
  OneNode w(s);
  for (int i = 1; i <= 10; ++i) {
    EXPECT_TRUE(w.view.policy().services.empty()) << "nine are too few";
    const JobId id = w.begin(1000, 2);
    w.pass(base::seconds(i));
    w.finish(id);
  }
  ASSERT_EQ(w.view.policy().services.size(), 10U);
  EXPECT_DOUBLE_EQ(w.view.policy().services.front(), 2) << "two GPUs for a second";
  EXPECT_DOUBLE_EQ(w.view.policy().services.back(), 20);
  const JobId never = w.submit(1000, gang(1, 8));
  w.cancel(1000, never);
  w.restart();
  ASSERT_TRUE(w.restored) << w.restored.error().text();
  EXPECT_EQ(w.view.policy().services.size(), 10U) << "who never ran is not among them";
  Settings off = w.settings;
  off.policy.order = *sched::make_order("fifo");
  w.core->on_reconfigured(w.now, off, {}, {}, {});
  w.pump();
  EXPECT_TRUE(w.view.policy().services.empty()) << "nobody goes by them";
}

TEST(Priorities, AreThoseOfTheScheduler) {
  OneNode w(multifactor());
  w.begin(1000, 8);
  w.pass(base::minutes(30));
  const JobId heavy = w.submit(1000, gang(1)), light = w.submit(1001, gang(1));
  w.pass(base::minutes(6));
  const auto reply = w.priorities();
  EXPECT_EQ(reply.order(), "multifactor");
  ASSERT_EQ(reply.jobs_size(), 2) << "the running job has none";
  ASSERT_EQ(reply.names_size(), reply.weights_size());
  const sched::OrderFacts facts(w.now, w.view.capacity(), w.view.usage());
  for (const wire::JobPriority& job : reply.jobs()) {
    const sched::PendingJob& pending = *w.view.queue().find(JobId(job.id()));
    EXPECT_DOUBLE_EQ(job.score(), w.view.orders().cluster().score(sched::waiting_facts(pending, facts.context().now),
                                                                  facts.context()));
    const auto parts =
        w.view.orders().cluster().parts(sched::waiting_facts(pending, facts.context().now), facts.context());
    ASSERT_EQ(job.factors_size(), reply.names_size());
    ASSERT_EQ(static_cast<size_t>(reply.names_size()), parts.size());
    for (int i = 0; i < reply.names_size(); ++i) {
      const sched::ScorePart& part = parts[static_cast<size_t>(i)];
      EXPECT_EQ(reply.names(i), part.name);
      EXPECT_DOUBLE_EQ(job.factors(i), part.factor);
      EXPECT_DOUBLE_EQ(reply.weights(i), part.weight);
    }
  }
  EXPECT_EQ(reply.jobs(0).id(), heavy.value);
  EXPECT_EQ(reply.jobs(0).priority(), 500) << "alone it has had all there is: 1000 * 2^-1";
  EXPECT_EQ(reply.jobs(1).priority(), 1000);
  wire::ApiRequest list;
  list.mutable_list_jobs()->mutable_filter()->add_ids(light.value);
  EXPECT_EQ(w.ask(1000, list).list_jobs().jobs(0).status().waiting().priority(), 1000) << "gqueue shows the same";
}

TEST(Priorities, OfNamedJobsAndHeldOnes) {
  OneNode w(multifactor());
  w.begin(1000, 8);
  const JobId one = w.submit(1000, gang(1)), two = w.submit(1000, gang(1));
  wire::ApiRequest hold;
  hold.mutable_job_action()->set_action(wire::kHold);
  hold.mutable_job_action()->add_ids(two.value);
  w.ask(1000, hold);
  auto reply = w.priorities({one, two, JobId(99)});
  ASSERT_EQ(reply.jobs_size(), 1) << "a job that is held is not in line";
  EXPECT_EQ(reply.jobs(0).id(), one.value);
  ASSERT_EQ(reply.unknown_ids_size(), 1);
  EXPECT_EQ(reply.unknown_ids(0), 99U);
}

TEST(Priorities, WithoutPartsItIsTheSubmittedOne) {
  OneNode w({});
  w.begin(1000, 8);
  const JobId id = w.submit(1000, gang(1));
  wire::ApiRequest update;
  update.mutable_update_job()->add_ids(id.value);
  update.mutable_update_job()->set_priority(7);
  w.ask(0, update);
  const auto reply = w.priorities();
  EXPECT_EQ(reply.order(), "fifo_skip");
  EXPECT_EQ(reply.names_size(), 0);
  ASSERT_EQ(reply.jobs_size(), 1);
  EXPECT_EQ(reply.jobs(0).priority(), 7);
}

}  // namespace
}  // namespace gw::ctld
