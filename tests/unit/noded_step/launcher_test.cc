// The launcher: what it refuses, what it tells a daemon that was away, and how it leaves.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "harness.h"
#include "noded/step/contain/sweep.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/tree.h"
#include "noded/step/shepherd/step_launcher.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded::step {
namespace {

std::string launch_error(Node& node, const wire::StepSpec& spec) {
  wire::ToLauncher message;
  *message.mutable_launch()->mutable_spec() = spec;
  node.launcher().send(message);
  const auto forked = node.launcher().wait(
      [&](const wire::FromLauncher& m) { return m.has_forked() && m.forked().job() == spec.job(); });
  return forked ? forked->forked().error() : "no answer";
}

TEST(Launcher, AnswersPing) {
  Node node;
  wire::ToLauncher ping;
  ping.mutable_ping();
  node.launcher().send(ping);
  const auto pong = node.launcher().wait([](const wire::FromLauncher& m) { return m.has_pong(); });
  ASSERT_TRUE(pong);
  EXPECT_GE(pong->pong().version(), 1u);
  EXPECT_EQ(pong->pong().shepherds(), 0u);
}

TEST(Launcher, RefusesWhatItCannotPlace) {
  Node node;
  wire::StepSpec spec = node.step("true");
  spec.set_dir(node.dir() + "/no/such/folder");
  EXPECT_EQ(launch_error(node, spec), "state folder " + spec.dir() + ": No such file or directory");
  spec = node.step("true");
  spec.set_dir("relative");
  EXPECT_EQ(launch_error(node, spec), "state folder \"relative\" is not an absolute path");
  spec = node.step("true");
  spec.set_dir(node.dir() + "/" + std::string(120, 'x'));
  EXPECT_NE(launch_error(node, spec).find("the limit is 107"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(spec.dir()));
  spec = node.step("true");
  ASSERT_EQ(::mkdir(spec.dir().c_str(), 0700), 0);
  EXPECT_NE(launch_error(node, spec).find("File exists"), std::string::npos);
}

TEST(Launcher, TellsADaemonThatWasAwayWhatEnded) {
  Node node;
  const wire::StepSpec spec = node.step("exec sleep 1000");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  const pid_t shepherd = node.shepherd();
  node.disconnect();
  ::kill(shepherd, SIGKILL);
  ASSERT_TRUE(wait_dead(shepherd));
  node.reconnect();
  const auto gone = wait_gone(node.launcher(), spec.job());
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->signo(), SIGKILL);
}

TEST(Launcher, DropsAConnectionThatBreaksTheProtocolAndServesTheNext) {
  Node node;
  auto raw = connect_to(node.socket());
  ASSERT_TRUE(raw);
  const std::string length = "\xff\xff\xff\x7f";
  ASSERT_EQ(::send(raw->get(), length.data(), length.size(), MSG_NOSIGNAL), 4);
  char byte = 0;
  ::fcntl(raw->get(), F_SETFL, 0);
  EXPECT_EQ(::recv(raw->get(), &byte, 1, 0), 0);
  node.reconnect();
  ShepherdPeer peer = node.launch(node.step("true"));
  EXPECT_TRUE(wait_exit(peer));
}

TEST(Launcher, IsTheOnlyOneOnItsSocket) {
  Node node;
  Launcher second({node.socket(), GW_PLUGIN_DIR});
  const auto opened = second.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().what, "another launcher serves " + node.socket());
  wire::ToLauncher ping;
  ping.mutable_ping();
  node.launcher().send(ping);
  EXPECT_TRUE(node.launcher().wait([](const wire::FromLauncher& m) { return m.has_pong(); }))
      << "the first one and its daemon are not disturbed";
  struct stat status {};
  ASSERT_EQ(::stat(node.socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(Launcher, LeavesWithItsStepsOnceTheirFoldersAreRemoved) {
  Node node;
  const wire::StepSpec spec = node.step("echo $$ > $D/pid; exec sleep 1000");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  const pid_t task = static_cast<pid_t>(std::stol(wait_line(node.dir() + "/pid")));
  const pid_t shepherd = node.shepherd();
  std::filesystem::remove_all(spec.dir());
  for (const char* end : {"", ".lock"}) std::filesystem::remove(node.socket() + end);
  EXPECT_TRUE(wait_dead(task));
  EXPECT_TRUE(wait_dead(shepherd));
  EXPECT_TRUE(wait_dead(node.launcher_pid()));
}

TEST(Launcher, LeavesTheSocketOfTheOneThatTookItsPlace) {
  Node node;
  for (const char* end : {"", ".lock"}) {
    const std::string path = node.socket() + end;
    std::filesystem::remove(path);
    ASSERT_TRUE(proc::replace_file(node.dir(), path.substr(node.dir().size() + 1), "another's", false));
  }
  EXPECT_TRUE(wait_dead(node.launcher_pid()));
  for (const char* end : {"", ".lock"}) EXPECT_TRUE(std::filesystem::exists(node.socket() + end));
}

TEST(Launcher, LeavesAfterTheLastShepherd) {
  Node node;
  const wire::StepSpec spec = node.step("read line < $D/fifo");
  ASSERT_EQ(::mkfifo((node.dir() + "/fifo").c_str(), 0600), 0);
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  wire::ToLauncher message;
  message.mutable_leave();
  node.launcher().send(message);
  EXPECT_EQ(launch_error(node, node.step("true")), "the launcher is leaving");
  EXPECT_EQ(::kill(node.launcher_pid(), 0), 0);
  peer.send(stop(0, true));
  ASSERT_TRUE(wait_clean(peer));
  peer.send(forget());
  EXPECT_TRUE(wait_dead(node.launcher_pid()));
  EXPECT_FALSE(std::filesystem::exists(node.socket()));
}

TEST(Launcher, CarriesAScriptOfFourMegabytes) {
  Node node;
  const wire::StepSpec spec = node.step("exit 9\n" + std::string(4 << 20, '#'));
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 9);
}

TEST(Sweep, EndsAStepThatNobodyWatches) {
  const std::string kind = is_usable("cgroup_v2") ? "cgroup_v2" : "cgroup_v1";
  if (!is_usable(kind)) return not_here("no cgroup that we may use");
  Node node(kind);
  const wire::StepSpec spec = node.step("setsid sleep 1000 & echo $! > $D/pid; wait");
  ShepherdPeer peer = node.launch(spec);
  const pid_t pid = std::atoi(wait_line(node.dir() + "/pid").c_str());
  ASSERT_GT(pid, 1);
  const pid_t shepherd = node.shepherd();
  node.kill_launcher();
  ::kill(shepherd, SIGKILL);
  ASSERT_TRUE(peer.wait_closed());
  EXPECT_EQ(sweep_groups(GW_PLUGIN_DIR, spec.containment(), 10'000'000), "");
  const auto process = proc::inspect(pid);
  EXPECT_TRUE(!process || !process->is_alive());
  EXPECT_TRUE(remove_state_dir(spec.dir()));
}

TEST(StateDir, IsRemovedWithWhateverLiesInIt) {
  Node node;
  const std::string dir = node.dir() + "/step";
  ASSERT_TRUE(make_state_dir(dir));
  wire::Resize resize;
  resize.add_nodes("n1");
  resize.set_uid(::geteuid());
  resize.set_gid(::getegid());
  ASSERT_TRUE(write_hosts_file(dir, resize));
  ASSERT_TRUE(proc::replace_file(dir, "of-a-later-version.new", "x", false));
  EXPECT_FALSE(is_state_dir_gone(dir));
  EXPECT_TRUE(remove_state_dir(dir));
  EXPECT_TRUE(is_state_dir_gone(dir));
  EXPECT_TRUE(remove_state_dir(dir)) << "nothing to do";
}

TEST(StateDir, DamagedRecordsAreNoRecords) {
  Node node;
  const std::string dir = node.dir() + "/step";
  ASSERT_EQ(::mkdir(dir.c_str(), 0700), 0);
  EXPECT_FALSE(read_exit(dir));
  ASSERT_TRUE(proc::replace_file(dir, "exit", "\xff\xff garbage", false));
  EXPECT_FALSE(read_exit(dir));
  wire::StepExit exit;
  exit.set_code(3);
  ASSERT_TRUE(record_exit(dir, exit));
  ASSERT_TRUE(read_exit(dir));
  EXPECT_EQ(read_exit(dir)->code(), 3);
}

}  // namespace
}  // namespace gw::noded::step
