// What every process of a step goes through between its fork and its execve.
#include "noded/step/start/child.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "base/text.h"
#include "noded/step/proc/files.h"
#include "noded/step/start/host_view.h"
#include "noded/step/start/identity.h"
#include "noded/step/start/task_limits.h"

namespace gw::noded::step {
namespace {

#if defined(__has_feature)
#define GW_HAS_FEATURE(name) __has_feature(name)
#else
#define GW_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || GW_HAS_FEATURE(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || GW_HAS_FEATURE(address_sanitizer)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif
// The thread sanitizer puts its locks in order in the child of fork(); a clone3 it does not see, and the child hangs.
constexpr bool kMayClone = !kThreadSanitizer;
// What the address sanitizer knows of the stack would be wrong after another process has used it.
constexpr bool kMayShareMemory = !kThreadSanitizer && !kAddressSanitizer;

constexpr int kSentToTasks[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

/// What is pending and to be ignored is dropped before it could be delivered.
void reset_signals(bool ignores_ends) {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signo = 1; signo < NSIG; ++signo)
    if (signo != SIGKILL && signo != SIGSTOP) ::sigaction(signo, &standard, nullptr);
  if (ignores_ends)
    for (const int signo : kSentToTasks) ::signal(signo, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

base::Status lift(proc::OwnedFd& fd) {
  if (!fd || fd.get() > STDERR_FILENO) return {};
  const int higher = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (higher < 0) return base::fail_errno("pipe to the task", errno);
  fd.reset(higher);
  return {};
}

base::Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("pipe to the task", errno);
  Pipe pipe{proc::OwnedFd(ends[0]), proc::OwnedFd(ends[1])};
  GW_TRY_STATUS(lift(pipe.read_end));
  GW_TRY_STATUS(lift(pipe.write_end));
  return pipe;
}

// A child is born in its group where the kernel can do that: no moment outside, and no lock to move it. Elsewhere it
// moves itself: see Containment::join.
Forked fork_into(int group_fd) {
  if (kMayClone && group_fd >= 0) {
    clone_args args;
    std::memset(&args, 0, sizeof args);
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = SIGCHLD;
    args.cgroup = static_cast<uint64_t>(group_fd);
    const long pid = ::syscall(SYS_clone3, &args, sizeof args);
    if (pid >= 0) return {static_cast<pid_t>(pid), true};
  }
  return {::fork(), false};
}

pid_t spawn_sibling(const std::function<void()>& body) {
  if (!kMayShareMemory) {
    const pid_t pid = ::fork();
    if (pid == 0) body();
    return pid;
  }
  alignas(16) static char stack[256 << 10];
  const auto run = [](void* what) -> int {
    try {
      (*static_cast<const std::function<void()>*>(what))();
    } catch (const std::exception&) {  // no memory: std::terminate would spoil what it shares
    }
    return EXIT_FAILURE;
  };
  return ::clone(run, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD,
                 const_cast<std::function<void()>*>(&body));
}

base::Status enter_step(const wire::StepSpec& spec, Containment& contain, const ChildSettings& settings,
                        bool cloned_into, const NoteFn& note) {
  reset_signals(settings.ignores_ends);
  ::setsid();
  GW_TRY_STATUS(contain.join(cloned_into));
  if (!spec.node().empty() && ::geteuid() == 0) note(enter_host_view(spec.node(), settings.hosts));
  // The launcher protects itself from the OOM killer; a task is an ordinary process.
  if (::geteuid() == 0) static_cast<void>(proc::write_control("/proc/self/oom_score_adj", "0"));
  ::umask(static_cast<mode_t>(settings.umask) & 0777);
  return become_user(spec);
}

void apply_limits(const google::protobuf::Map<std::string, uint64_t>& limits, const NoteFn& note) {
  for (const auto& [name, value] : limits) note(apply_limit(name, value));
}

void wait_for_go(int go) {
  char byte = 0;
  ssize_t n = 0;
  do n = ::read(go, &byte, 1);
  while (n < 0 && errno == EINTR);
  if (n != 1) ::_exit(1);
}

base::Status enter_work_dir(const std::string& dir) {
  if (::chdir(dir.c_str()) == 0) return {};
  return base::fail_errno("working directory " + base::printable(dir), errno);
}

}  // namespace gw::noded::step
