// Containment plug-ins: the loader's checks, the readers of kernel files, and groups made, refused and removed.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "noded/step/contain/plugin_loader.h"
#include "noded/step/proc/tree.h"
#include "plugins/contain/support/devices.h"
#include "plugins/contain/support/group.h"
#include "plugins/contain/support/mounts.h"

namespace gw::contain {
namespace {

using namespace noded::step;

// Says that a test has nothing to test on this machine.
void not_here(const std::string& why) { std::printf("[ NOT HERE ] %s\n", why.c_str()); }

TEST(Mounts, AreReadFromMountinfo) {
  const Mounts mounts = parse_mounts(
      "25 20 0:22 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
      "26 20 0:23 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "27 20 0:24 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
      "28 20 0:25 / /sys/fs/cgroup/with\\040space rw - cgroup2 cgroup2 rw,nsdelegate\n"
      "nonsense\n29 20\n - \n");
  EXPECT_EQ(mounts.v1.at("memory"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(mounts.v1.at("cpuacct"), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_FALSE(mounts.v1.contains("name=systemd"));
  EXPECT_EQ(mounts.v2, "/sys/fs/cgroup/with space");
  EXPECT_EQ(parse_mounts("").v2, "");
}

TEST(Mounts, OwnV2GroupIsTheLineOfHierarchyZero) {
  EXPECT_EQ(parse_own_v2_group("4:memory:/x\n0::/user.slice/a.scope\n"), "/user.slice/a.scope");
  EXPECT_EQ(parse_own_v2_group("4:memory:/x\n"), "");
}

TEST(Group, NamesStayBelowTheBase) {
  for (const char* bad : {"", "/etc", "a/../../etc", "a//b", "a/.", ".."}) EXPECT_FALSE(Group::at("/base", bad)) << bad;
  EXPECT_EQ(Group::at("/base", "gangway/c/n0/job_7.1")->dir(), "/base/gangway/c/n0/job_7.1");
}

TEST(Group, KeyedValues) {
  const std::string control = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
  EXPECT_EQ(keyed_value(control, "oom_kill"), 3u);
  EXPECT_EQ(keyed_value(control, "oom"), 0u);
  EXPECT_EQ(keyed_value("", "oom_kill"), 0u);
}

TEST(Tree, ReadsStatWhateverTheCommandIsCalled) {
  const auto p = proc::parse_stat(
      "71 (a) R (b) S 5 71 71 0 -1 4194560 100 0 0 0 0 0 0 0 20 0 3 0 12345 2560000 0 18446744073709551615");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->pid, 71);
  EXPECT_EQ(p->command, "a) R (b");
  EXPECT_EQ(p->state, 'S');
  EXPECT_EQ(p->parent, 5);
  EXPECT_EQ(p->threads, 3u);
  EXPECT_EQ(p->start_ticks, 12345u);
  for (const char* bad : {"", "71", "71 (x", "71 (x) S", "x (y) S 1 2"}) EXPECT_FALSE(proc::parse_stat(bad)) << bad;
}

TEST(Tree, AZombieWithThreadsLives) {
  proc::Process p;
  p.state = 'Z';
  p.threads = 1;
  EXPECT_FALSE(p.is_alive());
  p.threads = 2;
  EXPECT_TRUE(p.is_alive());
}

TEST(Loader, ExplainsWhatItRefuses) {
  EXPECT_NE(load_containment(GW_PLUGIN_DIR, "../x").error().what.find("no name of a plug-in"), std::string::npos);
  EXPECT_NE(load_containment(GW_PLUGIN_DIR, "absent").error().what.find("cannot be loaded"), std::string::npos);
  EXPECT_FALSE(choose_containment("/nonexistent", "auto"));
  ContainPlugin plugin{kContainInterface + 1, GW_CONTAIN_BUILD_HASH, "none", nullptr};
  EXPECT_NE(check_plugin("f", &plugin, "none").error().what.find("made for containment interface"), std::string::npos);
  plugin = {kContainInterface, "other", "none", nullptr};
  EXPECT_NE(check_plugin("f", &plugin, "none").error().what.find("comes from another build"), std::string::npos);
  plugin = {kContainInterface, GW_CONTAIN_BUILD_HASH, "some", nullptr};
  EXPECT_NE(check_plugin("f", &plugin, "none").error().what.find("calls itself \"some\""), std::string::npos);
  EXPECT_FALSE(check_plugin("f", nullptr, "none"));
}

TEST(Loader, RefusesALibraryWithoutFactory) {
  char name[] = "/tmp/gwcontain.XXXXXX";
  const std::string dir = ::mkdtemp(name);
  Dl_info libc{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::getpid), &libc), 0);
  std::filesystem::create_symlink(libc.dli_fname, dir + "/contain_libc.so");
  const auto loaded = load_containment(dir, "libc");
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().what.find("exports no gangway_contain_plugin"), std::string::npos) << loaded.error().what;
  std::filesystem::remove_all(dir);
}

TEST(Loader, ChoosesWhatGivesMost) {
  const auto choice = choose_containment(GW_PLUGIN_DIR, "auto");
  ASSERT_TRUE(choice) << choice.error().text();
  ASSERT_EQ(choice->reports.size(), containment_kinds().size());
  uint32_t most = 0;
  uint32_t chosen = 0;
  for (const ProbeReport& report : choice->reports) {
    if (report.usable) most = std::max(most, report.usable_controllers());
    if (report.kind == choice->kind) chosen = report.usable_controllers();
    for (const ControllerReport& c : report.controllers) EXPECT_NE(c.usable, !c.why_not.empty()) << c.controller;
  }
  EXPECT_EQ(chosen, most);
}

class Plugin : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Containment> make() { return std::move(*make_containment(GW_PLUGIN_DIR, GetParam())); }
  bool can(const std::string& what) {
    for (const ControllerReport& c : make()->probe().controllers)
      if (c.controller == what) return c.usable;
    return false;
  }
  ContainSpec spec() {
    ContainSpec s;
    s.group = "gangway/contain" + std::to_string(::getpid()) + "/job";
    return s;
  }
  void TearDown() override { make()->remove_parents(spec().group); }
};

// A child that joined the groups and waits; -1 if it could not join.
pid_t spawn_member(Containment& contain) {
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const char answer = contain.join(false) ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char answer = 'n';
  const bool joined = ::read(ready[0], &answer, 1) == 1 && answer == 'y';
  ::close(ready[0]);
  ::close(ready[1]);
  return joined ? pid : -1;
}

TEST_P(Plugin, HoldsAndKillsEvenWhatIsFrozen) {
  if (!can("freeze")) return not_here(std::string(GetParam()) + " cannot freeze on this machine");
  const auto contain = make();
  ContainSpec s = spec();
  if (can("pids")) s.max_pids = 10;
  ASSERT_TRUE(contain->prepare(s));
  const pid_t pid = spawn_member(*contain);
  ASSERT_GT(pid, 0);
  EXPECT_EQ(contain->members(), std::vector<pid_t>{pid});
  EXPECT_FALSE(make()->prepare(s)) << "a group with processes is not taken over";
  EXPECT_FALSE(contain->remove());
  EXPECT_TRUE(contain->freeze());
  contain->kill_pass();
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(contain->members().empty());
  EXPECT_TRUE(contain->remove());
}

TEST_P(Plugin, ReplacesAnEmptyGroupLeftBehind) {
  if (!can("kill")) return not_here(std::string(GetParam()) + " is not usable on this machine");
  ASSERT_TRUE(make()->prepare(spec()));
  const auto again = make();
  EXPECT_TRUE(again->prepare(spec()));
  EXPECT_TRUE(again->remove());
}

TEST_P(Plugin, AdoptsAndSignals) {
  if (!can("freeze")) return not_here(std::string(GetParam()) + " has no groups on this machine");
  const pid_t pid = ::fork();
  if (pid == 0)
    for (;;) ::pause();
  const auto contain = make();
  ASSERT_TRUE(contain->prepare(spec()));
  EXPECT_TRUE(contain->adopt(pid));
  const auto other = make();
  other->attach(spec());
  EXPECT_EQ(other->members(), std::vector<pid_t>{pid});
  other->signal_all(SIGUSR2);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGUSR2);
  EXPECT_TRUE(other->remove());
}

TEST_P(Plugin, HidesDevices) {
  if (!can("devices")) return not_here(std::string(GetParam()) + " cannot hide devices on this machine");
  const auto contain = make();
  ContainSpec s = spec();
  s.all_devices = {"/dev/full", "/dev/zero", "/dev/no_such_device"};
  s.allow_devices = {"/dev/zero"};
  ASSERT_TRUE(contain->prepare(s));
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!contain->join(false)) ::_exit(3);
    const bool denied = ::open("/dev/full", O_RDONLY) < 0 && errno == EPERM;
    const bool allowed = ::open("/dev/zero", O_RDONLY) >= 0 && ::open("/dev/null", O_RDONLY) >= 0;
    ::_exit(denied && allowed ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(contain->remove());
}

TEST_P(Plugin, BindsToCores) {
  if (!can("cpuset")) return not_here(std::string(GetParam()) + " cannot bind to cores on this machine");
  const auto contain = make();
  ContainSpec s = spec();
  s.cpus = "0";
  ASSERT_TRUE(contain->prepare(s));
  const pid_t pid = ::fork();
  if (pid == 0) {
    cpu_set_t set;
    const bool bound = contain->join(false) && ::sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1;
    ::_exit(bound ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(contain->remove());
}

TEST_P(Plugin, LeavesNothingAfterALimitThatTheKernelRefuses) {
  if (!can("cpuset")) return not_here(std::string(GetParam()) + " cannot bind to cores on this machine");
  const auto contain = make();
  ContainSpec s = spec();
  s.cpus = "60000";
  EXPECT_FALSE(contain->prepare(s));
  for (const auto& hierarchy : std::filesystem::directory_iterator("/sys/fs/cgroup"))
    EXPECT_FALSE(std::filesystem::exists(hierarchy.path() / s.group)) << hierarchy.path();
}

TEST_P(Plugin, AStepIsUnderTheLimitsOfItsJob) {
  if (!can("pids") || !can("freeze")) return not_here(std::string(GetParam()) + " cannot limit on this machine");
  const auto job = make();
  ContainSpec s = spec();
  s.max_pids = 2;
  ASSERT_TRUE(job->prepare(s));
  ContainSpec inner;
  inner.group = s.group + "/step_0";
  inner.parent = s.group;
  const auto step = make();
  ASSERT_TRUE(step->prepare(inner));
  const pid_t pid = spawn_member(*step);
  ASSERT_GT(pid, 0);
  EXPECT_EQ(step->members(), std::vector<pid_t>{pid});
  EXPECT_EQ(job->members(), std::vector<pid_t>{pid});
  const pid_t forker = ::fork();
  if (forker == 0) {
    if (!step->join(false)) ::_exit(3);
    const pid_t third = ::fork();
    if (third == 0) ::_exit(0);
    ::_exit(third < 0 && errno == EAGAIN ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(forker, &status, 0), forker);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the job's bound of processes holds for its step";
  EXPECT_TRUE(job->freeze());
  EXPECT_TRUE(job->thaw());
  job->kill_pass();
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(step->remove());
  EXPECT_TRUE(job->remove());
}

TEST_P(Plugin, AStepsGroupIsMadeBesideTheProcessesOfItsJob) {
  if (!can("freeze")) return not_here(std::string(GetParam()) + " has no groups on this machine");
  const auto job = make();
  ContainSpec s = spec();
  if (can("memory")) s.mem_limit_mb = 64;
  ASSERT_TRUE(job->prepare(s));
  const pid_t script = spawn_member(*job);
  ASSERT_GT(script, 0);
  ContainSpec inner;
  inner.group = s.group + "/step_0";
  inner.parent = s.group;
  const auto step = make();
  ASSERT_TRUE(step->prepare(inner));
  const pid_t task = spawn_member(*step);
  ASSERT_GT(task, 0);
  step->kill_pass();
  int status = 0;
  ASSERT_EQ(::waitpid(task, &status, 0), task);
  EXPECT_TRUE(step->remove());
  EXPECT_EQ(job->members(), std::vector<pid_t>{script});
  job->kill_pass();
  ASSERT_EQ(::waitpid(script, &status, 0), script);
  EXPECT_TRUE(job->remove());
}

INSTANTIATE_TEST_SUITE_P(Kinds, Plugin, ::testing::Values("none", "cgroup_v1", "cgroup_v2", "cgroup_mixed"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace gw::contain
