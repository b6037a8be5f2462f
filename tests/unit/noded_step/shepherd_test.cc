// Steps with real processes, as the present user, under every kind of containment that this machine has.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "harness.h"
#include "model/job_state.h"
#include "noded/step/contain/plugin_loader.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/proc/tree.h"
#include "noded/step/state/step_folder.h"

namespace gw::noded::step {
namespace {

uint32_t code(model::EndReason reason) { return static_cast<uint32_t>(reason); }

// Ends a step whose task is over: clean, forgotten, nothing left.
void finish(Node& node, ShepherdPeer& peer, const wire::StepSpec& spec) {
  peer.send(stop(0, true));
  ASSERT_TRUE(wait_clean(peer));
  peer.send(forget());
  EXPECT_TRUE(peer.wait_closed());
  const auto gone = wait_gone(node.launcher(), spec.job());
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->code(), 0);
  EXPECT_EQ(gone->signo(), 0);
  EXPECT_FALSE(std::filesystem::exists(spec.dir()));
}

class ShepherdOf : public ::testing::TestWithParam<std::string> {};

TEST_P(ShepherdOf, RunsAScriptAndLeavesNothing) {
  Node node(GetParam());
  wire::StepSpec spec = node.step("echo \"$1 $GREETING\"; cat >&2 </dev/stdin; exit 7");
  spec.add_args("hello");
  spec.add_env("GREETING=world");
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 7);
  EXPECT_EQ(exit->signo(), 0);
  EXPECT_FALSE(exit->never_started());
  EXPECT_GT(exit->ended_us(), 0);
  EXPECT_EQ(node.out(), "hello world\n");
  const auto recorded = read_exit(spec.dir());
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->code(), 7);
  finish(node, peer, spec);
}

TEST_P(ShepherdOf, KillsWhatCalledSetsid) {
  Node node(GetParam());
  const wire::StepSpec spec = node.step(
      "setsid sh -c '(trap \"\" TERM HUP; sh -c \"echo \\$PPID\" > $D/pid; exec sleep 1000) &' & wait; exit 0");
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  const pid_t pid = std::atoi(wait_line(node.dir() + "/pid").c_str());
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(pid, 0), 0) << "it outlives the script until the step is stopped";
  peer.send(stop(50'000));
  ASSERT_TRUE(wait_clean(peer));
  EXPECT_FALSE(proc::inspect(pid));
  finish(node, peer, spec);
}

TEST_P(ShepherdOf, GraceIsForThoseWhoListen) {
  Node node(GetParam());
  const wire::StepSpec spec = node.step("trap 'exit 3' TERM; sleep 1000 & echo up > $D/up; while :; do wait; done");
  ShepherdPeer peer = node.launch(spec);
  EXPECT_EQ(wait_line(node.dir() + "/up"), "up");
  peer.send(stop(15'000'000));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 3);
  ASSERT_TRUE(wait_clean(peer));
  finish(node, peer, spec);
}

TEST_P(ShepherdOf, KillsAfterGraceWhatIgnoresSigterm) {
  Node node(GetParam());
  const wire::StepSpec spec = node.step("trap '' TERM; echo up > $D/up; while :; do sleep 1000; done");
  ShepherdPeer peer = node.launch(spec);
  EXPECT_EQ(wait_line(node.dir() + "/up"), "up");
  const int64_t before = monotonic_us();
  peer.send(stop(200'000));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signo(), SIGKILL);
  EXPECT_GE(monotonic_us() - before, 200'000);
  finish(node, peer, spec);
}

TEST_P(ShepherdOf, EndsAStepWhoseShepherdWasKilled) {
  Node node(GetParam());
  const wire::StepSpec spec = node.step("setsid sleep 1000 & echo $! > $D/pid; wait");
  ShepherdPeer peer = node.launch(spec);
  const pid_t pid = std::atoi(wait_line(node.dir() + "/pid").c_str());
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(node.shepherd(), SIGKILL), 0);
  const auto gone = wait_gone(node.launcher(), spec.job());
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->signo(), SIGKILL);
  EXPECT_EQ(gone->problem(), "");
  EXPECT_FALSE(proc::inspect(pid));
  EXPECT_TRUE(peer.wait_closed());
}

TEST_P(ShepherdOf, LeavesOtherStepsAloneWhenAShepherdDies) {
  Node node(GetParam());
  const wire::StepSpec victim = node.step("sleep 1000");
  ShepherdPeer victim_peer = node.launch(victim);
  const pid_t victim_shepherd = node.shepherd();
  ASSERT_TRUE(wait_started(victim_peer));
  const wire::StepSpec other = node.step("echo up > $D/up; read line < $D/fifo; exit 5");
  ASSERT_EQ(::mkfifo((node.dir() + "/fifo").c_str(), 0600), 0);
  ShepherdPeer peer = node.launch(other);
  EXPECT_EQ(wait_line(node.dir() + "/up"), "up");
  ::kill(victim_shepherd, SIGKILL);
  ASSERT_TRUE(wait_gone(node.launcher(), victim.job()));
  const proc::OwnedFd fifo(::open((node.dir() + "/fifo").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(proc::write_all(fifo.get(), "go\n", "fifo"));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 5);
  finish(node, peer, other);
}

TEST_P(ShepherdOf, SignalsTheScriptOrAll) {
  Node node(GetParam());
  const wire::StepSpec spec = node.step(
      "sh -c 'trap \"echo child >> $D/got\" USR1; echo up > $D/up; while :; do sleep 0.05; done' &\n"
      "trap 'echo script >> $D/got' USR1; while :; do wait; done");
  ShepherdPeer peer = node.launch(spec);
  EXPECT_EQ(wait_line(node.dir() + "/up"), "up");
  peer.send(signal_request(SIGUSR1, true));
  EXPECT_EQ(wait_line(node.dir() + "/got"), "script");
  std::filesystem::rename(node.dir() + "/got", node.dir() + "/before");
  peer.send(signal_request(999, false));  // no such signal: no harm
  // To the child alone it goes only by the second form; `sleep` dies of it, which its shell does not mind.
  peer.send(signal_request(SIGUSR1, false));
  std::string got;
  while (got.find("child") == std::string::npos || got.find("script") == std::string::npos) {
    const std::string line = wait_line(node.dir() + "/got");
    ASSERT_FALSE(line.empty());
    got = node.file("got");
  }
  finish(node, peer, spec);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShepherdOf, ::testing::ValuesIn(usable_kinds()),
                         [](const auto& kind) { return kind.param; });

TEST(Shepherd, AlwaysHasOneKindOfContainment) {
  EXPECT_TRUE(is_usable("none"));
  for (const std::string& kind : containment_kinds())
    if (!is_usable(kind)) not_here("steps under " + kind);
}

TEST(Shepherd, TellsTheSignalThatKilledTheScript) {
  Node node;
  const wire::StepSpec spec = node.step("kill -USR1 $$");
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signo(), SIGUSR1);
  EXPECT_EQ(exit->code(), 0);
  finish(node, peer, spec);
}

TEST(Shepherd, SaysEverythingAgainToANewDaemon) {
  Node node;
  const wire::StepSpec spec = node.step("echo done");
  {
    ShepherdPeer first = node.launch(spec);
    ASSERT_TRUE(wait_exit(first));
  }
  ShepherdPeer second(spec.dir() + "/sock");
  ASSERT_TRUE(wait_exit(second));
  ASSERT_EQ(second.seen().size(), 4u);
  EXPECT_EQ(second.seen()[0].hello().job(), spec.job());
  EXPECT_EQ(second.seen()[0].hello().attempt(), 1u);
  EXPECT_TRUE(second.seen()[1].has_ready());
  EXPECT_TRUE(second.seen()[2].has_started());
  EXPECT_TRUE(second.seen()[3].has_exit());
  finish(node, second, spec);
}

TEST(Shepherd, OutlivesALauncherKilled) {
  Node node;
  const wire::StepSpec spec = node.step("echo up > $D/up; read line < $D/fifo; exit 4");
  ASSERT_EQ(::mkfifo((node.dir() + "/fifo").c_str(), 0600), 0);
  ShepherdPeer peer = node.launch(spec);
  EXPECT_EQ(wait_line(node.dir() + "/up"), "up");
  const pid_t shepherd = node.shepherd();
  node.kill_launcher();
  const proc::OwnedFd fifo(::open((node.dir() + "/fifo").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(proc::write_all(fifo.get(), "go\n", "fifo"));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 4);
  peer.send(stop(0, true));
  ASSERT_TRUE(wait_clean(peer));
  peer.send(forget());
  EXPECT_TRUE(peer.wait_closed());
  EXPECT_TRUE(wait_dead(shepherd));
  EXPECT_FALSE(std::filesystem::exists(spec.dir()));
}

TEST(Shepherd, WaitsForGoWithEverythingChecked) {
  Node node;
  wire::StepSpec spec = node.step("echo ran");
  spec.set_wait_for_go(true);
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(peer.wait([](const wire::FromShepherd& m) { return m.has_ready(); }));
  EXPECT_EQ(node.out(), "") << "the output is open, the script has not run";
  peer.send(go());
  ASSERT_TRUE(wait_started(peer));
  ASSERT_TRUE(wait_exit(peer));
  EXPECT_EQ(node.out(), "ran\n");
  finish(node, peer, spec);
}

TEST(Shepherd, StopBeforeGoOnlyCleans) {
  Node node;
  wire::StepSpec spec = node.step("echo ran");
  spec.set_wait_for_go(true);
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(peer.wait([](const wire::FromShepherd& m) { return m.has_ready(); }));
  peer.send(stop(10'000'000));
  ASSERT_TRUE(wait_clean(peer));
  for (const wire::FromShepherd& m : peer.seen()) EXPECT_FALSE(m.has_exit() || m.has_started());
  EXPECT_EQ(node.out(), "");
  finish(node, peer, spec);
}

TEST(Shepherd, AStepWithoutScriptHoldsTheContainmentOnly) {
  Node node;
  wire::StepSpec spec = node.step("");
  spec.clear_script();
  spec.set_wait_for_go(true);
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(peer.wait([](const wire::FromShepherd& m) { return m.has_ready(); }));
  peer.send(go());
  ASSERT_TRUE(wait_started(peer));
  finish(node, peer, spec);
}

// The end of its script does not end a run: what it left behind is killed like the rest.
TEST(Shepherd, LeaseKillsWhatTheScriptLeftBehind) {
  Node node;
  wire::StepSpec spec = node.step("sleep 1000 & exit 3");
  spec.set_lease_us(1'500'000);
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code(), 3);
  ASSERT_TRUE(wait_clean(peer)) << "though nobody sent a stop";
  EXPECT_EQ(read_exit(spec.dir())->code(), 3);
  EXPECT_NE(read_exit(spec.dir())->reason(), code(model::EndReason::kLeaseExpired));
  finish(node, peer, spec);
}

TEST(Shepherd, EndsItselfWhenTheLeaseExpires) {
  Node node;
  wire::StepSpec spec = node.step("exec sleep 1000");
  spec.set_lease_us(200'000);
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->reason(), code(model::EndReason::kLeaseExpired));
  ASSERT_TRUE(wait_clean(peer));
  EXPECT_EQ(read_exit(spec.dir())->reason(), code(model::EndReason::kLeaseExpired));
  finish(node, peer, spec);
}

TEST(Shepherd, LeaseCountsFromWhenTheControllerWasHeard) {
  Node node;
  wire::StepSpec spec = node.step("exec sleep 1000");
  spec.set_lease_us(3600'000'000);
  spec.set_lease_age_us(3540'000'000);  // a minute is left
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  wire::ToShepherd renewal;
  renewal.mutable_query()->set_age_us(1'000'000);
  peer.send(renewal);
  renewal.mutable_query()->set_age_us(3600'000'000);  // older than what is known: says nothing new
  peer.send(renewal);
  peer.send(signal_request(SIGKILL, false));
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signo(), SIGKILL);
  EXPECT_NE(exit->reason(), code(model::EndReason::kLeaseExpired));
  finish(node, peer, spec);

  wire::StepSpec late = node.step("exec sleep 1000");
  late.set_lease_us(3600'000'000);
  late.set_lease_age_us(3600'000'000);
  ShepherdPeer other = node.launch(late);
  const auto ended = wait_exit(other);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->reason(), code(model::EndReason::kLeaseExpired));
  finish(node, other, late);
}

TEST(Shepherd, GoesOnWhenItsLeaseIsRenewed) {
  Node node;
  wire::StepSpec spec = node.step("exec sleep 1000");
  constexpr int kLeft = 6;  // seconds
  // On a machine that has just started nothing can be old: the lease is as long as that is ago.
  spec.set_heard_boot_us(base::seconds(kLeft).us);
  spec.set_lease_us(base::boot_time_now().us);
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  wire::ToShepherd renewal;
  renewal.mutable_query()->set_heard_boot_us(base::boot_time_now().us);
  peer.send(renewal);
  EXPECT_FALSE(peer.wait([](const wire::FromShepherd& m) { return m.has_exit(); }, (kLeft + 1) * 1000));
  peer.send(signal_request(SIGKILL, false));
  ASSERT_TRUE(wait_exit(peer));
  finish(node, peer, spec);
}

TEST(Shepherd, LeaseCountsByTheClockThatTheDaemonNames) {
  Node node;
  wire::StepSpec spec = node.step("exec sleep 1000");
  // However long the order was on its way, and however old it calls itself: since the machine started.
  spec.set_heard_boot_us(1);
  spec.set_lease_us(base::boot_time_now().us / 2);
  ShepherdPeer peer = node.launch(spec);
  const auto ended = wait_exit(peer);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->reason(), code(model::EndReason::kLeaseExpired));
  finish(node, peer, spec);
}

TEST(Shepherd, IsToldThatTheLeaseIsOver) {
  Node node;
  wire::StepSpec spec = node.step("exec sleep 1000");
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  wire::ToShepherd over = stop(0, true);
  over.mutable_stop()->set_lease_over(true);
  peer.send(over);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->reason(), code(model::EndReason::kLeaseExpired));
  finish(node, peer, spec);
}

TEST(Shepherd, OrdersRenewNoLease) {
  Node node;
  wire::StepSpec spec = node.step("exec sleep 1000");
  spec.set_lease_us(500'000);
  ShepherdPeer peer = node.launch(spec);
  ASSERT_TRUE(wait_started(peer));
  // Signals keep coming until the end: it comes all the same.
  std::optional<wire::FromShepherd> exit;
  for (int i = 0; i < 600 && !exit; ++i) {
    peer.send(signal_request(SIGWINCH, true));  // ignored by who does not ask for it
    exit = peer.wait([](const wire::FromShepherd& m) { return m.has_exit(); }, 50);
  }
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->exit().reason(), code(model::EndReason::kLeaseExpired));
  finish(node, peer, spec);
}

TEST(Shepherd, KillsAWholeGroupAtTheMemoryLimit) {
  const std::string kind = is_usable("cgroup_v2", "memory")      ? "cgroup_v2"
                           : is_usable("cgroup_mixed", "memory") ? "cgroup_mixed"
                                                                 : "cgroup_v1";
  if (!is_usable(kind, "memory")) return not_here("this machine has no memory controller that we may use");
  Node node(kind);
  wire::StepSpec spec = node.step("x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo not reached");
  spec.mutable_containment()->set_mem_limit_mb(64);
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_TRUE(exit->oom());
  EXPECT_EQ(exit->signo(), SIGKILL);
  EXPECT_EQ(exit->limit_mem_mb(), 64u);
  EXPECT_GE(exit->peak_mem_mb(), 60u);
  EXPECT_LE(exit->peak_mem_mb(), 64u);
  EXPECT_NE(exit->detail().find("limit 64 MiB"), std::string::npos) << exit->detail();
  finish(node, peer, spec);
}

TEST(Shepherd, KillsWhatMovedItselfOutOfTheGroup) {
  const std::string unified = "/sys/fs/cgroup/unified/cgroup.procs";
  const std::string top = std::filesystem::exists(unified) ? unified : "/sys/fs/cgroup/cgroup.procs";
  if (::geteuid() != 0 || !is_usable("cgroup_v2")) return not_here("only root can move itself out of a v2 group");
  Node node("cgroup_v2");
  const wire::StepSpec spec =
      node.step("setsid sh -c 'echo $$ > " + top + " && echo $$ > $D/pid; exec sleep 1000' & wait");
  ShepherdPeer peer = node.launch(spec);
  const pid_t pid = std::atoi(wait_line(node.dir() + "/pid").c_str());
  ASSERT_GT(pid, 1);
  peer.send(stop(0, true));
  ASSERT_TRUE(wait_clean(peer));
  EXPECT_FALSE(proc::inspect(pid));
  finish(node, peer, spec);
}

TEST(Shepherd, LimitsTheNumberOfProcesses) {
  const std::string kind = is_usable("cgroup_v2", "pids") ? "cgroup_v2" : "cgroup_mixed";
  if (!is_usable(kind, "pids")) return not_here("this machine has no pids controller that we may use");
  Node node(kind);
  wire::StepSpec spec = node.step("for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; echo not reached");
  spec.mutable_containment()->set_max_pids(5);
  ShepherdPeer peer = node.launch(spec);
  const auto exit = wait_exit(peer);
  ASSERT_TRUE(exit);
  EXPECT_NE(exit->code(), 0);
  EXPECT_EQ(node.out().find("not reached\n"), std::string::npos);
  finish(node, peer, spec);
}

}  // namespace
}  // namespace gw::noded::step
