// gpmixd: the PMIx server of one step on one node, started by the step's shepherd as the step's user with its sockets
// at descriptors 3 and up; or (`--environment`) what tasks need in order to find one.
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "noded/pmix/helper.h"

namespace {

namespace pmix = gw::noded::pmix;

constexpr const char* kUsage =
    "usage: gpmixd --step\n"
    "       gpmixd --environment\n"
    "  --step         serve the tasks of a step (started by gstepd)\n"
    "  --environment  print the variables by which a task finds its server\n";
constexpr uid_t kNobody = 65534;

// libpmix takes its settings from the environment; those of the one who started us are not meant for it.
void set_environment() {
  ::clearenv();
  ::setenv("PATH", "/usr/bin:/bin", 1);
  // Values are kept in memory, not in files that tasks map: nothing to clean up, and it works in containers.
  ::setenv("PMIX_MCA_gds", "hash", 1);
  // The machine's devices are of no interest, and looking for them takes longer than all the rest.
  ::setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  ::setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
}

int environment() {
  if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) {
    std::perror("gpmixd: cannot become an unprivileged user");
    return 1;
  }
  return pmix::print_environment();
}

gw::io::Fd inherited(int fd) { return gw::io::Fd(::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1); }

int step() {
  // The end of the step is told by the shepherd; SIGTERM is for the tasks.
  for (const int signo : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM})
    ::signal(signo, SIG_IGN);
  ::prctl(PR_SET_DUMPABLE, 0);  // it holds the step's secret
  rlimit files{};               // each task takes three
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  pmix::Sockets sockets{inherited(3), inherited(4), inherited(5), inherited(6), {}};
  for (int fd = 7; gw::io::Fd visitor = inherited(fd); ++fd) sockets.visitors.push_back(std::move(visitor));
  if (!sockets.shepherd || !sockets.tasks) {
    std::fprintf(stderr, "gpmixd: --step is for gstepd, which gives it its sockets\n");
    return 2;
  }
  return pmix::Helper(std::move(sockets)).run();
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc == 2 ? argv[1] : "";
  set_environment();
  if (std::strcmp(what, "--environment") == 0) return environment();
  if (std::strcmp(what, "--step") == 0) return step();
  const bool is_help = std::strcmp(what, "--help") == 0 || std::strcmp(what, "-h") == 0;
  std::fputs(kUsage, is_help ? stdout : stderr);
  return is_help ? 0 : 2;
}
