// Tasks that a client launches over a stream: bytes both ways, ends, refusals, and clients that go away.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "noded/step/start/step_task.h"
#include "scene.h"

namespace gw::noded::step {
namespace {

using Phase = stream::StepState::Phase;

std::string noise(size_t n) {
  std::string bytes(n, '\0');
  uint32_t x = 1;
  for (char& c : bytes) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST(StepTasks, EchoesInput) {
  Scene s;
  TestClient& client = s.run(launch_of({{"cat"}}));
  client.send_input("hello\n");
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "hello\n");
  EXPECT_EQ(client.err(), "");
  EXPECT_EQ(client.ended(0), (stream::TaskEnded{0, 0, 0}));
  EXPECT_TRUE(wait_started(*s.peer));
  const wire::StepExit exit = s.leave();
  EXPECT_EQ(exit.code(), 0);
  EXPECT_FALSE(exit.never_started());
}

TEST(StepTasks, SaysWhatHappensInOrder) {
  Scene s;
  TestClient& client = s.run(launch_sh("exit 3"));
  EXPECT_TRUE(client.wait_over());
  ASSERT_EQ(client.controls.size(), 5u);
  EXPECT_EQ(std::get<stream::StepState>(client.controls[0]).phase, Phase::kStarting);
  EXPECT_EQ(std::get<stream::TaskStarted>(client.controls[1]).task, 0u);
  EXPECT_EQ(std::get<stream::StepState>(client.controls[2]).phase, Phase::kRunning);
  EXPECT_EQ(std::get<stream::TaskEnded>(client.controls[3]), (stream::TaskEnded{0, 3, 0}));
  EXPECT_EQ(std::get<stream::StepState>(client.controls[4]).phase, Phase::kEnded);
  EXPECT_EQ(s.leave().code(), 3);
}

TEST(StepTasks, ManyBytesBothWaysSurviveACut) {
  Scene s;
  const std::string bytes = noise(8 << 20);
  TestClient& client = s.run(launch_of({{"cat"}}));
  client.send_input(bytes);
  EXPECT_TRUE(client.wait([&] { return client.out().size() > bytes.size() / 4; }));
  client.cut();
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.connections, 2);
  EXPECT_TRUE(client.out() == bytes);
  s.leave();
}

TEST(StepTasks, AllOutputIsThereAtExit) {
  Scene s;
  TestClient& client = s.run(launch_sh("head -c 10000000 /dev/zero; echo done >&2"));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out().size(), 10'000'000u);
  EXPECT_EQ(client.err(), "done\n");
  s.leave();
}

TEST(StepTasks, ASignalIsReported) {
  Scene s;
  TestClient& client = s.run(launch_sh("kill -SEGV $$"));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.ended(0), (stream::TaskEnded{0, 0, SIGSEGV}));
  const wire::StepExit exit = s.leave();
  EXPECT_EQ(exit.signo(), SIGSEGV);
  EXPECT_EQ(exit.code(), 0);
}

struct BadProgram {
  const char* name;
  std::vector<std::string> words;
  int code;
  std::string text;
};

class StepProgram : public ::testing::TestWithParam<BadProgram> {};

TEST_P(StepProgram, ThatCannotRunEndsTheStepWithAText) {
  Scene s(2);
  std::ofstream(s.node.dir() + "/plain") << "\x7f" << std::string("ELF\0\0\0", 6);
  wire::LaunchTasks launch = launch_of({{"sleep", "1000"}, GetParam().words});
  launch.set_work_dir(s.node.dir());
  if (GetParam().words[0] == "./foreign") {
    std::ofstream(s.node.dir() + "/foreign") << "\x7f" << std::string("ELF\0\0\0", 6);
    ::chmod((s.node.dir() + "/foreign").c_str(), 0755);
  }
  if (GetParam().words[0] == "./orphan") {
    std::ofstream(s.node.dir() + "/orphan") << "#!/no/such/interpreter\n";
    ::chmod((s.node.dir() + "/orphan").c_str(), 0755);
  }
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.state(Phase::kEnding), "task 1: " + GetParam().text);
  ASSERT_TRUE(client.ended(1));
  EXPECT_EQ(client.ended(1)->exit_code, GetParam().code);
  ASSERT_TRUE(client.ended(0));
  EXPECT_NE(client.ended(0)->signal, 0);
  const wire::StepExit exit = s.leave();
  EXPECT_EQ(exit.code(), GetParam().code);
  EXPECT_EQ(exit.detail(), "task 1: " + GetParam().text);
}

const BadProgram kBadPrograms[] = {
    {"Missing", {"./prog"}, 127, "./prog: No such file or directory"},
    {"NotOnThePath", {"no-such-program"}, 127, "no-such-program: No such file or directory"},
    {"NotExecutable", {"./plain"}, 126, "./plain: Permission denied"},
    {"Folder", {"/tmp"}, 126, "/tmp: Permission denied"},
    {"OtherMachine", {"./foreign"}, 126, "./foreign: Exec format error"},
    {"NoInterpreter", {"./orphan"}, 126, "./orphan: interpreter /no/such/interpreter: No such file or directory"},
};
TEST(StepTasks, WhoCannotRunItsProgramKeepsItsCodeIfItIsKilledThen) {
  StepTask task;
  task.state = StepTask::State::kFailed;
  task.status = W_EXITCODE(127, 0);
  task.set_ended(SIGKILL);
  EXPECT_FALSE(task.is_alive());
  EXPECT_EQ(end_of(task).exit_code, 127);
  EXPECT_EQ(end_of(task).signal, 0);
}

INSTANTIATE_TEST_SUITE_P(Bad, StepProgram, ::testing::ValuesIn(kBadPrograms),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(StepTasks, EachHasItsPlaceAndTheJobsVariables) {
  Scene s(2, [](wire::StepSpec& spec) {
    spec.add_env("SLURM_JOB_ID=7");
    spec.add_env("HOME=/job");
  });
  const std::string body =
      "echo $SLURM_JOB_ID $SLURM_PROCID $SLURM_LOCALID $GANGWAY_PROCID $CUDA_VISIBLE_DEVICES "
      "$HOME $X $Y; test $SLURM_TASK_PID = $$ || echo other";
  wire::LaunchTasks launch = launch_of({{"sh", "-c", body}, {"sh", "-c", body}});
  launch.add_env("HOME=/client");
  launch.add_env("SLURM_JOB_ID=wrong");
  launch.add_env("X=x");
  launch.mutable_tasks(0)->set_rank(6);
  launch.mutable_tasks(1)->set_rank(4);
  launch.mutable_tasks(1)->add_env("Y=y");
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(0), "7 6 0 6 0 /client x\n");
  EXPECT_EQ(client.out(1), "7 4 1 4 1 /client x y\n");
  EXPECT_TRUE(client.ended(6));
  EXPECT_TRUE(client.ended(4));
  s.leave();
}

TEST(StepTasks, InputGoesToAllThatReadIt) {
  Scene s(3);
  const std::string bytes = noise(1 << 20);
  TestClient& client = s.run(launch_of({{"cat"}, {"head", "-c", "10"}, {"cat"}}));
  client.send_input(bytes);
  EXPECT_TRUE(client.wait_over());
  EXPECT_TRUE(client.out(0) == bytes);
  EXPECT_EQ(client.out(1), bytes.substr(0, 10));
  EXPECT_TRUE(client.out(2) == bytes);
  s.leave();
}

TEST(StepTasks, InputThatNobodyReadsIsRefused) {
  Scene s;
  wire::LaunchTasks launch = launch_sh("cat; echo end");
  launch.mutable_tasks(0)->mutable_input()->set_kind(wire::TaskStream::kNothing);
  TestClient& client = s.run(launch);
  client.send_input(noise(1 << 20));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "end\n");
  s.leave();
}

TEST(StepTasks, FilesAreOpenedOnTheNode) {
  Scene s;
  std::ofstream(s.node.dir() + "/in") << "from a file\n";
  wire::LaunchTasks launch = launch_sh("cat; echo error >&2");
  wire::TaskOrder& task = *launch.mutable_tasks(0);
  for (auto* stream : {task.mutable_input(), task.mutable_output(), task.mutable_error()})
    stream->set_kind(wire::TaskStream::kFile);
  task.mutable_input()->set_path(s.node.dir() + "/in");
  task.mutable_output()->set_path(s.node.dir() + "/new/out");
  task.mutable_error()->set_path(s.node.dir() + "/new/out");
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(s.node.file("new/out"), "from a file\nerror\n");
  s.leave();
}

TEST(StepTasks, ASlowReaderStopsTheWriter) {
  Scene s;
  const std::string count = s.node.dir() + "/count";
  wire::LaunchTasks launch = launch_sh("echo begin >&2; head -c 8000000 /dev/zero; echo yes > " + count);
  TestClient& client = *s.client;
  client.appetite = 1000;
  s.run(launch);
  // All buffers on the way hold far less than what is written: the writer can only be waiting.
  EXPECT_TRUE(client.wait([&] { return client.appetite == 0; }));
  EXPECT_EQ(s.node.file("count"), "<missing>");
  client.appetite = SIZE_MAX;
  for (const auto channel : {wire::output_channel(0), wire::error_channel(0)}) client.session().pull(channel);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out().size(), 8'000'000u);
  EXPECT_EQ(s.node.file("count"), "yes\n");
  s.leave();
}

TEST(StepTasks, TheirTimeLimitEndsThemAfterASignal) {
  Scene s(2);
  wire::LaunchTasks launch =
      launch_of({{"/bin/sh", "-c", "trap 'echo soon' USR1; echo up; while :; do sleep 0.01; done"}, {"sleep", "1000"}});
  launch.set_time_limit_us(2'500'000);
  launch.set_warn_signo(SIGUSR1);
  launch.set_warn_before_us(2'000'000);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(0), "up\nsoon\n");
  EXPECT_EQ(client.ended(1), (stream::TaskEnded{1, 0, SIGUSR1}));
  EXPECT_EQ(client.ended(0), (stream::TaskEnded{0, 0, SIGTERM}));
  EXPECT_EQ(client.state(Phase::kEnding), "time limit 00:00:02 reached");
  s.leave();
}

// Under Slurm's names a program that cannot be executed is told as Slurm tells it.
TEST(StepTasks, AMissingProgramInSlurmsWords) {
  Scene s;
  wire::LaunchTasks launch = launch_of({{"./prog"}});
  launch.set_slurm_texts(true);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.state(Phase::kEnding), "task 0: execve(): ./prog: No such file or directory");
  EXPECT_EQ(s.leave().code(), ENOENT);
}

TEST(StepTasks, AClientThatTakesNothingAtTheEndIsLeft) {
  Scene s(1, [](wire::StepSpec& spec) { spec.mutable_access()->set_settle_limit_us(50'000); });
  TestClient& client = *s.client;
  client.appetite = 0;
  s.run(launch_sh("head -c 50000 /dev/zero; exit 3"));
  EXPECT_TRUE(client.wait_closed());
  EXPECT_NE(client.closed->find("took nothing"), std::string::npos) << *client.closed;
  EXPECT_EQ(s.leave().code(), 3);
}

// Each look finds less than the one before.
TEST(StepTasks, AClientThatIsOnlySlowAtTheEndGetsAll) {
  Scene s(1, [](wire::StepSpec& spec) { spec.mutable_access()->set_settle_limit_us(1'000'000); });
  TestClient& client = *s.client;
  client.appetite = 0;
  s.run(launch_sh("head -c 300000 /dev/zero"));
  EXPECT_TRUE(client.wait([&] { return client.ended(0).has_value(); }));
  const auto has_all = [&] { return client.out().size() == 300'000; };
  while (!has_all() && !client.closed) {
    client.wait(has_all, 300);
    client.appetite = 70'000;
    client.session().pull(wire::output_channel(0));
  }
  EXPECT_TRUE(has_all());
  EXPECT_TRUE(client.wait_over());
  s.leave();
}

TEST(StepTasks, WhoWritesToAClosedOutputGetsSigpipe) {
  Scene s;
  TestClient& client = s.run(launch_of({{"yes"}}));
  EXPECT_TRUE(client.wait_text(wire::output_channel(0), "y\ny\n"));
  client.session().refuse(wire::output_channel(0));
  EXPECT_TRUE(client.wait_closed());
  EXPECT_EQ(client.ended(0), (stream::TaskEnded{0, 0, SIGPIPE}));
  s.leave();
}

TEST(StepTasks, WaitForTheWordToGo) {
  Scene s(2);
  wire::LaunchTasks launch = launch_of({{"echo", "a"}, {"echo", "b"}});
  launch.set_go(false);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_state(Phase::kStarting));
  EXPECT_FALSE(client.state(Phase::kRunning));
  wire::StepOrder go_tasks;
  go_tasks.mutable_go();
  client.order(go_tasks);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(0) + client.out(1), "a\nb\n");
  s.leave();
}

TEST(StepTasks, SignalsGoToOneOrAll) {
  Scene s(3);
  const std::string body = "trap 'echo usr1; exit 5' USR1; echo up; while :; do sleep 0.01; done";
  TestClient& client = s.run(launch_of({{"sh", "-c", body}, {"sh", "-c", body}, {"sh", "-c", body}}));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(client.wait_text(wire::output_channel(i), "up\n"));
  ASSERT_TRUE(client.wait_state(Phase::kRunning));  // a task may print before its start is known
  client.control(stream::Signal{1, SIGUSR1});
  EXPECT_TRUE(client.wait([&] { return client.ended(1).has_value(); }));
  EXPECT_FALSE(client.ended(0));
  client.control(stream::Signal{stream::kAllTasks, SIGTERM});
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.ended(1), (stream::TaskEnded{1, 5, 0}));
  EXPECT_EQ(client.ended(2), (stream::TaskEnded{2, 0, SIGTERM}));
  EXPECT_EQ(s.leave().signo(), SIGTERM);
}

TEST(StepTasks, OneBadExitEndsThemAllIfAsked) {
  Scene s(2);
  wire::LaunchTasks launch = launch_of({{"sleep", "1000"}, {"sh", "-c", "exit 9"}});
  launch.set_kill_on_bad_exit(true);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.state(Phase::kEnding), "task 1 exited with code 9");
  const auto other = client.ended(0);  // by SIGKILL if it was not known to run yet
  EXPECT_TRUE(other == (stream::TaskEnded{0, 0, SIGTERM}) || other == (stream::TaskEnded{0, 0, SIGKILL}));
  s.leave();
}

TEST(StepTasks, EndsWhenItsClientOrdersIt) {
  Scene s;
  TestClient& client = s.run(launch_sh("trap '' TERM; echo up; while :; do sleep 1; done"));
  EXPECT_TRUE(client.wait_text(wire::output_channel(0), "up"));
  wire::StepOrder end;
  end.mutable_end()->set_grace_us(1000);
  client.order(end);
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.ended(0), (stream::TaskEnded{0, 0, SIGKILL}));
  s.leave();
}

TEST(StepTasks, AProcessLeftBehindHoldsTheOutputOnlyForAWhile) {
  Scene s;
  TestClient& client = s.run(launch_sh("sleep 1000 & echo out"));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "out\n");
  s.leave();
}

// --- refusals ---

struct BadLaunch {
  const char* name;
  std::function<void(wire::LaunchTasks&)> spoil;
  std::string text;
};
class StepLaunch : public ::testing::TestWithParam<BadLaunch> {};

TEST_P(StepLaunch, IsRefusedWithAText) {
  Scene s;
  wire::LaunchTasks launch = launch_of({{"true"}});
  GetParam().spoil(launch);
  // The channels of what is refused are never opened.
  wire::StepOrder order;
  *order.mutable_launch() = launch;
  s.client->order(order);
  s.client->start();
  EXPECT_TRUE(s.client->wait_closed());
  EXPECT_EQ(s.client->closed, "over");
  EXPECT_EQ(s.client->state(Phase::kEnding), GetParam().text);
  const wire::StepExit exit = s.leave();
  EXPECT_TRUE(exit.never_started());
  EXPECT_EQ(exit.detail(), GetParam().text);
}

const BadLaunch kBadLaunches[] = {
    {"NoTasks", [](wire::LaunchTasks& l) { l.clear_tasks(); }, "the launch has no tasks"},
    {"TooManyTasks", [](wire::LaunchTasks& l) { *l.add_tasks() = l.tasks(0); },
     "the launch has 2 tasks, but this node's part of the step has places for 1"},
    {"NoSuchProgram", [](wire::LaunchTasks& l) { l.mutable_tasks(0)->set_program(7); }, "task 0: program 7 of 1"},
    {"NoName", [](wire::LaunchTasks& l) { l.mutable_programs(0)->clear_argv(); }, "a program has no name"},
    {"NoOwnProgram", [](wire::LaunchTasks& l) { l.mutable_programs(0)->set_own(true); },
     "there is no own program \"true\" here"},
    {"ZeroByte", [](wire::LaunchTasks& l) { l.mutable_programs(0)->add_argv(std::string("a\0b", 3)); },
     "an argument holds a zero byte"},
    {"RelativeFolder", [](wire::LaunchTasks& l) { l.set_work_dir("here"); },
     "the working directory is no absolute path"},
    {"NoPath", [](wire::LaunchTasks& l) { l.mutable_tasks(0)->mutable_output()->set_kind(wire::TaskStream::kFile); },
     "task 0: standard output: a path of 0 bytes or with a zero byte"},
    {"NoLimit", [](wire::LaunchTasks& l) { l.set_time_limit_us(-1); }, "the time limit or its signal is none"},
    {"NoSignal", [](wire::LaunchTasks& l) { l.set_warn_signo(NSIG); }, "the time limit or its signal is none"},
    {"LargeTerminal", [](wire::LaunchTasks& l) { l.set_rows(70000); }, "the terminal has 70000 rows and 0 columns"},
};
INSTANTIATE_TEST_SUITE_P(Bad, StepLaunch, ::testing::ValuesIn(kBadLaunches),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(StepTasks, ASecondLaunchEndsTheStep) {
  Scene s;
  TestClient& client = s.run(launch_of({{"sleep", "1000"}}));
  EXPECT_TRUE(client.wait_state(Phase::kRunning));
  client.launch(launch_of({{"true"}}));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.state(Phase::kEnding), "a step is launched once, and this one was launched before");
  s.leave();
}

TEST(StepTasks, AFrameThatIsTooLongEndsTheStep) {
  Scene s;
  const std::string header("\x01\0\0\x01", 4);  // one byte more than an order may have
  s.client->start();
  s.client->session().write(wire::kOrderChannel, header);
  EXPECT_TRUE(s.client->wait_closed());
  EXPECT_TRUE(s.client->state(Phase::kEnding));
  EXPECT_TRUE(s.leave().never_started());
}

struct BadTicket {
  const char* name;
  std::function<void(auth::Ticket&)> spoil;
};
class StepTickets : public ::testing::TestWithParam<BadTicket> {};

TEST_P(StepTickets, OfOthersAreRefusedAndDisturbNobody) {
  Scene s;
  TestClient& client = s.run(launch_of({{"cat"}}));
  EXPECT_TRUE(client.wait_state(Phase::kRunning));
  const auto thief = TestClient::of(s.spec, *s.peer, s.controller, GetParam().spoil);
  thief->launch(launch_of({{"true"}}));
  thief->start();
  EXPECT_TRUE(thief->wait_closed());
  EXPECT_TRUE(thief->controls.empty());
  client.send_input("still here");
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.out(), "still here");
  s.leave();
}

const BadTicket kBadTickets[] = {
    {"OfAnotherUser", [](auth::Ticket& t) { t.uid += 1; }},
    {"OfAnotherStep", [](auth::Ticket& t) { t.step += 1; }},
    {"OfAnotherAttempt", [](auth::Ticket& t) { t.attempt += 1; }},
    {"Expired", [](auth::Ticket& t) { t.expiry = base::Time{1}; }},
    {"Stolen", [](auth::Ticket& t) { t.client_key[0] ^= 1; }},
    {"Second", [](auth::Ticket&) {}},
};
INSTANTIATE_TEST_SUITE_P(Bad, StepTickets, ::testing::ValuesIn(kBadTickets),
                         [](const auto& p) { return std::string(p.param.name); });

TEST(StepTasks, ATicketIsGoodOnce) {
  Scene s;
  TestClient& client = s.run(launch_of({{"cat"}}));
  EXPECT_TRUE(client.wait_state(Phase::kRunning));
  const auto same = [expiry = base::SystemClock().now() + auth::kTicketLife](auth::Ticket& t) {
    t.nonce = {};
    t.expiry = expiry;
  };
  const auto again = TestClient::of(s.spec, *s.peer, s.controller, same);
  again->launch(launch_of({{"true"}}));
  again->start();  // refused for being the second
  EXPECT_TRUE(again->wait_closed());
  const auto reused = TestClient::of(s.spec, *s.peer, s.controller, same);
  reused->start();
  EXPECT_TRUE(reused->wait_closed());
  EXPECT_NE(reused->closed->find("used"), std::string::npos) << *reused->closed;
  client.send_input("");
  EXPECT_TRUE(client.wait_over());
  s.leave();
}

// --- those who go away, and the node daemon ---

TEST(StepTasks, NobodyComes) {
  Scene s(1, [](wire::StepSpec& spec) { spec.mutable_access()->set_launch_limit_us(1000); });
  const wire::StepExit exit = s.leave();
  EXPECT_TRUE(exit.never_started());
  EXPECT_EQ(exit.detail(), "no client said what to run");
}

TEST(StepTasks, EndWithTheirClient) {
  Scene s;
  TestClient& client = s.run(launch_sh("trap 'echo bye > " + s.node.dir() +
                                       "/bye; exit 0' TERM; echo up; while :; do "
                                       "sleep 0.01; done"));
  EXPECT_TRUE(client.wait_text(wire::output_channel(0), "up"));
  client.go_away();
  EXPECT_EQ(wait_line(s.node.dir() + "/bye"), "bye");
  s.leave();
}

TEST(StepTasks, EndWhenTheirClientIsKilled) {
  Scene s;
  TestClient& client = s.run(launch_of({{"sleep", "1000"}}));
  EXPECT_TRUE(client.wait_state(Phase::kRunning));
  client.die();
  EXPECT_EQ(s.leave().signo(), SIGTERM);
}

TEST(StepTasks, GoOnWithoutTheirClientIfKept) {
  Scene s;
  wire::LaunchTasks launch =
      launch_sh("echo up; read line; echo $line; head -c 1000000 /dev/zero; echo end > " + s.node.dir() + "/end");
  launch.mutable_tasks(0)->mutable_input()->set_kind(wire::TaskStream::kFile);
  launch.mutable_tasks(0)->mutable_input()->set_path("/dev/null");
  launch.set_keep(true);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_text(wire::output_channel(0), "up"));
  client.go_away();
  EXPECT_EQ(wait_line(s.node.dir() + "/end"), "end");
  EXPECT_EQ(s.leave().code(), 0);
}

TEST(StepTasks, AreEndedByTheNodeDaemon) {
  Scene s(2);
  TestClient& client = s.run(launch_of({{"sleep", "1000"}, {"sleep", "1000"}}));
  EXPECT_TRUE(client.wait_state(Phase::kRunning));
  s.peer->send(stop(60'000'000));
  EXPECT_TRUE(client.wait_over());
  EXPECT_EQ(client.ended(1), (stream::TaskEnded{1, 0, SIGTERM}));
  EXPECT_EQ(s.leave().signo(), SIGTERM);
}

TEST(StepTasks, LieWithinTheirJob) {
  for (const std::string& kind : usable_kinds()) {
    if (!is_usable(kind, "freeze")) continue;
    SCOPED_TRACE(kind);
    Node node(kind);
    const wire::StepSpec job = node.step("echo up; sleep 1000");
    ShepherdPeer job_peer = node.launch(job);
    EXPECT_EQ(wait_line(node.dir() + "/out"), "up");
    const auth::SigningKey controller;
    wire::StepSpec spec = with_access(node.step(""), controller);
    spec.mutable_containment()->set_parent(job.containment().group());
    spec.mutable_containment()->set_group(job.containment().group() + "/step_0");
    ShepherdPeer peer = node.launch(spec);
    const auto client = TestClient::of(spec, peer, controller);
    client->launch(launch_sh("cat /proc/self/cgroup; sleep 1000"));
    client->start();
    EXPECT_TRUE(client->wait_text(wire::output_channel(0), job.containment().group() + "/step_0\n"));
    client->go_away();
    EXPECT_TRUE(wait_exit(peer));
    peer.send(stop(0, true));
    EXPECT_TRUE(wait_clean(peer));
    peer.send(forget());
    EXPECT_TRUE(peer.wait_closed());
    EXPECT_FALSE(job_peer.wait([](const wire::FromShepherd& m) { return m.has_exit(); }, 0)) << "the job continues";
    job_peer.send(stop(0, true));
    EXPECT_TRUE(wait_clean(job_peer));
    job_peer.send(forget());
    EXPECT_TRUE(job_peer.wait_closed());
  }
}

TEST(StepTasks, AreKilledBeforeTheyStart) {
  Scene s;
  wire::LaunchTasks launch = launch_of({{"true"}});
  launch.set_go(false);
  TestClient& client = s.run(launch);
  EXPECT_TRUE(client.wait_state(Phase::kStarting));
  s.peer->send(stop(0, true));
  EXPECT_TRUE(wait_clean(*s.peer));
  EXPECT_TRUE(client.wait_over());
  s.peer->send(forget());
  EXPECT_TRUE(s.peer->wait_closed());
}

TEST(StepTasks, SayWhereTheyListenToANewConnection) {
  Scene s;
  ShepherdPeer again(s.spec.dir() + "/sock");
  const auto ready = again.wait([](const wire::FromShepherd& m) { return m.has_ready(); });
  ASSERT_TRUE(ready);
  EXPECT_FALSE(ready->ready().address().empty());
  EXPECT_EQ(ready->ready().key().size(), 32u);
  TestClient& client = s.run(launch_of({{"true"}}));
  EXPECT_TRUE(client.wait_over());
  s.leave();
}

}  // namespace
}  // namespace gw::noded::step
