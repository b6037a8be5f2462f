// The task side of a step.
#include "noded/step/task.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "noded/step/exec_script.h"
#include "noded/step/host_view.h"
#include "noded/step/identity.h"
#include "noded/step/limits.h"
#include "noded/step/proc/files.h"
#include "noded/step/streams.h"

namespace gw::noded::step {
namespace {

constexpr size_t kMaxEventText = 2000;

struct Pipe {
  proc::Fd read_end;
  proc::Fd write_end;
};

base::Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("pipe to the task", errno);
  return Pipe{proc::Fd(ends[0]), proc::Fd(ends[1])};
}

struct Forked {
  pid_t pid = -1;
  bool cloned_into = false;
};

// The thread sanitizer puts its locks in order in the child of fork(); a clone3 it does not see, and the child hangs.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GW_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(GW_THREAD_SANITIZER)
constexpr bool kMayClone = false;
#else
constexpr bool kMayClone = true;
#endif

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

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signo = 1; signo < NSIG; ++signo)
    if (signo != SIGKILL && signo != SIGSTOP) ::sigaction(signo, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The child. Everything here runs between fork and execve of a process with one thread.
class TaskSide {
 public:
  TaskSide(const wire::StepSpec& spec, Containment& contain, const std::string& hosts, int events, int go)
      : spec_(spec), contain_(contain), hosts_(hosts), events_(events), go_(go) {}

  [[noreturn]] void run(bool cloned_into) {
    as_daemon(cloned_into);
    as_user();
    tell({TaskEventKind::kReady, {}, {}});
    wait_for_go();
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    fail(model::EndReason::kLaunchFailed, exec_script(spec_));
  }

 private:
  const wire::StepSpec& spec_;
  Containment& contain_;
  const std::string& hosts_;
  const int events_;
  const int go_;

  void as_daemon(bool cloned_into) {
    reset_signals();
    ::setsid();
    if (const base::Status joined = contain_.join(cloned_into); !joined)
      fail(model::EndReason::kLaunchFailed, joined.error().text());
    if (!spec_.node().empty() && ::geteuid() == 0) note(enter_host_view(spec_.node(), hosts_));
    // The launcher protects itself from the OOM killer; a task is an ordinary process.
    if (::geteuid() == 0) static_cast<void>(proc::write_control("/proc/self/oom_score_adj", "0"));
    for (const auto& [name, value] : spec_.limits()) note(apply_limit(name, value));
    ::umask(static_cast<mode_t>(spec_.umask()) & 0777);
    if (const base::Status became = become_user(spec_); !became)
      fail(model::EndReason::kLaunchFailed, became.error().text());
  }

  void as_user() {
    if (::chdir(spec_.work_dir().c_str()) != 0) {
      const auto why = base::fail_errno("working directory " + base::printable(spec_.work_dir()), errno);
      fail(model::EndReason::kWorkDir, why.value().text());
    }
    if (const base::Status opened = open_streams(spec_); !opened)
      fail(model::EndReason::kOutputPath, opened.error().text());
  }

  void wait_for_go() {
    if (go_ < 0) return;
    char byte = 0;
    ssize_t n = 0;
    do n = ::read(go_, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1) ::_exit(1);  // the shepherd has gone: nobody would watch this task
  }

  void tell(const TaskEvent& event) {
    const std::string bytes = encode(event);
    static_cast<void>(proc::write_all(events_, bytes, "task events"));
  }
  void note(const std::string& text) {
    if (!text.empty()) tell({TaskEventKind::kNote, {}, text});
  }
  [[noreturn]] void fail(model::EndReason reason, const std::string& text) {
    tell({TaskEventKind::kFailed, reason, text});
    ::_exit(1);
  }
};

// A descriptor above 2: the standard ones are replaced while it is in use.
base::Status lift(proc::Fd& fd) {
  if (!fd || fd.get() > STDERR_FILENO) return {};
  const int higher = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (higher < 0) return base::fail_errno("pipe to the task", errno);
  fd.reset(higher);
  return {};
}

}  // namespace

std::string encode(const TaskEvent& event) {
  const std::string text = event.text.substr(0, kMaxEventText);
  std::string bytes(1, static_cast<char>(event.kind));
  bytes += static_cast<char>(event.reason);
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  return bytes + text;
}

bool take_event(std::string& buffer, TaskEvent& event) {
  if (buffer.size() < 4) return false;
  const size_t size = static_cast<unsigned char>(buffer[2]) + 256u * static_cast<unsigned char>(buffer[3]);
  if (buffer.size() < 4 + size) return false;
  event.kind = static_cast<TaskEventKind>(buffer[0]);
  event.reason = static_cast<model::EndReason>(buffer[1]);
  event.text = buffer.substr(4, size);
  buffer.erase(0, 4 + size);
  return true;
}

base::Result<Task> spawn_task(const wire::StepSpec& spec, Containment& contain, const std::string& hosts) {
  GW_TRY(events, make_pipe());
  GW_TRY(go, make_pipe());
  for (proc::Fd* fd : {&events.read_end, &events.write_end, &go.read_end, &go.write_end}) GW_TRY_STATUS(lift(*fd));
  const Forked forked = fork_into(contain.clone_into_fd());
  if (forked.pid < 0) return base::fail_errno("forking the task", errno);
  if (forked.pid == 0) {
    // The shepherd's end of the pipe must close when the shepherd goes: not held open by the task itself.
    go.write_end.reset();
    const int go_fd = spec.wait_for_go() ? go.read_end.get() : -1;
    TaskSide(spec, contain, hosts, events.write_end.get(), go_fd).run(forked.cloned_into);
  }
  ::fcntl(events.read_end.get(), F_SETFL, O_NONBLOCK);
  Task task{forked.pid, std::move(events.read_end), {}};
  if (spec.wait_for_go()) task.go = std::move(go.write_end);
  return task;
}

}  // namespace gw::noded::step
