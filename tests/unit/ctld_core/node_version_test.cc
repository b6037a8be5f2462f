// Node daemons of an earlier version: what they do not understand waits for others.
#include <gtest/gtest.h>

#include "world.h"

namespace gw::ctld {
namespace {

using testing::gang;
using testing::World;

constexpr auto kOld = static_cast<uint32_t>(model::BlockerKind::kOldNodeDaemon);

/// Nodes that are ruled out by their version.
uint32_t too_old(World& w, JobId id) {
  wire::ApiRequest r;
  r.mutable_show_job()->set_id(id.value);
  const wire::ApiReply reply = w.ask(1000, r);
  for (const wire::Blocker& b : reply.show_job().job().status().waiting().blockers())
    if (b.kind() == kOld) return b.nodes();
  return 0;
}

TEST(NodeVersion, AJobThatNoNodeDaemonUnderstandsWaitsForOneThatDoes) {
  World w(3);
  w.daemon_version = "0.0.9";
  w.connect("n0");
  w.connect("n1");
  const JobId id = w.submit(1000, gang(1));
  ASSERT_TRUE(id) << w.last_error;
  w.schedule();
  EXPECT_EQ(w.state(id), model::JobState::kPending);
  EXPECT_EQ(too_old(w, id), 2U);
  w.daemon_version = "0.1.0";
  w.connect("n2");
  w.schedule();
  ASSERT_EQ(w.state(id), model::JobState::kConfiguring);
  EXPECT_EQ(w.job(id).placed()->allocation.shares.front().name, "n2");
}

TEST(NodeVersion, AnUpgradeOfTheDaemonIsNoticed) {
  World w(1);
  w.daemon_version = "0.0.9";
  w.connect("n0");
  const JobId id = w.submit(1000, gang(1));
  w.schedule();
  EXPECT_EQ(too_old(w, id), 1U);
  w.cut("n0");
  w.schedule();
  w.daemon_version = "0.1.0";
  w.connect("n0");
  w.schedule();
  EXPECT_EQ(w.state(id), model::JobState::kConfiguring);
  EXPECT_EQ(too_old(w, id), 0U);
}

}  // namespace
}  // namespace gw::ctld
