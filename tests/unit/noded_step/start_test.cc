// How a task starts or says why it cannot: identity, folders, outputs, interpreter, limits.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "harness.h"
#include "model/job_state.h"
#include "noded/step/start/exec_script.h"
#include "noded/step/start/task.h"
#include "noded/step/start/task_limits.h"

namespace gw::noded::step {
namespace {

constexpr uint32_t kNobody = 65534;

// Runs a step to its exit record.
wire::StepExit outcome(Node& node, const wire::StepSpec& spec) {
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  EXPECT_TRUE(exit);
  peer.send(stop(0, true));
  EXPECT_TRUE(wait_clean(peer));
  peer.send(forget());
  EXPECT_TRUE(peer.wait_closed());
  return exit.value_or(wire::StepExit());
}

struct Refusal {
  const char* name;
  std::function<void(Node&, wire::StepSpec&)> arrange;
  model::EndReason reason;
  std::string detail;  // "$D" stands for the test's folder
};

class Start : public ::testing::TestWithParam<Refusal> {};

TEST_P(Start, FailsWithAReason) {
  Node node;
  wire::StepSpec spec = node.step("echo ran > $D/ran");
  GetParam().arrange(node, spec);
  const wire::StepExit exit = outcome(node, spec);
  EXPECT_TRUE(exit.never_started());
  EXPECT_EQ(exit.reason(), static_cast<uint32_t>(GetParam().reason));
  std::string detail = GetParam().detail;
  if (const size_t at = detail.find("$D"); at != std::string::npos) detail.replace(at, 2, node.dir());
  EXPECT_EQ(exit.detail(), detail);
  EXPECT_FALSE(std::filesystem::exists(node.dir() + "/ran"));
}

const Refusal kRefusals[] = {
    {"MissingWorkDir", [](Node& n, wire::StepSpec& s) { s.set_work_dir(n.dir() + "/none"); },
     model::EndReason::kWorkDir, "working directory $D/none: No such file or directory"},
    {"OutputBelowAFile",
     [](Node& n, wire::StepSpec& s) {
       std::ofstream(n.dir() + "/file") << "x";
       s.set_std_out(n.dir() + "/file/out");
     },
     model::EndReason::kOutputPath, "output path $D/file/out: Not a directory"},
    {"OutputIsAFolder", [](Node& n, wire::StepSpec& s) { s.set_std_out(n.dir()); }, model::EndReason::kOutputPath,
     "output path $D: Is a directory"},
    {"OutputIsAFifoWithoutReader",
     [](Node& n, wire::StepSpec& s) {
       ::mkfifo((n.dir() + "/fifo").c_str(), 0600);
       s.set_std_out(n.dir() + "/fifo");
     },
     model::EndReason::kOutputPath, "output path $D/fifo: No such device or address"},
    {"FolderOfErrorsCannotBeMade", [](Node&, wire::StepSpec& s) { s.set_std_err("/proc/none/err"); },
     model::EndReason::kOutputPath,
     "output path /proc/none/err: making its folder: /proc/none: No such file or directory"},
    {"MissingInput", [](Node& n, wire::StepSpec& s) { s.set_std_in(n.dir() + "/in"); }, model::EndReason::kOutputPath,
     "input path $D/in: No such file or directory"},
    {"MissingInterpreter", [](Node&, wire::StepSpec& s) { s.set_script("#!/bin/none -x\nexit\n"); },
     model::EndReason::kLaunchFailed, "script interpreter /bin/none: No such file or directory"},
    {"WindowsLineEnds", [](Node&, wire::StepSpec& s) { s.set_script("#!/bin/sh\r\nexit\r\n"); },
     model::EndReason::kLaunchFailed,
     "script interpreter /bin/sh\\x0d: No such file or directory (the script has Windows line ends)"},
    {"NoInterpreterLine", [](Node&, wire::StepSpec& s) { s.set_script("echo ran > $D/ran\n"); },
     model::EndReason::kLaunchFailed,
     "script cannot be executed: Exec format error (its first line must be #! and an interpreter)"},
    {"UnknownContainment", [](Node&, wire::StepSpec& s) { s.mutable_containment()->set_kind("../evil"); },
     model::EndReason::kLaunchFailed,
     "containment \"../evil\" is no name of a plug-in (built in are cgroup_v2, cgroup_mixed, cgroup_v1, none)"},
};

INSTANTIATE_TEST_SUITE_P(Refusals, Start, ::testing::ValuesIn(kRefusals),
                         [](const auto& refusal) { return std::string(refusal.param.name); });

TEST(Start, MakesMissingFoldersOfOutputs) {
  Node node;
  wire::StepSpec spec = node.step("echo out; echo err >&2");
  spec.set_std_out(node.dir() + "/a/b/out");
  spec.set_std_err(node.dir() + "/c/err");
  EXPECT_EQ(outcome(node, spec).code(), 0);
  EXPECT_EQ(node.file("a/b/out"), "out\n");
  EXPECT_EQ(node.file("c/err"), "err\n");
}

TEST(Start, AppendsOrTruncates) {
  Node node;
  std::ofstream(node.dir() + "/out") << "before\n";
  wire::StepSpec spec = node.step("echo one; echo two >&2");
  spec.set_append(true);
  outcome(node, spec);
  EXPECT_EQ(node.out(), "before\none\ntwo\n");
  spec = node.step("echo three");
  outcome(node, spec);
  EXPECT_EQ(node.out(), "three\n");
}

TEST(Start, SetsUmaskAndLimits) {
  Node node;
  wire::StepSpec spec = node.step("umask; ulimit -Sn; ulimit -Sc");
  spec.set_umask(027);
  (*spec.mutable_limits())["NOFILE"] = 123;
  (*spec.mutable_limits())["CORE"] = 0;
  (*spec.mutable_limits())["NO_SUCH_LIMIT"] = 1;
  outcome(node, spec);
  EXPECT_EQ(node.out(), "0027\n123\n0\n");
}

TEST(Start, CutsALimitToTheHardOne) {
  rlimit hard{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &hard), 0);
  Node node;
  wire::StepSpec spec = node.step("ulimit -Sn");
  (*spec.mutable_limits())["NOFILE"] = hard.rlim_max - 1 + 2;
  outcome(node, spec);
  EXPECT_EQ(node.out(), std::to_string(hard.rlim_max) + "\n");
}

TEST(Start, GivesTheTaskNoForeignDescriptorsSignalsOrTerminal) {
  Node node;
  outcome(node, node.step("ls /proc/$$/fd > $D/fds; grep -E '^Sig(Blk|Ign)' /proc/$$/status | cut -f2 | tr '\\n' ' '\n"
                          "test $$ = $(cut -d' ' -f6 /proc/$$/stat) && echo leader"));
  // From 10 on they are the shell's own: the script, and what it saves while it redirects.
  for (const std::string& fd : base::split(node.file("fds"), '\n')) EXPECT_TRUE(fd.size() != 1 || fd[0] <= '2') << fd;
  EXPECT_EQ(node.out(), "0000000000000000 0000000000000000 leader\n");
}

TEST(Start, RefusesRootWithoutLeave) {
  if (::geteuid() != 0) return not_here("only root can ask for steps of root");
  Node node;
  wire::StepSpec spec = node.step("echo ran > $D/ran");
  spec.set_allow_root(false);
  const wire::StepExit exit = outcome(node, spec);
  EXPECT_TRUE(exit.never_started());
  EXPECT_EQ(exit.detail(),
            "jobs of root (uid 0) are not allowed on this node (submit as an ordinary user, or set allow_root_jobs)");
  EXPECT_FALSE(std::filesystem::exists(node.dir() + "/ran"));
}

TEST(Start, RefusesAForeignUserWithoutRoot) {
  if (::geteuid() == 0) return not_here("root may run steps of anybody");
  Node node;
  wire::StepSpec spec = node.step("true");
  spec.set_uid(::geteuid() + 1);
  EXPECT_TRUE(outcome(node, spec).never_started());
}

TEST(Start, BecomesTheUserForGood) {
  if (::geteuid() != 0) return not_here("only root can become somebody else");
  Node node;
  wire::StepSpec spec = node.step("id -u; id -g; id -G; grep -E '^Cap(Prm|Eff|Amb)' /proc/$$/status | cut -f2; cat $0");
  spec.set_uid(kNobody);
  spec.set_gid(kNobody);
  spec.add_groups(kNobody);
  spec.add_groups(4321);
  spec.set_std_out(node.dir() + "/nobody/out");
  ASSERT_EQ(::mkdir((node.dir() + "/nobody").c_str(), 0700), 0);
  ASSERT_EQ(::chown((node.dir() + "/nobody").c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(outcome(node, spec).code(), 0);
  EXPECT_EQ(node.file("nobody/out"),
            "65534\n65534\n65534 4321\n0000000000000000\n0000000000000000\n0000000000000000\n" + spec.script());
  struct stat made {};
  ASSERT_EQ(::stat((node.dir() + "/nobody/out").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, kNobody);
}

TEST(Start, OpensNothingAsRootForTheUser) {
  if (::geteuid() != 0) return not_here("needs a second user");
  Node node;
  std::ofstream(node.dir() + "/secret") << "root's\n";
  ASSERT_EQ(::chmod((node.dir() + "/secret").c_str(), 0600), 0);
  ASSERT_EQ(::symlink((node.dir() + "/secret").c_str(), (node.dir() + "/link").c_str()), 0);
  wire::StepSpec spec = node.step("echo overwritten");
  spec.set_uid(kNobody);
  spec.set_gid(kNobody);
  spec.set_std_out(node.dir() + "/link");
  const wire::StepExit exit = outcome(node, spec);
  EXPECT_EQ(exit.detail(), "output path " + node.dir() + "/link: Permission denied");
  EXPECT_EQ(node.file("secret"), "root's\n");
  spec = node.step("cat");
  spec.set_uid(kNobody);
  spec.set_gid(kNobody);
  spec.set_std_out("/dev/null");
  spec.set_std_in(node.dir() + "/link");
  EXPECT_TRUE(outcome(node, spec).never_started());
}

TEST(Start, ShowsAnEmulatedNodeItsOwnName) {
  if (::geteuid() != 0) return not_here("namespaces need root");
  char before[256];
  ASSERT_EQ(::gethostname(before, sizeof before), 0);
  Node node;
  wire::StepSpec spec = node.step("uname -n; tail -n 1 /etc/hosts");
  spec.set_node("n7");
  spec.add_hosts("127.0.9.7 n7");
  EXPECT_EQ(outcome(node, spec).code(), 0);
  EXPECT_EQ(node.out(), "n7\n127.0.9.7 n7\n");
  char after[256];
  ASSERT_EQ(::gethostname(after, sizeof after), 0);
  EXPECT_STREQ(before, after);
}

TEST(Interpreter, IsReadAsTheKernelDoes) {
  const Interpreter env = interpreter_of("#! /usr/bin/env  -S python3 -u \nprint()\n");
  EXPECT_EQ(env.path, "/usr/bin/env");
  EXPECT_EQ(env.argument, "-S python3 -u");
  EXPECT_EQ(interpreter_of("#!/bin/sh").path, "/bin/sh");
  EXPECT_EQ(interpreter_of("#!\n").path, "");
  EXPECT_EQ(interpreter_of("echo\n#!/bin/sh").path, "");
  EXPECT_EQ(interpreter_of("").path, "");
}

TEST(TaskEvents, SurviveAnyCut) {
  const std::string bytes = encode({TaskEventKind::kNote, {}, "limit"}) +
                            encode({TaskEventKind::kStarted, {}, "", 0, 70'000, 4'000'000'000}) +
                            encode({TaskEventKind::kFailed, model::EndReason::kWorkDir, std::string(5000, 'x'), 127});
  std::string buffer;
  std::vector<TaskEvent> events;
  for (const char c : bytes) {
    buffer += c;
    TaskEvent event;
    while (take_event(buffer, event)) events.push_back(event);
  }
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].text, "limit");
  EXPECT_EQ(events[1].kind, TaskEventKind::kStarted);
  EXPECT_EQ(events[1].place, 70'000u);
  EXPECT_EQ(events[1].pid, 4'000'000'000u);
  EXPECT_EQ(events[2].reason, model::EndReason::kWorkDir);
  EXPECT_EQ(events[2].code, 127);
  EXPECT_EQ(events[2].text, std::string(2000, 'x'));
}

}  // namespace
}  // namespace gw::noded::step
