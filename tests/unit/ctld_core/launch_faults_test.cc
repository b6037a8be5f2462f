// Launches that fail: whose fault it was, where the job goes then, and what becomes of the node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctld_core/world.h"

namespace gw::ctld::testing {
namespace {

using model::JobState;
using model::NodeAdmin;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Faults : public World {
 public:
  explicit Faults(uint32_t nodes, Settings base = {}) : World(nodes, std::move(base)) { connect_all(); }

  std::string node_of(JobId id) const { return job(id).placed()->allocation.node_names().front(); }
  const model::Node& node(const std::string& name) const {
    for (const auto& [id, node] : core->nodes())
      if (node.config.name == name) return node;
    throw std::out_of_range(name);
  }
  /// The first node of the job cannot launch it.
  void fail(JobId id, bool is_of_node = true, model::EndReason reason = model::EndReason::kLaunchFailed) {
    wire::NodeToController m;
    m.mutable_prepare_failed()->set_job(id.value);
    m.mutable_prepare_failed()->set_attempt(job(id).attempt);
    m.mutable_prepare_failed()->set_node_fault(is_of_node);
    m.mutable_prepare_failed()->set_reason(static_cast<uint32_t>(reason));
    m.mutable_prepare_failed()->set_detail("cgroup: no space left");
    say(node_of(id), m);
  }
  /// Its shepherd dies before the node has said that it started.
  void lose_shepherd(JobId id) {
    wire::NodeToController m;
    m.mutable_batch_exited()->set_job(id.value);
    m.mutable_batch_exited()->set_attempt(job(id).attempt);
    m.mutable_batch_exited()->set_reason(static_cast<uint32_t>(model::EndReason::kShepherdDied));
    m.mutable_batch_exited()->set_detail("gstepd was killed");
    const std::string where = node_of(id);
    say(where, m);
    done(where, id);
  }
  JobId enter(uint32_t uid = 1000) {
    const JobId id = submit(uid, gang(1, 1));
    schedule();
    return id;
  }
};

TEST(LaunchFaults, ThreeDifferentJobsInARowDrainTheNodeAndGoElsewhereUncharged) {
  Faults w(2);
  const std::vector<JobId> ids = {w.enter(), w.enter(), w.enter()};
  for (JobId id : ids) {
    ASSERT_EQ(w.node_of(id), "n0") << "the fullest node, or the first";
    EXPECT_EQ(w.node("n0").admin, NodeAdmin::kUp);
    w.fail(id);
  }
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kDrain);
  EXPECT_THAT(w.node("n0").reason, HasSubstr("launches of 3 jobs in a row failed here, the last: cgroup: no space"));
  w.schedule();
  for (JobId id : ids) {
    ASSERT_EQ(w.state(id), JobState::kConfiguring) << "at once, without a back-off";
    EXPECT_EQ(w.node_of(id), "n1");
    EXPECT_EQ(w.job(id).launch_failures, 0U);
    EXPECT_EQ(w.job(id).restarts, 0U);
  }
  w.started("n1", ids[0]);
  EXPECT_THAT(w.job(ids[0]).shuns, IsEmpty());
}

/// The node's program has failed for the job.
void unfit(Faults& w, const std::string& node, JobId id, bool by_prolog) {
  wire::NodeToController m;
  m.mutable_unfit()->set_job(id.value);
  m.mutable_unfit()->set_attempt(w.core->jobs().contains(id) ? w.job(id).attempt : 1);
  m.mutable_unfit()->set_by_prolog(by_prolog);
  m.mutable_unfit()->set_why("it is broken");
  w.say(node, m);
}

TEST(LaunchFaults, APrologThatFailsDrainsTheNodeAtOnceAndTheJobGoesElsewhereUncharged) {
  Faults w(2);
  const JobId id = w.enter();
  ASSERT_EQ(w.node_of(id), "n0");
  unfit(w, "n0", id, true);
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kDrain) << "while its epilog still runs";
  EXPECT_EQ(w.node("n0").reason, "job 1: it is broken");
  EXPECT_EQ(w.node("n0").reason_user, "gctld");
  w.fail(id, true, model::EndReason::kPrologFailed);
  w.schedule();
  ASSERT_EQ(w.state(id), JobState::kConfiguring);
  EXPECT_EQ(w.node_of(id), "n1");
  EXPECT_EQ(w.job(id).launch_failures, 0U);
}

TEST(LaunchFaults, AJobWhosePrologFailsEverywhereIsAtFaultItselfAndHeld) {
  Faults w(6);
  const JobId id = w.enter();
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(w.state(id), JobState::kConfiguring) << i;
    unfit(w, w.node_of(id), id, true);
    w.fail(id, true, model::EndReason::kPrologFailed);
    w.schedule();
  }
  EXPECT_EQ(w.state(id), JobState::kPending);
  EXPECT_TRUE(w.job(id).spec.hold_admin);
  int drained = 0;
  for (const auto& [_, node] : w.core->nodes()) drained += node.admin == NodeAdmin::kDrain ? 1 : 0;
  EXPECT_EQ(drained, 3);
}

TEST(LaunchFaults, AnEpilogThatFailsDrainsTheNodeAndTheJobHasEndedAsItHad) {
  Faults w(2);
  const JobId id = w.enter();
  w.started("n0", id);
  unfit(w, "n0", id, false);
  EXPECT_EQ(w.state(id), JobState::kRunning);
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kDrain);
  EXPECT_EQ(w.node("n0").reason, "job 1: it is broken");
}

TEST(LaunchFaults, WhatAPrologSaidOfItsJobIsKeptOverARestart) {
  Faults w(6);
  const JobId id = w.enter();
  const std::string node = w.node_of(id);
  unfit(w, node, id, true);
  w.restart();
  EXPECT_THAT(w.job(id).shuns, ElementsAre(node));
}

TEST(LaunchFaults, ANodeThatDoesNotHaveTheJobSaysNothingOfIt) {
  Faults w(2);
  const JobId id = w.enter();
  unfit(w, "n1", id, true);
  EXPECT_EQ(w.node("n1").admin, NodeAdmin::kDrain);
  EXPECT_THAT(w.job(id).shuns, IsEmpty());
}

TEST(LaunchFaults, ANodeIsDrainedForAJobThatNobodyKnowsAnyMore) {
  Faults w(2);
  unfit(w, "n1", JobId(77), true);
  EXPECT_EQ(w.node("n1").admin, NodeAdmin::kDrain);
}

TEST(LaunchFaults, ARestartOfTheNodeDaemonInThePrologBlamesNobody) {
  Faults w(2);
  for (int i = 0; i < 4; ++i) {
    const JobId id = w.enter();
    w.fail(id, true, model::EndReason::kNodeDown);
    EXPECT_THAT(w.job(id).shuns, IsEmpty());
    EXPECT_EQ(w.state(id), JobState::kPending);
  }
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kUp);
}

TEST(LaunchFaults, OneJobAloneDrainsNothing) {
  Faults w(2);
  const JobId id = w.enter();
  w.fail(id);
  w.schedule();
  EXPECT_EQ(w.node_of(id), "n1");
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kUp);
}

TEST(LaunchFaults, ASuccessBetweenThemBeginsTheCountAnew) {
  Faults w(2);
  const JobId first = w.enter(), second = w.enter(), good = w.enter(), last = w.enter();
  w.fail(first);
  w.fail(second);
  w.started("n0", good);
  ASSERT_EQ(w.node_of(last), "n0");
  w.fail(last);
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kUp);
}

TEST(LaunchFaults, WhatOnlyTheOwnerCanMendBlamesNobody) {
  for (const model::EndReason reason : {model::EndReason::kWorkDir, model::EndReason::kOutputPath,
                                        model::EndReason::kUnknownUser, model::EndReason::kLaunchFailed}) {
    Faults w(1);
    for (int i = 0; i < 4; ++i) {
      const JobId id = w.enter();
      w.fail(id, false, reason);
      EXPECT_EQ(w.state(id), JobState::kFailed);
    }
    EXPECT_EQ(w.node("n0").admin, NodeAdmin::kUp);
  }
}

TEST(LaunchFaults, AJobThatFailsWhereverItGoesIsItselfSuspect) {
  Faults w(6);
  const JobId id = w.enter();
  for (int i = 0; i < 3; ++i) {
    w.fail(id);
    w.schedule();
    ASSERT_EQ(w.state(id), JobState::kConfiguring);
  }
  EXPECT_THAT(w.job(id).shuns, ElementsAre("n0", "n1", "n2"));
  w.fail(id);
  EXPECT_EQ(w.job(id).launch_failures, 1U);
  EXPECT_EQ(w.job(id).waiting()->reason, model::WaitReason::kLaunchBackoff);
  EXPECT_THAT(w.job(id).shuns, IsEmpty());
}

TEST(LaunchFaults, OneWithNowhereElseToGoIsChargedAndHeldInTheEnd) {
  Settings settings;
  settings.max_launch_failures = 2;
  Faults w(1, settings);
  const JobId id = w.enter();
  w.fail(id);
  EXPECT_EQ(w.job(id).launch_failures, 1U);
  w.tick(base::seconds(6));
  w.fail(id);
  EXPECT_TRUE(w.job(id).is_held());
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kUp) << "one job is no evidence";
}

TEST(LaunchFaults, AShepherdThatDiesBeforeTheStartIsTheNodesFault) {
  Faults w(2);
  const std::vector<JobId> ids = {w.enter(), w.enter(), w.enter()};
  for (JobId id : ids) {
    ASSERT_EQ(w.node_of(id), "n0");
    w.lose_shepherd(id);
    EXPECT_EQ(w.state(id), JobState::kPending);
  }
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kDrain);
}

TEST(LaunchFaults, AJobThatMayNotRunTwiceEndsWithItsShepherd) {
  Faults w(2);
  wire::ApiRequest request = World::submission(gang(1, 1));
  request.mutable_submit()->mutable_spec()->set_requeue(false);
  const JobId id(w.ask(1000, request).submit().job_id());
  w.schedule();
  w.lose_shepherd(id);
  EXPECT_EQ(w.state(id), JobState::kNodeFail);
}

TEST(LaunchFaults, NoneDrainANodeWhereTheNumberIsZero) {
  Settings settings;
  settings.node_launch_failures = 0;
  Faults w(2, settings);
  std::vector<JobId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(w.enter());
  for (JobId id : ids) w.fail(id);
  EXPECT_EQ(w.node("n0").admin, NodeAdmin::kUp);
}

TEST(LaunchFaults, ANodeIsShunnedOverARestartAndNotForEver) {
  Faults w(2);
  const JobId id = w.enter();
  w.fail(id);
  w.restart();
  EXPECT_THAT(w.job(id).shuns, ElementsAre("n0"));
  w.connect("n0");
  w.schedule();
  EXPECT_EQ(w.state(id), JobState::kPending) << "n1 is not back yet";
  w.tick(base::minutes(11));
  w.connect("n0");  // it was silent for too long
  w.schedule();
  ASSERT_EQ(w.state(id), JobState::kConfiguring);
  EXPECT_EQ(w.node_of(id), "n0");
}

}  // namespace
}  // namespace gw::ctld::testing
