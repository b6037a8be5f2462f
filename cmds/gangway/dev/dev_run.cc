// gangway dev run: a cluster for the length of one command.
// Invariant: whatever happens to the command, and on SIGINT, SIGTERM and SIGHUP, the cluster is taken down.
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cmds/gangway/dev/dev.h"

extern char** environ;

namespace gw::cmds {
namespace {

using base::Result;
using base::Status;

constexpr int kNoSuchCommand = 127;
constexpr int kCannotExecute = 126;

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signo : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&set, signo);
  return set;
}

// While the cluster comes up, a signal ends the wait.
Status not_interrupted() {
  sigset_t pending;
  sigpending(&pending);
  for (int signo : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (sigismember(&pending, signo) == 1) {
      return base::fail(base::ErrorCode::kUnavailable, std::string("interrupted by ") + strsignal(signo));
    }
  }
  return {};
}

Result<pid_t> start_command(const std::vector<std::string>& command, const sigset_t& mask) {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    const auto code = error == ENOENT ? base::ErrorCode::kNotFound : base::ErrorCode::kInvalid;
    return base::fail(code, "cannot run " + command[0] + ": " + strerror(error));
  }
  return pid;
}

// Waits for the command, reaping whatever else ends. A signal from a terminal has reached the command already; one sent
// to us alone is passed on.
int wait_for_command(pid_t command, const sigset_t& watched) {
  for (;;) {
    siginfo_t info = {};
    if (sigwaitinfo(&watched, &info) < 0) continue;
    if (info.si_signo != SIGCHLD) {
      if (info.si_code != SI_KERNEL) kill(command, info.si_signo);
      continue;
    }
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid == command) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
}

// Brought up already: runs the command and returns its exit code.
int run_command(const client::Program& program, const DevLayout& layout, const std::vector<std::string>& command,
                const sigset_t& watched, const sigset_t& former) {
  for (const auto& [name, value] : dev_environment(layout)) setenv(name.c_str(), value.c_str(), 1);
  const auto pid = start_command(command, former);
  if (pid) return wait_for_command(*pid, watched);
  client::print_error(program, pid.error());
  return pid.error().code == base::ErrorCode::kNotFound ? kNoSuchCommand : kCannotExecute;
}

Result<std::string> temporary_folder() {
  std::string path = std::filesystem::temp_directory_path().string() + "/gangway-dev-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return base::fail_errno("cannot make a temporary folder " + path, errno);
  return path;
}

int run_in(const client::Program& program, const DevOptions& options, const std::vector<std::string>& command,
           const sigset_t& watched, const sigset_t& former) {
  auto layout = dev_layout(options.dir);
  if (!layout) {
    client::print_error(program, layout.error());
    return client::kExitFailed;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Status started = dev_bring_up(options, *layout, not_interrupted);
  if (!started) {
    client::print_error(program, started.error());
    return client::kExitFailed;
  }
  const int code = run_command(program, *layout, command, watched, former);
  for (const std::string& problem : dev_take_down(*layout)) client::print_error(program, problem);
  return code;
}

}  // namespace

int dev_run(const client::Program& program, DevOptions options, const std::vector<std::string>& command) {
  const sigset_t watched = watched_signals();
  sigset_t former;
  sigprocmask(SIG_BLOCK, &watched, &former);
  if (!options.dir.empty()) return run_in(program, options, command, watched, former);
  const auto folder = temporary_folder();
  if (!folder) {
    client::print_error(program, folder.error());
    return client::kExitFailed;
  }
  options.dir = *folder;
  const int code = run_in(program, options, command, watched, former);
  std::error_code ignored;
  std::filesystem::remove_all(*folder, ignored);
  return code;
}

}  // namespace gw::cmds
