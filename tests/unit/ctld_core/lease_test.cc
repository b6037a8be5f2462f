// Leases and contracts: what was settled for a run at its placement holds for all of its life, by a clock of its own,
// and a lease that runs out is a failure of the node.
#include <gtest/gtest.h>

#include "ctld/core/rows/contract.h"
#include "ctld/core/tables/lease_watch.h"
#include "step_world.h"

namespace gw::ctld {
namespace {

using model::EndReason;
using model::JobState;
using testing::gang;
using testing::StepWorld;
using testing::with_lease;
using testing::World;
using ToNodeKind = wire::ControllerToNode;

struct LeasedGang : World {
  JobId id;
  explicit LeasedGang(uint32_t nodes, bool requeue = true) : World(nodes, with_lease(base::hours(1))) {
    connect_all();
    wire::ApiRequest r = submission(gang(nodes));
    r.mutable_submit()->mutable_spec()->set_requeue(requeue);
    id = JobId(ask(1000, r).submit().job_id());
    schedule();
  }
  void run() {
    for (const auto& share : job(id).placed()->allocation.shares) prepared(share.name, id);
    if (state(id) == JobState::kConfiguring) started("n0", id);
    ASSERT_EQ(state(id), JobState::kRunning);
  }
  void reload(Settings changed) {
    core->on_reconfigured(now, std::move(changed), {}, {}, {});
    pump();
  }
  /// Everything that a contract holds is another one from now on.
  void change_settings() {
    Settings changed = settings;
    changed.partitions[0].lease = base::minutes(1);
    changed.kill_wait = base::seconds(3);
    changed.heartbeat = base::seconds(1);
    changed.allow_root_jobs = true;
    reload(changed);
  }
  void lease_exit(const std::string& node) {
    wire::NodeToController m;
    m.mutable_batch_exited()->set_job(id.value);
    m.mutable_batch_exited()->set_attempt(job(id).attempt);
    m.mutable_batch_exited()->set_exit_signo(9);
    m.mutable_batch_exited()->set_reason(static_cast<uint32_t>(EndReason::kLeaseExpired));
    m.mutable_batch_exited()->set_detail("the node heard nothing for 3600 s");
    say(node, m);
  }
};

TEST(Contract, MarginCoversSlewedClocksHeartbeatsAndTheKill) {
  Settings s = with_lease(base::minutes(100));
  s.heartbeat = base::seconds(7);
  s.kill_wait = base::seconds(11);
  const model::Contract c = contract_for(s, &s.partitions[0]);
  EXPECT_EQ(c.over_after(), base::minutes(100) + base::minutes(20) + base::seconds(14 + 11));
  EXPECT_FALSE(contract_for(s, nullptr).has_lease());
  const model::Contract old = contract_of_earlier_version(s, base::seconds(110));
  EXPECT_EQ(old.lease, base::seconds(85));
  EXPECT_EQ(old.over_after(), base::seconds(110));
  EXPECT_GT(contract_of_earlier_version(s, base::seconds(10)).lease.us, 0) << "the heartbeat was raised since";
}

TEST(Contract, OrdersAreMadeFromItAndNotFromPresentSettings) {
  LeasedGang w(2);
  w.change_settings();
  w.cut("n0");
  w.connect("n0");  // it has not got the order: it is told again
  const wire::Prepare p = w.last("n0", ToNodeKind::kPrepare)->prepare();
  EXPECT_EQ(p.lease_us(), base::hours(1).us);
  EXPECT_EQ(p.grace_us(), base::seconds(30).us);
  EXPECT_FALSE(p.allow_root());
  w.run();
  w.cancel(1000, w.id);
  EXPECT_EQ(w.last("n0", ToNodeKind::kStop)->stop().grace_us(), base::seconds(30).us);
}

TEST(Contract, IsRestored) {
  LeasedGang w(2);
  const model::Contract before = w.job(w.id).placed()->contract;
  ASSERT_EQ(before.lease, base::hours(1));
  w.settings.partitions[0].lease = base::minutes(1);
  w.settings.kill_wait = base::seconds(3);
  w.restart();
  EXPECT_EQ(w.job(w.id).placed()->contract, before);
  w.connect("n0");
  EXPECT_EQ(w.last("n0", ToNodeKind::kPrepare)->prepare().lease_us(), base::hours(1).us);
}

TEST(Contract, OfARunThatAVersionWithoutContractsPlaced) {
  LeasedGang w(1);
  w.run();
  store::JobRow& row = w.store.jobs.at(w.id);
  wire::JobStatus status;
  ASSERT_TRUE(status.ParseFromString(row.status));
  status.mutable_placed()->clear_contract();
  status.mutable_placed()->set_lease_over_us(base::seconds(3650).us);
  row.status = status.SerializeAsString();
  w.restart();
  EXPECT_EQ(w.job(w.id).placed()->contract.over_after(), base::seconds(3650));
  w.tick(base::seconds(3649));
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.tick(base::seconds(2));
  EXPECT_EQ(w.state(w.id), JobState::kPending);
}

TEST(Contract, OfStepsIsThatOfTheirJob) {
  StepWorld w(1);
  w.run();
  Settings changed = w.settings;
  changed.kill_wait = base::seconds(3);
  changed.allow_root_jobs = true;
  w.core->on_reconfigured(w.now, changed, {}, {}, {});
  w.pump();
  w.begin('a', 1);
  EXPECT_EQ(w.last("n0", ToNodeKind::kStartStep)->start_step().job().grace_us(), base::seconds(30).us);
  EXPECT_FALSE(w.last("n0", ToNodeKind::kStartStep)->start_step().job().allow_root());
  wire::ApiRequest end;
  end.mutable_signal_step()->set_job_id(w.id.value);
  w.ask(testing::kAlice, end);
  EXPECT_EQ(w.last("n0", ToNodeKind::kStop)->stop().grace_us(), base::seconds(30).us);
}

TEST(Lease, TheTimeOfDayIsNotWhatItCountsBy) {
  LeasedGang w(1);
  w.run();
  w.cut("n0");
  w.now = w.now + base::hours(9);  // somebody has set the clock
  w.core->on_tick(w.now);
  w.pump();
  EXPECT_EQ(w.state(w.id), JobState::kRunning);
  w.core->set_lease_clock(w.boot_now());
  w.now = w.now + base::hours(2);  // the timer was set anew for what is left
  w.core->on_tick(w.now);
  w.pump();
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  EXPECT_NE(w.job(w.id).last_failure.find("the lease is over on n0"), std::string::npos) << w.job(w.id).last_failure;
}

TEST(Lease, CountsFromTheStartOfAControllerThatWasAway) {
  LeaseWatch watch;
  model::Contract c;
  c.lease = base::seconds(10);
  watch.turn({base::hours(5).us});
  watch.begin();
  EXPECT_EQ(watch.left(NodeId(1), c), base::seconds(10));
  watch.turn({(base::hours(5) + base::seconds(4)).us});
  watch.lost(NodeId(2));
  EXPECT_EQ(watch.left(NodeId(1), c), base::seconds(6));
  EXPECT_EQ(watch.left(NodeId(2), c), base::seconds(10));
  watch.back(NodeId(2));
}

TEST(Lease, ThatRanOutWhileTheControllerWasAwayIsAFailureOfTheNode) {
  LeasedGang w(1);
  w.run();
  w.restart();
  w.connect("n0", {World::run(w.id, 1, wire::kRunDone)});
  w.lease_exit("n0");
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  EXPECT_EQ(w.job(w.id).restarts, 1U);
  EXPECT_EQ(w.job(w.id).launch_failures, 0U);
  EXPECT_NE(w.job(w.id).last_failure.find("the lease is over on n0: the node heard nothing"), std::string::npos);
}

TEST(Lease, EndsAJobThatMayNotRunAgainAsNodeFail) {
  LeasedGang w(1, false);
  w.run();
  w.lease_exit("n0");
  w.done("n0", w.id);
  ASSERT_EQ(w.state(w.id), JobState::kNodeFail);
  const model::Outcome& outcome = w.job(w.id).ended()->outcome;
  EXPECT_EQ(outcome.reason, EndReason::kLeaseExpired);
  EXPECT_EQ(outcome.exit, model::ExitStatus{});
}

TEST(Lease, OfAGangThatHadNotBegunIsNoFailedLaunch) {
  LeasedGang w(2);
  w.prepared("n0", w.id);
  w.lease_exit("n0");
  w.done("n0", w.id);
  w.done("n1", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kPending);
  EXPECT_EQ(w.job(w.id).launch_failures, 0U);
  EXPECT_EQ(w.job(w.id).waiting()->not_before, Time{}) << "no back-off";
}

TEST(Lease, OfAnotherNodeOfTheGang) {
  LeasedGang w(2);
  w.run();
  wire::NodeToController m;
  m.mutable_done()->set_job(w.id.value);
  m.mutable_done()->set_attempt(1);
  m.mutable_done()->set_lease_expired(true);
  w.say("n1", m);
  ASSERT_EQ(w.state(w.id), JobState::kCompleting);
  EXPECT_EQ(w.job(w.id).placed()->outcome->reason, EndReason::kLeaseExpired);
  w.done("n0", w.id);
  EXPECT_EQ(w.state(w.id), JobState::kPending);
}

TEST(Lease, OfTheStepThatAJobIsThereFor) {
  StepWorld w(1, model::JobKind::kStep, 1, 'a');
  w.run();
  wire::NodeToController m;
  m.mutable_batch_exited()->set_job(w.id.value);
  m.mutable_batch_exited()->set_attempt(1);
  m.mutable_batch_exited()->set_step(1);
  m.mutable_batch_exited()->set_exit_signo(9);
  m.mutable_batch_exited()->set_reason(static_cast<uint32_t>(EndReason::kLeaseExpired));
  w.ready("n0", 0);
  w.say("n0", m);
  w.step_gone("n0", 0);
  w.done("n0", w.id);
  ASSERT_EQ(w.state(w.id), JobState::kNodeFail);
  EXPECT_EQ(w.job(w.id).ended()->outcome.reason, EndReason::kLeaseExpired);
}

}  // namespace
}  // namespace gw::ctld
