// Machines of the node agent by themselves, over a state that the test makes.
#include <gtest/gtest.h>

#include <memory>

#include "noded/core/core.h"
#include "noded/core/link.h"
#include "noded/core/reports.h"
#include "noded/core/run_start.h"
#include "tests/unit/noded_core/agent_script.h"

namespace gw::noded {
namespace {

using testing::AgentScript;
using testing::describe;

struct Machines : ::testing::Test {
  Machines() : core(AgentScript::config()) { core.now = {1'000'000'000}; }

  auto& add_run(RunKey key) {
    wire::RunRecord record;
    record.set_job(key.job);
    record.set_attempt(key.attempt);
    record.set_step(key.step);
    record.set_has_script(true);
    return core.runs.add(record);
  }
  std::string effects() { return describe(core.out.take()); }

  Core core;
};

TEST_F(Machines, NothingIsSentBeforeTheNodeIsRegistered) {
  wire::NodeToController beat, registration;
  beat.mutable_heartbeat();
  registration.mutable_register_node();
  core.link.dialed();
  send(core, registration);
  EXPECT_EQ(effects(), "") << "there is no link";
  core.link.opened(core.now);
  send(core, beat);
  send(core, registration);
  EXPECT_EQ(effects(), "> register");
  core.link.registered(base::seconds(10), base::seconds(60));
  EXPECT_EQ(core.link.beat_due(), core.now + base::seconds(10)) << "a registration counts as a beat";
  send(core, beat);
  EXPECT_EQ(effects(), "> beat");
}

TEST_F(Machines, TheLinkIsDialedOnceNothingIsLeftOfAnEarlierBoot) {
  add_run({7, 1, 0}).is_stale = true;
  connect_once_clean(core);
  EXPECT_EQ(effects(), "");
  core.runs.remove({7, 1, 0});
  connect_once_clean(core);
  connect_once_clean(core);
  EXPECT_EQ(effects(), "connect");
}

TEST_F(Machines, ARunThatCannotBeginSaysWhyAndIsLeftToItsCaller) {
  auto& run = add_run({7, 1, 0});
  wire::Prepare order;
  *order.mutable_share() = testing::test_share("n0");
  order.mutable_spec()->set_uid(0);
  run.prepare = std::make_shared<const wire::Prepare>(order);
  EXPECT_FALSE(begin(core, run));
  ASSERT_TRUE(run.exit);
  EXPECT_TRUE(run.exit->never_started());
  EXPECT_FALSE(run.exit->node_fault()) << "the job's fault";
  EXPECT_EQ(effects(), "");
  EXPECT_NE(core.runs.find({7, 1, 0}), nullptr);

  run.exit.reset();
  order.set_allow_root(true);
  run.prepare = std::make_shared<const wire::Prepare>(order);
  EXPECT_TRUE(begin(core, run));
  EXPECT_EQ(effects(), "lookup 7.1");
}

TEST_F(Machines, TheEndIsSaidAgainUntilItIsAcknowledged) {
  auto& run = add_run({7, 1, 0});
  run.was_prepared = true;
  EXPECT_EQ(next_report(run), base::Time::never()) << "it has not ended";
  run.exit.emplace();
  core.link.dialed();
  core.link.opened(core.now);
  core.link.registered(base::seconds(10), base::seconds(60));
  report_exit(core, run);
  EXPECT_EQ(effects(), "> exited 7.1 0:0");
  EXPECT_EQ(next_report(run), core.now + base::seconds(5));
  run.reports.is_exit_acked = true;
  EXPECT_EQ(next_report(run), base::Time::never());
  run.stage = Stage::kClean;
  repeat_end(core, run);
  EXPECT_EQ(effects(), "> done 7.1") << "the exit is known";
  EXPECT_EQ(next_report(run), core.now + base::seconds(5));
}

}  // namespace
}  // namespace gw::noded
