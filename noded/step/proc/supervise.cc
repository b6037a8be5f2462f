// See supervise.h.
#include "noded/step/proc/supervise.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "base/text.h"
#include "base/time.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/tree.h"

namespace gw::noded::step::proc {
namespace {

constexpr int kUnusableCode = 125, kNotExecutableCode = 126;

int64_t now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

[[noreturn]] void become(char** argv, const sigset_t& unblocked) {
  ::setsid();
  static_cast<void>(write_control("/proc/self/oom_score_adj", "0"));  // the daemon's protection is not for it
  ::sigprocmask(SIG_SETMASK, &unblocked, nullptr);
  ::execv(argv[0], argv);
  std::fprintf(stderr, "%s: %s\n", argv[0], std::strerror(errno));
  ::_exit(kNotExecutableCode);
}

/// Reaps what has ended; the status of the program, if it was among that.
std::optional<int> reap(pid_t program) {
  std::optional<int> found;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == program) found = status;
  return found;
}

void end_all() {
  constexpr int kMostRounds = 50;  // what is in the kernel for so long is left
  for (int round = 0; round < kMostRounds && !descendants(::getpid()).empty(); ++round) {
    kill_descendants(::getpid());
    const timespec wait{0, 20'000'000};
    ::nanosleep(&wait, nullptr);
    reap(-1);
  }
}

/// The exit code for this process.
int watch(pid_t program, int64_t limit_us, const sigset_t& signals) {
  const int64_t deadline = now_us() + limit_us;
  for (;;) {
    const int64_t left = deadline - now_us();
    const timespec wait{left > 0 ? left / 1'000'000 : 0, left > 0 ? left % 1'000'000 * 1'000 : 0};
    const int signo = ::sigtimedwait(&signals, nullptr, &wait);
    if (const auto status = reap(program)) return WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
    if (signo != SIGTERM && now_us() < deadline) continue;
    end_all();
    if (signo != SIGTERM)
      std::fprintf(stderr, "killed: it took longer than %s\n", base::format_duration(base::Duration{limit_us}).c_str());
    return kTimeOverCode;
  }
}

}  // namespace

int supervise(int argc, char** argv) {
  if (argc < 3 || argv[2][0] != '/') {
    std::fprintf(stderr, "gstepd: %s takes a pid, microseconds and the path of a program\n", kSupervise);
    return kUnusableCode;
  }
  const auto parent = base::parse_int(argv[0], 1, INT32_MAX, "pid");
  const auto limit = base::parse_int(argv[1], 1, INT64_MAX / 4, "microseconds");
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  if (!parent || !limit || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
    return kUnusableCode;
  if (::getppid() != *parent) return kTimeOverCode;  // it ended before we could be told of it
  const pid_t program = ::fork();
  if (program < 0) {
    std::perror("gstepd: fork");
    return kUnusableCode;
  }
  if (program == 0) become(argv + 2, before);
  return watch(program, *limit, signals);
}

}  // namespace gw::noded::step::proc
