// gangway top: what its screens show at 80x24, and what its keys do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/show/display.h"
#include "cmds/gangway/top/screen.h"
#include "model/job_state.h"

namespace gw::cmds::top {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr base::Time kNow{int64_t{1'800'000'000} * 1'000'000};

wire::Job& add_job(Known& known, uint32_t id, const std::string& user, model::JobState state) {
  wire::Job& job = *known.jobs.add_jobs();
  job.set_id(id);
  job.mutable_spec()->set_name("train" + std::to_string(id));
  job.mutable_spec()->set_user(user);
  job.mutable_spec()->set_qos("research");
  job.mutable_spec()->add_partitions("gpu");
  job.mutable_status()->set_state(static_cast<uint32_t>(state));
  if (state == model::JobState::kPending) job.mutable_status()->mutable_waiting();
  return job;
}

struct Top : ::testing::Test {
  Known known;
  Look look;
  Screen screen{known, Look{}, "alice"};

  Top() {
    known.ping.emplace().set_cluster("test");
    known.ping->set_nodes(2);
    known.ping->set_nodes_up(1);
    known.ping->set_running(1);
    known.ping->set_pending(2);
    known.jobs.set_now_us(kNow.us);
    known.jobs_of = "";
    add_job(known, 7, "alice", model::JobState::kPending);
    add_job(known, 8, "bob", model::JobState::kPending);
    add_job(known, 5, "bob", model::JobState::kRunning);
    known.version = 1;
  }
  std::string text(size_t columns = 80, size_t rows = 24) { return screen.draw(columns, rows, kNow).text(); }
  std::string line(size_t row, size_t columns = 80) { return base::split(text(columns), '\n').at(row); }
  /// The controller has said what the filter asks for.
  void answer() {
    known.jobs_of = screen.filter().text;
    ++known.version;
  }
  void type(const std::string& keys) {
    for (const char key : keys) screen.press(static_cast<unsigned char>(key));
  }
};

TEST_F(Top, ItsScreenIsAsLargeAsTheTerminal) {
  for (const auto& [columns, rows] : {std::pair<size_t, size_t>{80, 24}, {40, 10}, {200, 60}, {10, 3}, {1, 1}}) {
    const std::vector<std::string> lines = base::split(text(columns, rows), '\n');
    EXPECT_EQ(lines.size(), rows + 1);
    for (const std::string& one : lines) EXPECT_LE(client::display_width(one), columns) << one;
  }
  EXPECT_EQ(text(10, 3).substr(0, 5), "40x10");
}

TEST_F(Top, TheQueueHasThoseThatRunFirst) {
  EXPECT_THAT(line(0), HasSubstr("test  1 of 2 nodes up, 1 jobs run, 2 wait"));
  EXPECT_THAT(line(3), HasSubstr("JOBID"));
  EXPECT_THAT(line(4), HasSubstr("  5 "));
  EXPECT_THAT(line(5), HasSubstr("  7 "));
  EXPECT_EQ(screen.chosen_job(), 5u);
  EXPECT_THAT(text(), HasSubstr("train5 of bob, QOS research"));
}

TEST_F(Top, TheChosenOneStaysChosenWhileOthersCome) {
  text();
  EXPECT_EQ(screen.press(kDown).kind, Wish::kLook) << "for more than what it uses nobody is asked";
  ASSERT_EQ(screen.chosen_job(), 7u);
  add_job(known, 3, "carol", model::JobState::kRunning);
  ++known.version;
  text();
  EXPECT_EQ(screen.chosen_job(), 7u);
  known.jobs.mutable_jobs()->DeleteSubrange(0, 1);  // it has ended
  ++known.version;
  text();
  EXPECT_NE(screen.chosen_job(), 7u);
  EXPECT_NE(screen.chosen_job(), 0u);
}

TEST_F(Top, TheChosenRowIsAlwaysOnTheScreen) {
  for (uint32_t id = 100; id < 200; ++id) add_job(known, id, "bob", model::JobState::kPending);
  ++known.version;
  text();
  for (int i = 0; i < 60; ++i) {
    screen.press(i % 7 == 0 ? kPageDown : i % 5 == 0 ? kPageUp : 'j');
    EXPECT_THAT(text(), HasSubstr("train" + std::to_string(screen.chosen_job()) + " of")) << i;
    EXPECT_THAT(text(), HasSubstr(" " + std::to_string(screen.chosen_job()) + " "));
  }
  screen.press(kEnd);
  text();
  EXPECT_EQ(screen.chosen_job(), 199u);
}

TEST_F(Top, KeysMayComeFasterThanScreens) {
  screen.press('2');
  screen.press('1');
  screen.press('j');
  EXPECT_EQ(screen.press(kEnter).job, 7u);
}

TEST_F(Top, WordsAndKeysChooseJobs) {
  type("/ALICE");
  EXPECT_THAT(line(23), HasSubstr("/ALICE"));
  EXPECT_EQ(screen.press(kEnter).kind, Wish::kAsk);
  EXPECT_THAT(text(), HasSubstr("Asking the controller.")) << "what is known was chosen by another filter";
  EXPECT_EQ(screen.press('c').kind, Wish::kNothing);
  answer();
  EXPECT_THAT(text(), Not(HasSubstr("bob")));
  EXPECT_THAT(text(), HasSubstr("alice"));
  EXPECT_THAT(text(), HasSubstr("only ALICE"));
  screen.press(kEscape);
  answer();
  EXPECT_THAT(text(), HasSubstr("bob"));
  type("/user:bob state:pending");
  screen.press(kEnter);
  EXPECT_EQ(screen.filter().jobs.users(0), "bob");
  ASSERT_EQ(screen.filter().jobs.states_size(), 1);
  EXPECT_EQ(screen.filter().jobs.states(0), static_cast<uint32_t>(model::JobState::kPending));
  screen.press('m');
  EXPECT_EQ(screen.filter().text, "user:alice");
  screen.press('m');
  EXPECT_TRUE(screen.filter().is_empty());
}

TEST_F(Top, AFilterThatIsWrongChangesNothing) {
  type("/colour:red");
  screen.press(kEnter);
  EXPECT_THAT(line(23), HasSubstr("unknown key colour"));
  EXPECT_TRUE(screen.filter().is_empty());
  type("/state:sleepy");
  screen.press(kEnter);
  EXPECT_THAT(line(23), HasSubstr("sleepy"));
  EXPECT_THAT(text(), HasSubstr("train7"));
}

TEST_F(Top, CancellingIsAskedAbout) {
  text();
  screen.press('j');
  EXPECT_EQ(screen.press('c').kind, Wish::kNothing);
  EXPECT_THAT(line(23), HasSubstr("Cancel job 7?"));
  EXPECT_EQ(screen.press('n').kind, Wish::kNothing);
  screen.press('c');
  const Wish wish = screen.press('y');
  ASSERT_EQ(wish.kind, Wish::kChange);
  ASSERT_EQ(wish.change.cancel().filter().ids_size(), 1);
  EXPECT_EQ(wish.change.cancel().filter().ids(0), 7u);
  EXPECT_EQ(screen.press('y').kind, Wish::kNothing) << "asked once";
}

TEST_F(Top, OfAnArrayTheQuestionSaysWhatGoes) {
  wire::Job& job = *known.jobs.mutable_jobs(0);
  job.mutable_spec()->mutable_array()->set_job(7);
  wire::TaskRange& left = *job.mutable_status()->mutable_tasks()->add_left();
  left.set_last(4999);
  left.set_step(1);
  screen.press(kHome);
  text();
  screen.press('j');
  text();
  screen.press('c');
  EXPECT_THAT(line(23), HasSubstr("array 7, also tasks that run"));
}

/// Nobody meant the one that stands there now.
TEST_F(Top, AJobThatTookThePlaceOfAnotherIsNotCancelledByTheSameKey) {
  text();
  ASSERT_EQ(screen.chosen_job(), 5u);
  known.jobs.mutable_jobs()->DeleteSubrange(2, 1);  // it has ended
  ++known.version;
  text();
  for (const char key : {'c', 'h', 'r'}) {
    for (wire::Job& job : *known.jobs.mutable_jobs())
      if (job.id() == screen.chosen_job()) job.set_id(100 + static_cast<uint32_t>(key));
    ++known.version;
    text();
    EXPECT_EQ(screen.press(key).kind, Wish::kNothing) << key;
    EXPECT_THAT(line(23), HasSubstr("has gone")) << key;
  }
  EXPECT_EQ(screen.press('h').kind, Wish::kChange) << "now it is meant";
}

TEST_F(Top, LettersBeyondAsciiChooseJobs) {
  known.jobs.mutable_jobs(0)->mutable_spec()->set_name("\u65e5\u672c");
  type("/");
  screen.press(0x65e5);
  screen.press(0x672c);
  screen.press(0x1F600);
  screen.press(kBackspace);
  screen.press(kEnter);
  EXPECT_EQ(screen.filter().text, "\u65e5\u672c");
  answer();
  EXPECT_THAT(text(), HasSubstr("alice"));
  EXPECT_THAT(text(), Not(HasSubstr("bob")));
}

TEST_F(Top, ASilentControllerIsTold) {
  known.silent = base::seconds(5);
  EXPECT_THAT(line(1), HasSubstr("no answer for 5 s"));
}

TEST_F(Top, HoldAndReleaseAreOfTheChosenJob) {
  text();
  screen.press('j');
  const Wish hold = screen.press('h'), release = screen.press('r');
  EXPECT_EQ(hold.change.job_action().action(), wire::kUserHold);
  EXPECT_EQ(hold.change.job_action().ids(0), 7u);
  EXPECT_EQ(release.change.job_action().action(), wire::kRelease);
  screen.press('2');
  text();
  EXPECT_EQ(screen.press('h').kind, Wish::kNothing) << "no job is chosen among nodes";
}

TEST_F(Top, WithoutJobsNothingHappens) {
  known.jobs.clear_jobs();
  ++known.version;
  EXPECT_THAT(text(), HasSubstr("There are none."));
  for (const int key : {int{'c'}, int{'h'}, int{'w'}, int{kEnter}, int{kDown}, int{kEnd}}) {
    const Wish wish = screen.press(key);
    EXPECT_TRUE(wish.kind == Wish::kNothing || wish.kind == Wish::kLook) << key;
  }
}

TEST_F(Top, NoNameOfAUserCommandsTheTerminal) {
  wire::Job& job = *known.jobs.mutable_jobs(0);
  job.mutable_spec()->set_name(
      "\033[2J\033]0;owned\007evil\xc2\x9b"
      "31m");
  ++known.version;
  screen.press(kHome);
  const Grid grid = screen.draw(120, 24, kNow);
  for (size_t row = 0; row < grid.rows(); ++row)
    for (size_t column = 0; column < grid.columns(); ++column)
      for (const char c : grid.at(row, column).glyph) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20);
  EXPECT_THAT(grid.text(), Not(HasSubstr("\xc2\x9b")));
}

wire::Node& add_node(Known& known, const std::string& name) {
  if (!known.nodes) known.nodes.emplace();
  wire::Node& node = *known.nodes->add_nodes();
  node.set_name(name);
  node.set_state("MIXED");
  node.set_connected(true);
  node.set_total_gpus(8);
  node.add_partitions("gpu");
  return node;
}

TEST_F(Top, TheMapOfNodesTellsWhoHasEachGpu) {
  wire::Node& node = add_node(known, "n10");
  add_node(known, "n2").set_state("DOWN*");
  node.set_alloc_gpus("0-5");
  for (uint32_t gpu = 0; gpu < 3; ++gpu) (*node.mutable_gpu_jobs())[gpu] = 7;
  (*node.mutable_gpu_jobs())[3] = 5;
  (*node.mutable_offline_gpus())[7] = "xid 79";
  screen.press('2');
  EXPECT_THAT(line(4), HasSubstr("n2 "));
  EXPECT_THAT(line(5), HasSubstr("[bbba ##.X]"));
  screen.press('j');
  EXPECT_THAT(text(), HasSubstr("b  job 7 train7 of alice"));
  EXPECT_THAT(text(), HasSubstr("GPU 7 is offline: xid 79"));
  const Wish wish = screen.press(kEnter);
  EXPECT_EQ(wish.kind, Wish::kTopology);
  EXPECT_EQ(wish.node, "n10");
}

TEST_F(Top, PartitionsTellWhatIsFree) {
  add_node(known, "n1").set_alloc_gpus("0-1");
  known.partitions.emplace().add_partitions()->set_name("gpu");
  known.partitions->add_partitions()->set_name("cpu");
  screen.press('3');
  EXPECT_THAT(line(4), HasSubstr("gpu"));
  EXPECT_THAT(line(4), HasSubstr("1/1     1     2"));
  EXPECT_THAT(line(4), HasSubstr("2/8"));
  EXPECT_THAT(text(), HasSubstr("6 GPUs free, 2 in use"));
}

TEST_F(Top, QuotasAreDrawnAsGshareDoes) {
  known.shares.emplace();
  for (const char* name : {"", "research"}) {  // the root, and one below it
    wire::QosShare& qos = *known.shares->add_qos();
    qos.set_name(name);
    wire::QosShare::Line& gpu = *qos.add_lines();
    gpu.set_resource("gpu");
    gpu.set_has_line(true);
    gpu.set_guaranteed(8000);
    qos.set_running(1);
  }
  screen.press('4');
  EXPECT_THAT(line(3), HasSubstr("GUARANTEED"));
  EXPECT_THAT(text(), HasSubstr("research"));
}

TEST_F(Top, APageIsScrolledAndClosed) {
  std::string long_text;
  for (int i = 0; i < 100; ++i) long_text += "line " + std::to_string(i) + "\n";
  screen.show_page("Job 7", long_text);
  EXPECT_THAT(text(), HasSubstr("line 0\n"));
  screen.press(kEnd);
  EXPECT_THAT(text(), HasSubstr("line 99\n"));
  EXPECT_THAT(text(), Not(HasSubstr("line 0\n")));
  screen.press(kPageUp);
  EXPECT_THAT(text(), Not(HasSubstr("line 99\n")));
  screen.press('q');
  EXPECT_THAT(text(), HasSubstr("JOBID")) << "it closes the page, and does not leave";
  EXPECT_EQ(screen.press('q').kind, Wish::kQuit);
}

TEST_F(Top, WhatIsWrongIsSaidWhereItCannotBeMissed) {
  known.trouble = "the controller is not reached: refused";
  EXPECT_THAT(line(1), HasSubstr("the controller is not reached"));
  EXPECT_THAT(text(), HasSubstr("train7")) << "what was known last";
}

TEST(Grid, AWideLetterHasBothItsCellsOrNone) {
  Grid grid(4, 1);
  EXPECT_EQ(grid.put(0, 0, "a\u6f22\u5b57"), 3u) << "the last one has no room";
  EXPECT_EQ(grid.text(), "a\u6f22\n");
  grid.put(0, 2, "x");
  EXPECT_EQ(grid.text(), "a x\n") << "nothing is left of the letter that was there";
}

TEST(Grid, SignsThatTurnOrJoinLettersAreLeftOut) {
  Grid grid(10, 1);
  grid.put(0, 0, "a\u202eb\u200dc\u2066d\ufeff\u0301e\u2026");
  EXPECT_EQ(grid.text(), "abcd\u0301e\u2026\n");
}

TEST(Grid, CodesOfColoursAreStyles) {
  Grid grid(10, 1);
  grid.put(0, 0, "\033[1mB\033[0m\033[31mr\033[0mp\033[2Kq");
  EXPECT_TRUE(grid.at(0, 0).style.is_bold);
  EXPECT_EQ(grid.at(0, 1).style.tone, client::Tone::kBad);
  EXPECT_EQ(grid.at(0, 2).style, Style{});
  EXPECT_EQ(grid.text(), "Brp[2Kq\n");
}

}  // namespace
}  // namespace gw::cmds::top
