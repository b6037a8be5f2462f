// A step's client against shepherds that imagine their tasks: start, output, input, end.
#include <sys/resource.h>
#include <sys/socket.h>

#include <csignal>

#include "attach/control/tickets.h"
#include "tests/unit/attach/fake_step.h"

namespace gw::attach {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// Bytes of every value, without a period that divides a buffer.
std::string noise(size_t n) {
  std::string bytes(n, '\0');
  uint32_t x = 1;
  for (char& c : bytes) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST(StepClient, OutputArrivesWholeAndInOrder) {
  FakeStep step;
  const std::string text = noise(10 << 20);
  step.nodes[0]->to_send = {{wire::output_channel(0), text}, {wire::error_channel(0), "complaint\n"}};
  step.make({1});
  step.start();
  EXPECT_EQ(step.finish(), 0);
  EXPECT_TRUE(step.printed == text);
  EXPECT_EQ(step.complained, "complaint\n");
  EXPECT_THAT(step.said, ElementsAre());
}

TEST(StepClient, OutputOfManyTasksIsMixedByLinesAlone) {
  FakeStep step(2);
  const std::string line(3000, 'x');
  for (uint32_t place : {0u, 1u}) {
    for (size_t node : {0u, 1u}) {
      std::string& text = step.nodes[node]->to_send[wire::output_channel(place)];
      for (int i = 0; i < 200; ++i) text += std::to_string(node * 2 + place) + line + "\n";
    }
  }
  step.make({2, 2});
  step.start();
  EXPECT_EQ(step.finish(), 0);
  std::map<char, int> lines;
  for (size_t at = 0; at < step.printed.size(); at += line.size() + 2) {
    ASSERT_EQ(step.printed.substr(at + 1, line.size() + 1), line + "\n");
    ++lines[step.printed[at]];
  }
  EXPECT_THAT(lines, ElementsAre(std::pair('0', 200), std::pair('1', 200), std::pair('2', 200), std::pair('3', 200)));
}

TEST(StepClient, LabelsSayWhichTaskPrintedTheLine) {
  FakeStep step(2);
  step.options.label = true;
  step.nodes[0]->to_send = {{wire::output_channel(0), "a\nb\n"}};
  step.nodes[1]->to_send = {{wire::output_channel(0), "no newline"}};
  step.make({1, 1});
  step.start();
  EXPECT_EQ(step.finish(), 0);
  EXPECT_THAT(step.printed, HasSubstr("0: a\n0: b\n"));
  EXPECT_THAT(step.printed, HasSubstr("1: no newline\n"));
  EXPECT_EQ(step.printed.size(), 24u);
}

TEST(StepClient, AReaderThatStopsStopsTheTask) {
  FakeStep step;
  const std::string text = noise(4 << 20);
  step.nodes[0]->to_send = {{wire::output_channel(0), text}};
  step.make({1});
  step.reads = false;
  step.start();
  ASSERT_TRUE(step.wait([&] {
    return step.nodes[0]->session != nullptr && step.nodes[0]->sent.size() == 1 && !step.out_sink->is_ready() &&
           step.nodes[0]->session->room(wire::output_channel(0)) == 0;
  }));
  EXPECT_LT(step.nodes[0]->sent[wire::output_channel(0)], 1u << 20);
  EXPECT_FALSE(step.code);
  step.reads = true;
  EXPECT_EQ(step.finish(), 0);
  EXPECT_TRUE(step.printed == text);
}

TEST(StepClient, NoTaskRunsBeforeAllNodesAreReady) {
  FakeStep step(2);
  step.nodes[1]->at_launch = [](FakeNode&) {};  // not yet
  step.make({1, 1});
  step.start();
  ASSERT_TRUE(step.wait([&] { return step.nodes[0]->has_launch && step.nodes[1]->has_launch; }));
  EXPECT_FALSE(step.nodes[0]->launch.go());
  EXPECT_FALSE(step.nodes[0]->has_go);
  step.nodes[1]->say(Phase::kStarting);
  EXPECT_EQ(step.finish(), 0);
  EXPECT_TRUE(step.nodes[0]->has_go && step.nodes[1]->has_go);
}

TEST(StepClient, NodesAreToldTheirHelpersAddressesAsTheyCanBeReached) {
  FakeStep step(3);
  step.make({1, 1, 1}, [](wire::LaunchTasks& launch) { launch.mutable_pmix(); });
  for (size_t i = 0; i < 3; ++i)
    step.nodes[i]->at_launch = [i](FakeNode& n) {
      n.say(Phase::kStarting, std::array{"[::]:41", "0.0.0.0:42", "10.0.0.9:43"}[i]);
    };
  step.start();
  EXPECT_EQ(step.finish(), 0);
  EXPECT_THAT(step.nodes[2]->go_order.addresses(), ElementsAre("127.0.0.1:41", "127.0.0.1:42", "10.0.0.9:43"));
}

TEST(StepClient, ANodeThatCannotStartEndsTheWholeStep) {
  FakeStep step(2);
  step.nodes[1]->at_launch = [](FakeNode& n) {
    n.say(Phase::kEnding, "task 1: ./prog: No such file or directory");
    n.over(127);
  };
  step.nodes[0]->at_end = [](FakeNode& n) { n.over(0, SIGTERM); };
  step.make({1, 1});
  step.start();
  EXPECT_EQ(step.finish(), 127);
  EXPECT_THAT(step.said, ElementsAre("error: n1: task 1: ./prog: No such file or directory"));
  EXPECT_FALSE(step.nodes[0]->has_go);
  EXPECT_TRUE(step.nodes[0]->has_end);
}

TEST(StepClient, ALaunchThatIsRefusedEndsWithoutAnyChannel) {
  FakeStep step;
  step.nodes[0]->at_launch = [](FakeNode& n) {
    n.say(Phase::kEnding, "work directory /none: No such file or directory");
    n.has_ended = true;
    n.leave_if_settled();
  };
  step.nodes[0]->at_end = [](FakeNode&) {};
  step.make({2});
  step.start();
  EXPECT_EQ(step.finish(), 1);
  EXPECT_THAT(step.said, ElementsAre("error: n0: work directory /none: No such file or directory"));
}

TEST(StepClient, OneMoreInterruptKillsWhatItsGraceSpares) {
  FakeStep step;
  step.nodes[0]->at_go = [](FakeNode& n) { n.run(); };
  step.nodes[0]->at_end = [](FakeNode&) {};
  step.make({1});
  step.start();
  step.client->end(kTestLimit);
  ASSERT_TRUE(step.wait([&] { return step.nodes[0]->has_end; }));
  step.client->kill();
  ASSERT_TRUE(step.wait([&] { return !step.nodes[0]->controls.empty(); }));
  EXPECT_THAT(step.nodes[0]->controls, ElementsAre(stream::Control(stream::Signal{stream::kAllTasks, SIGKILL})));
  step.nodes[0]->over(0, SIGKILL);
  EXPECT_EQ(step.finish(), 128 + SIGKILL);
}

TEST(StepClient, TheHighestCodeCountsAndBadEndsAreTold) {
  FakeStep step(2);
  step.nodes[0]->at_go = [](FakeNode& n) { n.run(), n.over(3); };
  step.nodes[1]->at_go = [](FakeNode& n) { n.run(), n.over(0, SIGTERM); };
  step.make({2, 1});
  step.start();
  EXPECT_EQ(step.finish(), 128 + SIGTERM);
  EXPECT_THAT(step.said, Contains("error: n0: tasks 0-1: Exited with exit code 3"));
  EXPECT_THAT(step.said, Contains("error: n1: task 2: Terminated"));
}

TEST(StepClient, ABadExitEndsTheOthersIfAsked) {
  FakeStep step(2);
  step.options.ends_on_bad_exit = true;
  step.nodes[0]->at_go = [](FakeNode& n) { n.run(), n.over(3); };
  step.nodes[1]->at_go = [](FakeNode& n) { n.run(); };
  step.nodes[1]->at_end = [](FakeNode& n) { n.over(0, SIGTERM); };
  step.make({1, 1});
  step.start();
  EXPECT_EQ(step.finish(), 128 + SIGTERM);
  EXPECT_TRUE(step.nodes[1]->has_end);
}

TEST(StepClient, InputReachesEveryNodeAndEnds) {
  FakeStep step(2);
  for (auto& node : step.nodes) node->at_go = [](FakeNode& n) { n.run(); };
  Pipe input;
  step.make({1, 1});
  step.client->take_input(Descriptor::for_reading(input.read.get()));
  step.start();
  const std::string text = noise(2 << 20);
  size_t written = 0;
  ::fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
  ASSERT_TRUE(step.wait([&] {
    const ssize_t n =
        written < text.size() ? ::write(input.write.get(), text.data() + written, text.size() - written) : 0;
    written += n > 0 ? static_cast<size_t>(n) : 0;
    if (written == text.size()) input.write.reset();
    return step.nodes[0]->is_input_over && step.nodes[1]->is_input_over;
  }));
  for (auto& node : step.nodes) {
    EXPECT_TRUE(node->input == text);
    node->over(0);
  }
  EXPECT_EQ(step.finish(), 0);
}

TEST(StepClient, OutputThatNobodyReadsEndsTheStep) {
  std::signal(SIGPIPE, SIG_IGN);
  FakeStep step;
  step.nodes[0]->at_go = [](FakeNode& n) {
    n.to_send = {{wire::output_channel(0), std::string(1 << 20, 'y')}};
    n.run();
  };
  step.nodes[0]->at_end = [](FakeNode& n) { n.over(0, SIGTERM); };
  step.make({1});
  step.out.read.reset();
  step.reads = false;
  step.start();
  ASSERT_TRUE(step.wait([&] { return step.code.has_value(); }));
  EXPECT_EQ(*step.code, kExitPipe);
  EXPECT_TRUE(step.nodes[0]->has_end);
  EXPECT_THAT(step.said, ElementsAre());
}

TEST(StepClient, NothingIsLostWhereConnectionsBreak) {
  FakeStep step(2);
  const std::string text = noise(3 << 20);
  for (auto& node : step.nodes) {
    node->at_go = [&](FakeNode& n) {
      n.to_send = {{wire::output_channel(0), text}};
      n.run();
    };
  }
  step.options.unbuffered = true;
  step.make({1, 1});
  step.start();
  size_t next = 1 << 20;
  ASSERT_TRUE(step.wait([&] {
    if (step.printed.size() >= next) {
      next += 1 << 20;
      step.client->drop_connections();
    }
    return step.printed.size() == 2 * text.size();
  }));
  for (auto& node : step.nodes) node->over(0);
  EXPECT_EQ(step.finish(), 0);
}

TEST(StepClient, ANodeThatIsLostForGoodFailsTheStep) {
  FakeStep step(2);
  for (auto& node : step.nodes) node->at_go = [](FakeNode& n) { n.run(); };
  step.options.connection.patience = {};
  step.make({1, 1});
  step.start();
  bool is_running = false;
  step.client->on_running([&] { is_running = true; });
  ASSERT_TRUE(step.wait([&] { return is_running; }));
  step.nodes[1]->server.reset();
  EXPECT_EQ(step.finish(), 143);
  EXPECT_THAT(step.said, Contains(HasSubstr("error: n1: gave up connecting")));
  EXPECT_TRUE(step.nodes[0]->has_end);
}

// --- joining ---

/// Of the tasks 0 to 3 of a step, 2 and 3 run on the nodes that are joined.
struct JoinedStep : FakeStep {
  Pipe input;
  JoinedStep() : FakeStep(2) {
    EXPECT_EQ(::write(input.write.get(), "precious\n", 9), 9);
    options.part = Part::kJoin;
    options.tasks = 4;
    nodes[0]->at_join = [](FakeNode& n) { n.tell_joined({2}); };
  }
  /// The second node refuses who would join.
  void refuse(size_t node, const char* why) {
    nodes[node]->at_look = [why](FakeNode& n) { n.session->close({base::ErrorCode::kConflict, why, ""}); };
  }
  int run_to_end(uint8_t how) {
    make({1, 1});
    client->take_input(Descriptor::for_reading(input.read.get()));
    client->on_running([this, how] { nodes[0]->over(how); });
    start();
    return finish();
  }
};

TEST(StepClient, CodesOfTasksCountWhateverTheirRank) {
  JoinedStep step;
  step.nodes[1]->at_join = [](FakeNode& n) {
    n.tell_joined({3});
    n.over(5);
  };
  EXPECT_EQ(step.run_to_end(4), 5);
  EXPECT_THAT(step.said, Contains(HasSubstr("n1: task 3: Exited with exit code 5")));
  EXPECT_THAT(step.client->tasks().state_lines("7.0"), ElementsAre("step:7.0 tasks 2-3: exited abnormally"));
}

TEST(StepClient, ANodeWhoseTasksHaveEndedHoldsUpNobodyWhoJoins) {
  JoinedStep step;
  step.refuse(1, wire::kTasksHaveEnded);
  EXPECT_EQ(step.run_to_end(4), 4);
  EXPECT_THAT(step.said, Contains("the tasks on n1 have ended"));
  EXPECT_TRUE(step.client->misses_ends()) << "nobody told how they ended";
  EXPECT_FALSE(step.client->has_departed());
}

TEST(StepClient, OfANodeThatHasGoneWhileItWasDialedTheTasksHaveEnded) {
  JoinedStep step;
  step.refuse(1, kStepHasEnded);
  EXPECT_EQ(step.run_to_end(4), 4);
  EXPECT_THAT(step.said, Contains("the tasks on n1 have ended"));
  EXPECT_TRUE(step.client->misses_ends());
}

TEST(StepClient, WhoHasTheCodesOfAllTasksMissesNone) {
  JoinedStep step;
  step.nodes[1]->at_join = [](FakeNode& n) {
    n.tell_joined({3});
    n.over(0);
  };
  EXPECT_EQ(step.run_to_end(4), 4);
  EXPECT_FALSE(step.client->misses_ends());
}

TEST(StepClient, WhoJoinsWhenAllTasksHaveEndedMissesTheirCodes) {
  JoinedStep step;
  step.refuse(0, wire::kTasksHaveEnded);
  step.refuse(1, wire::kTasksHaveEnded);
  bool is_running = false;
  step.make({1, 1});
  step.client->on_running([&] { is_running = true; });
  step.start();
  EXPECT_EQ(step.finish(), 0);
  EXPECT_THAT(step.said, UnorderedElementsAre("the tasks on n0 have ended", "the tasks on n1 have ended"));
  EXPECT_TRUE(step.client->misses_ends());
  EXPECT_FALSE(step.client->has_departed());
  EXPECT_FALSE(step.client->is_too_early() || is_running);
}

TEST(StepClient, WhoIsRefusedHasDeparted) {
  JoinedStep step;
  step.refuse(1, "another client has this step, which was not started with --keep");
  EXPECT_EQ(step.run_to_end(0), 1);
  EXPECT_THAT(step.said, ElementsAre(HasSubstr("error: n1: another client has this step")));
  EXPECT_TRUE(step.client->has_departed());
}

TEST(StepClient, WhoJoinsTooEarlyMayTryAgain) {
  JoinedStep step;
  step.refuse(1, wire::kTasksNotStarted);
  step.nodes[0]->at_join = [](FakeNode&) { ADD_FAILURE() << "its client has it until all nodes may be joined"; };
  EXPECT_EQ(step.run_to_end(0), 1);
  EXPECT_TRUE(step.client->is_too_early());
  EXPECT_THAT(step.said, ElementsAre());
  char left[16];
  EXPECT_EQ(::read(step.input.read.get(), left, sizeof left), 9) << "what is typed waits for the next try";
}

TEST(StepClient, WhatIsTypedGoesToAStepOnceItIsJoined) {
  JoinedStep step;
  step.nodes[1]->at_join = [](FakeNode& n) { n.tell_joined({3}); };
  step.make({1, 1});
  step.client->take_input(Descriptor::for_reading(step.input.read.get()));
  step.start();
  EXPECT_TRUE(step.wait([&] { return step.nodes[0]->input == "precious\n" && step.nodes[1]->input == "precious\n"; }));
  for (auto& node : step.nodes) node->over(0);
  EXPECT_EQ(step.finish(), 0);
}

TEST(StepClient, WhoWatchesSaysNothingWhereANodesTasksHaveEnded) {
  FakeStep step(2);
  step.options.part = Part::kWatch;
  step.make({1, 1});
  bool is_running = false;
  step.client->on_running([&] { is_running = true; });
  step.start();
  ASSERT_TRUE(step.wait([&] { return step.nodes[0]->session != nullptr && step.nodes[1]->session != nullptr; }));
  step.nodes[0]->tell_joined({0});
  ASSERT_TRUE(step.wait([&] { return step.client->layout()[0].front() == 0; }));
  step.nodes[1]->session->close({base::ErrorCode::kConflict, wire::kTasksHaveEnded, ""});
  ASSERT_TRUE(step.wait([&] { return is_running; }));
  step.nodes[0]->over(4);
  EXPECT_EQ(step.finish(), 4);
  EXPECT_TRUE(step.client->misses_ends());
}

TEST(StepClient, WhoDepartsIsDoneWhateverIsAskedForThen) {
  FakeStep step;
  step.nodes[0]->at_go = [](FakeNode& n) { n.run(); };
  step.make({1});
  step.start();
  ASSERT_TRUE(step.wait([&] { return step.client->is_running(); }));
  step.client->depart(7);
  ASSERT_TRUE(step.wait([turns = 0]() mutable { return turns++ > 0; }));
  step.client->end(kTestLimit);
  step.client->kill();
  EXPECT_EQ(step.finish(), 7);
  EXPECT_TRUE(step.client->has_departed());
  EXPECT_FALSE(step.nodes[0]->has_end);
}

// --- on the way ---

TEST(StepClient, HasAsManyOpenFilesAsItHasNodes) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  FakeStep step(40);
  rlimit small = before;
  small.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &small), 0);
  step.make(std::vector<uint32_t>(40, 1));
  step.start();
  rlimit after{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, 104u);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);  // the nodes are in this process too
  EXPECT_EQ(step.finish(), 0);
}

TEST(StepClient, SignalsAndSizesReachTheTasks) {
  FakeStep step;
  step.nodes[0]->at_go = [](FakeNode& n) { n.run(); };
  step.make({1});
  step.start();
  step.client->signal(SIGUSR1);
  step.client->resize(50, 100);
  ASSERT_TRUE(step.wait([&] { return step.nodes[0]->controls.size() == 2; }));
  EXPECT_THAT(step.nodes[0]->controls, ElementsAre(stream::Control(stream::Signal{stream::kAllTasks, SIGUSR1}),
                                                   stream::Control(stream::WindowSize{50, 100})));
  step.client->end({});
  EXPECT_EQ(step.finish(), 143);
}

TEST(StepClient, ASizeOfBeforeTheTasksRunReachesTheirTerminal) {
  FakeStep step;
  step.nodes[0]->at_go = [](FakeNode&) {};  // it starts them, and has no terminal yet
  step.make({1});
  step.start();
  ASSERT_TRUE(step.wait([&] { return step.nodes[0]->has_go; }));
  step.client->resize(40, 90);
  step.client->resize(50, 100);
  step.client->signal(SIGUSR1);
  ASSERT_TRUE(step.wait([&] { return !step.nodes[0]->controls.empty(); }));
  step.nodes[0]->run();
  ASSERT_TRUE(step.wait([&] { return step.nodes[0]->controls.size() == 2; }));
  EXPECT_THAT(step.nodes[0]->controls, ElementsAre(stream::Control(stream::Signal{stream::kAllTasks, SIGUSR1}),
                                                   stream::Control(stream::WindowSize{50, 100})));
  step.client->end({});
  EXPECT_EQ(step.finish(), 143);
}

TEST(StepClient, StreamsThatLeadElsewhereAreNotWaitedFor) {
  FakeStep step;
  step.make({1});
  // As make(), but the task's streams lead elsewhere.
  NodePlan plan{"n0", step.nodes[0]->server->bound_address(), step.nodes[0]->key.public_key(), {}};
  wire::TaskOrder& task = *plan.launch.add_tasks();
  task.mutable_output()->set_kind(wire::TaskStream::kNothing);
  task.mutable_error()->set_kind(wire::TaskStream::kFile);
  task.mutable_input()->set_kind(wire::TaskStream::kNothing);
  step.client = std::make_unique<StepClient>(step.loop, step.key, step.options, std::vector{plan}, *step.out_sink,
                                             *step.error_sink);
  step.client->on_done([&](int code) { step.code = code; });
  step.nodes[0]->at_go = [](FakeNode& n) {
    n.run();
    n.say(stream::TaskEnded{0, 5, 0});
    n.has_ended = true;  // no channel is ended, as they were never used
    n.leave_if_settled();
  };
  step.start();
  EXPECT_EQ(step.finish(), 5);
  EXPECT_EQ(step.printed, "");
}

}  // namespace
}  // namespace gw::attach
