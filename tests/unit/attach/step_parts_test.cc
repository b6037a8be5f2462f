// The machines of a step's client that need no session: the connection as the user hears of it, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "attach/step/node_contact.h"
#include "attach/step/step_verdict.h"

namespace gw::attach {
namespace {

using testing::ElementsAre;

constexpr base::Duration kLimit = base::seconds(100);

struct Contact {
  io::Loop loop;
  std::vector<std::string> said;
  NodeContact contact{loop, "n1", base::milliseconds(1), [this](const std::string& text) { said.push_back(text); }};

  void wait_for_words(size_t count) {
    EXPECT_TRUE(loop.run_until([&] { return said.size() >= count; }, kLimit));
  }
  /// Until a timer that was set now would have fired.
  void pass() {
    bool has_passed = false;
    const io::Timer timer = loop.after(base::milliseconds(2), [&] { has_passed = true; });
    EXPECT_TRUE(loop.run_until([&] { return has_passed; }, kLimit));
  }
};

TEST(NodeContact, AConnectionThatIsSoonBackIsNotSpokenOf) {
  Contact c;
  c.contact.on_connected();
  c.contact.on_lost("reset", true);
  c.contact.on_connected();
  c.pass();
  EXPECT_THAT(c.said, ElementsAre());
}

TEST(NodeContact, ALossIsToldWithItsLastReasonAndSoIsTheReturn) {
  Contact c;
  c.contact.on_connected();
  c.contact.on_lost("reset", true);
  c.contact.on_lost("refused", true);
  c.wait_for_words(1);
  c.contact.on_lost("refused", true);
  c.contact.on_connected();
  c.pass();
  EXPECT_THAT(c.said, ElementsAre("lost the connection to n1: refused; trying again", "connected to n1 again"));
}

TEST(NodeContact, TheFirstConnectionIsNotAReturn) {
  Contact c;
  c.contact.on_lost("refused", true);
  c.wait_for_words(1);
  c.contact.on_connected();
  EXPECT_THAT(c.said, ElementsAre("no connection yet to n1: refused; trying again", "connected to n1"));
}

TEST(NodeContact, NobodyMissesTheConnectionToANodeThatIsDone) {
  Contact c;
  c.contact.on_connected();
  c.contact.on_lost("over", false);
  c.contact.on_connected();
  c.contact.on_lost("reset", true);
  c.contact.on_session_over();
  c.pass();
  EXPECT_THAT(c.said, ElementsAre());
}

TaskTable table(const std::vector<std::pair<uint8_t, uint8_t>>& ends) {
  TaskTable tasks(std::vector<std::string>(ends.size(), "n0"));
  for (uint32_t rank = 0; rank < ends.size(); ++rank) tasks.on_ended(rank, ends[rank].first, ends[rank].second);
  return tasks;
}

TEST(StepVerdict, TheStrongestCauseGivesTheCode) {
  const TaskTable fine = table({{0, 0}}), killed = table({{3, 0}, {0, SIGKILL}});
  StepVerdict verdict;
  EXPECT_EQ(verdict.exit_code(fine), 0);
  EXPECT_EQ(verdict.exit_code(killed), 128 + SIGKILL);
  verdict.lose();
  EXPECT_EQ(verdict.exit_code(fine), 1);
  EXPECT_EQ(verdict.exit_code(killed), 128 + SIGKILL);
  verdict.mpi_failed(5);
  EXPECT_EQ(verdict.exit_code(fine), 5);
  EXPECT_EQ(verdict.exit_code(killed), 5) << "what was ended from here says nothing";
  EXPECT_FALSE(verdict.outweighs_tasks());
  verdict.own(141);
  verdict.not_started();
  EXPECT_EQ(verdict.exit_code(killed), 141);
  EXPECT_TRUE(verdict.outweighs_tasks() && verdict.has_lost() && !verdict.misses_ends());
}

TEST(StepVerdict, AStepThatDidNotStartHasAtLeastOne) {
  StepVerdict verdict;
  verdict.not_started();
  EXPECT_EQ(verdict.exit_code(table({{0, SIGTERM}})), 1);
  EXPECT_EQ(verdict.exit_code(table({{127, 0}, {0, SIGTERM}})), 127);
}

}  // namespace
}  // namespace gw::attach
