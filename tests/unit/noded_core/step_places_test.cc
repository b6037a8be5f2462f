// Running tasks go where no other step of their job has claimed cores, and are told so.
#include "noded/core/step_places.h"

#include <gtest/gtest.h>

#include "tests/unit/noded_core/agent_script.h"

namespace gw::noded::testing {
namespace {

/// Cores 0 to 3 are the job's.
AgentScript job_with_step(const std::string& words = "cores=0") {
  AgentScript script;
  for (const std::string line :
       {"start", "up", "registered", "prepare 7.1 go job=0-3", "user 7.1", "connected 7.1", "ready 7.1", "started 7.1"})
    script(line);
  EXPECT_EQ(script("step 7.1.s0 job=0-3 " + words), "lookup 7.1.s0");
  return script;
}

void start(AgentScript& script, const std::string& key) {
  for (const std::string verb : {"user ", "connected ", "ready ", "started "}) script(verb + key);
}

/// What the launch says of the tasks' places.
std::string launched(AgentScript& script, const std::string& key) {
  std::string text;
  for (const Effect& effect : script.play("user " + key))
    if (const auto* launch = std::get_if<LaunchShepherd>(&effect))
      for (const wire::TaskPlace& place : launch->spec.access().places()) text += place.cpus() + " ";
  return text;
}

TEST(StepPlaces, BeginOnAllThatIsFree) {
  AgentScript script = job_with_step("cores=0");
  EXPECT_EQ(launched(script, "7.1.s0"), "0-3 ");
  script("step 7.1.s1 job=0-3 cores=2-3 -c=1 tasks=2");
  EXPECT_EQ(launched(script, "7.1.s1"), "2 3 ") << "with -c on what was claimed";
  script("step 7.1.s2 job=0-3 cores=1");
  EXPECT_EQ(launched(script, "7.1.s2"), "1 ");
  script("step 7.1.s3 job=0-3 cores=0 overlap");
  EXPECT_EQ(launched(script, "7.1.s3"), "0-3 ");
}

TEST(StepPlaces, ShrinkAndGrowAsOthersComeAndGo) {
  AgentScript script = job_with_step();
  start(script, "7.1.s0");
  EXPECT_EQ(script("wait 2"), "") << "nothing has changed";
  script("wait 1");  // what was looked at may be looked at again
  EXPECT_EQ(script("step 7.1.s1 job=0-3 cores=2-3 -c=1"), "lookup 7.1.s1; 7.1.s0 < places 0-1");
  start(script, "7.1.s1");
  EXPECT_EQ(script("wait 2"), "");
  script("wait 1");
  EXPECT_EQ(script("clean 7.1.s1"), "> done 7.1.s1; 7.1.s0 < places 0-3");
}

TEST(StepPlaces, ChangesInQuickSuccessionAreToldOnce) {
  AgentScript script = job_with_step();
  start(script, "7.1.s0");
  EXPECT_EQ(script("step 7.1.s1 job=0-3 cores=3"), "lookup 7.1.s1") << "less than a second after the first";
  EXPECT_EQ(script("step 7.1.s2 job=0-3 cores=2"), "lookup 7.1.s2");
  EXPECT_LE(script.agent.next_wakeup(), script.now + StepPlaces::kPause);
  EXPECT_EQ(script("wait 1"), "7.1.s0 < places 0-1");
  EXPECT_EQ(script("wait 1"), "");
}

TEST(StepPlaces, WhoIsOutOfTouchIsToldWhenItIsBack) {
  AgentScript script = job_with_step();
  start(script, "7.1.s0");
  script("wait 2");
  script("lost 7.1.s0");
  EXPECT_EQ(script("step 7.1.s1 job=0-3 cores=3 -c=1"), "lookup 7.1.s1");
  script("wait 2");
  script("wait 1");
  EXPECT_EQ(script("connected 7.1.s0"), "7.1.s0 < places 0-2");
}

TEST(StepPlaces, OverlappingStepsAreInNobodysWay) {
  AgentScript script = job_with_step();
  start(script, "7.1.s0");
  script("wait 2");
  EXPECT_EQ(script("step 7.1.s1 job=0-3 cores=0-3 overlap"), "lookup 7.1.s1");
}

wire::RunRecord record_of(const std::string& key, const std::string& cores) {
  const RunKey run = parse_key(key);
  wire::RunRecord record;
  record.set_job(run.job);
  record.set_attempt(run.attempt);
  record.set_step(run.step);
  record.set_boot_id("boot-1");
  record.set_has_script(true);
  record.set_go(true);
  if (cores.empty()) return record;
  *record.mutable_claim()->mutable_share() = test_share("n0");
  record.mutable_claim()->mutable_share()->set_cores(cores);
  record.mutable_claim()->set_job_cores("0-3");
  return record;
}

TEST(StepPlaces, HoldOverARestartOfTheDaemon) {
  AgentScript script;
  const auto found = [](const std::string& key, const std::string& cores) {
    return RecoveredRun{record_of(key, cores), true, true, std::nullopt};
  };
  (void)script.agent.on_recovered(
      script.now, {found("7.1", ""), found("7.1.s0", "0"), found("7.1.s1", "3"), found("8.1", ""), found("8.1.s0", "0"),
                   found("8.1.s1", ""), found("9.1", ""), found("9.1.s0", "4")});
  EXPECT_EQ(script("connected 7.1.s0"), "7.1.s0 < places 0-2") << "what it knows is not known";
  EXPECT_EQ(script("connected 8.1.s0"), "8.1.s0 < places 0") << "what another one has claimed is not known";
  EXPECT_EQ(script("connected 9.1.s0"), "") << "the machine had more cores then";
}

}  // namespace
}  // namespace gw::noded::testing
