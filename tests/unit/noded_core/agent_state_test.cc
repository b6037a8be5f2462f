// What a node remembers of the controller's state, and runs of two states that have one number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent_script.h"

namespace gw::noded {
namespace {

using testing::AgentScript;

const wire::Register& registration(const Effects& effects) {
  for (const Effect& e : effects)
    if (const auto* sent = std::get_if<SendToController>(&e); sent != nullptr && sent->message.has_register_node())
      return sent->message.register_node();
  static const wire::Register kNone;
  return kNone;
}

AgentScript linked(const std::string& state, uint64_t commit) {
  AgentScript s;
  s.state = state;
  s.commit = commit;
  s("start");
  s("up");
  s("registered");
  return s;
}

TEST(AgentState, KeepsWhatItIsToldAndSaysItWhenItRegisters) {
  AgentScript s;
  s.state = "A";
  s.commit = 7;
  s("start");
  EXPECT_FALSE(registration(s.play("up")).has_seen()) << "a node that knows no state";
  EXPECT_EQ(s("registered"), "keep A/A1 7");
  s("prepare 5.1 go state=A");
  s("user 5.1");
  s("down");
  s("wait 11");
  const Effects again = s.play("up");
  EXPECT_EQ(registration(again).seen().root(), "A");
  EXPECT_EQ(registration(again).seen().commit(), 7U);
  EXPECT_EQ(registration(again).runs(0).placed_in().root(), "A");
  EXPECT_EQ(s("registered 5.1"), "") << "the same start of the controller";
}

TEST(AgentState, OfAGangItSaysWhoseScriptItIs) {
  for (const auto& [gang, first] : {std::pair("n0", ""), std::pair("n0,n1", ""), std::pair("x7,n0", "x7")}) {
    AgentScript s = linked("A", 1);
    s(std::string("prepare 5.1 state=A nodes=") + gang);
    s("user 5.1");
    s("down");
    s("wait 11");
    EXPECT_EQ(registration(s.play("up")).runs(0).first_node(), first);
  }
}

TEST(AgentState, WritesWhatGoesOnNotMoreThanOnceAMinute) {
  AgentScript s = linked("A", 1);
  wire::ControllerToNode beat;
  beat.mutable_heartbeat();
  int kept = 0;
  for (int i = 0; i < 180; ++i) {
    s.pass(base::seconds(1));
    beat.set_commit(static_cast<uint64_t>(2 + i));
    for (const Effect& e : s.agent.on_controller(s.now, beat)) kept += std::holds_alternative<KeepMark>(e);
  }
  EXPECT_GE(kept, 2);
  EXPECT_LE(kept, 3);
}

TEST(AgentState, ADaemonThatStartsAgainKnowsWhatItsRunsKnow) {
  AgentConfig config = AgentScript::config();
  config.seen.set_root("A");
  config.seen.set_incarnation("A1");
  config.seen.set_commit(5);
  NodeAgent agent(config);
  RecoveredRun run;
  run.record.set_job(5);
  run.record.set_attempt(1);
  run.record.set_boot_id("boot-1");
  run.record.mutable_placed_in()->set_root("A");
  run.record.mutable_placed_in()->set_incarnation("A1");
  run.record.mutable_placed_in()->set_commit(9);
  static_cast<void>(agent.on_recovered(base::Time{1}, {run}));
  const Effects up = agent.on_link_up(base::Time{2});
  EXPECT_EQ(registration(up).seen().commit(), 9U);
  EXPECT_EQ(registration(up).runs(0).placed_in().commit(), 9U);
}

TEST(AgentState, ARunOfAnotherStateKeepsItsNumber) {
  AgentScript s = linked("A", 1);
  s("prepare 5.1 go state=A");
  s("user 5.1");
  s("connected 5.1");
  s("started 5.1");
  s("down");
  s("wait 11");
  s.state = "B";
  s("up");
  EXPECT_EQ(s("registered 5.1"), "keep B/B1 1; > started 5.1");
  for (const char* order : {"prepare 5.1 go state=B", "prepare 5.2 go state=B"})
    EXPECT_THAT(s(order), ::testing::HasSubstr("run 5.1 of another state of the controller is here) node")) << order;
  EXPECT_TRUE(s.agent.runs().contains({5, 1, 0}));
}

TEST(AgentState, TheGraveOfAnotherStatesRunIsNotTheJobs) {
  AgentScript s = linked("A", 1);
  s("prepare 5.1 go state=A");
  s("stop 5.1");
  s("ack-done 5.1");
  EXPECT_EQ(s("prepare 5.1 go state=A"), "") << "late";
  s("down");
  s("wait 11");
  s.state = "B";
  s("up");
  s("registered");
  EXPECT_EQ(s("prepare 5.1 go state=B"), "lookup 5.1");
}

TEST(AgentState, GravesAreVoidForAControllerThatIsBehind) {
  AgentScript s = linked("A", 1);
  s("prepare 5.3 go state=A");
  s("stop 5.3");
  s("ack-done 5.3");
  s("down");
  s("wait 11");
  s.is_behind = true;
  s("up");
  s("registered");
  EXPECT_EQ(s("prepare 5.2 go state=A"), "lookup 5.2");
}

}  // namespace
}  // namespace gw::noded
