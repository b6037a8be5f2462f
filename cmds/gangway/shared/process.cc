// Starting, finding and stopping the daemons of a private cluster. See process.h for the invariant.
#include "cmds/gangway/shared/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"

extern char** environ;

namespace gw::cmds {
namespace {

using base::Result;

constexpr int kLogMode = 0644;
constexpr off_t kTailBytes = 16 * 1024;

// A descriptor that closes itself.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

void send_signal(int pidfd, int signo) { syscall(SYS_pidfd_send_signal, pidfd, signo, nullptr, 0); }

bool wait_gone(int pidfd, int timeout_ms) {
  pollfd p{pidfd, POLLIN, 0};
  int n = 0;
  do {
    n = poll(&p, 1, timeout_ms);
  } while (n < 0 && errno == EINTR);
  return n > 0;
}

// SIGTERM, then SIGKILL; reaps it where it is our child.
bool stop(int pidfd, pid_t pid, int patience_ms) {
  send_signal(pidfd, SIGTERM);
  send_signal(pidfd, SIGCONT);
  bool gone = wait_gone(pidfd, patience_ms);
  if (!gone) {
    send_signal(pidfd, SIGKILL);
    gone = wait_gone(pidfd, patience_ms);
  }
  waitpid(pid, nullptr, WNOHANG);
  return gone;
}

std::optional<pid_t> read_pid(const std::string& pid_file) {
  std::ifstream in(pid_file);
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  const auto pid = base::parse_int(base::trim(text), 2, INT32_MAX, "pid");
  if (!pid) return std::nullopt;
  return static_cast<pid_t>(*pid);
}

// The pid file's path stands in the arguments, alone or after `--pid-file=`.
bool names_file(const std::vector<std::string>& argv, const std::string& pid_file) {
  return std::any_of(argv.begin(), argv.end(), [&](const std::string& a) { return a.ends_with(pid_file); });
}

// posix_spawn's two parameter objects, set up for a daemon.
struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  explicit SpawnSetup(const std::string& output) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, kLogMode);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
};

}  // namespace

Result<pid_t> start_detached(const Program& program) {
  std::vector<std::string> words = program.argv;
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  unlink(program.pid_file.c_str());
  SpawnSetup setup(program.output);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &setup.actions, &setup.attributes, argv.data(), environ);
  if (error != 0) return base::fail_errno("cannot start " + words[0] + " with output to " + program.output, error);
  return pid;
}

std::vector<std::string> command_line_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::vector<std::string> argv;
  for (std::string word; std::getline(in, word, '\0');) argv.push_back(word);
  return argv;
}

std::optional<pid_t> find_by_pid_file(const std::string& pid_file) {
  const auto pid = read_pid(pid_file);
  if (!pid || !names_file(command_line_of(*pid), pid_file)) return std::nullopt;
  return pid;
}

bool stop_by_pid_file(const std::string& pid_file, int patience_ms) {
  const auto pid = read_pid(pid_file);
  if (!pid) return true;
  const Fd pidfd(open_pidfd(*pid));
  if (pidfd.get() < 0 || !names_file(command_line_of(*pid), pid_file)) return true;
  return stop(pidfd.get(), *pid, patience_ms);
}

bool stop_child(pid_t pid, int patience_ms) {
  if (has_exited(pid)) return true;
  const Fd pidfd(open_pidfd(pid));
  return pidfd.get() < 0 || stop(pidfd.get(), pid, patience_ms);
}

bool wait_for_last_of(const std::string& name, const std::string& folder, int patience_ms) {
  const auto is_one = [&](pid_t pid) {
    const std::vector<std::string> argv = command_line_of(pid);
    return !argv.empty() && argv.front().substr(argv.front().rfind('/') + 1) == name &&
           std::any_of(argv.begin(), argv.end(),
                       [&](const std::string& a) { return a.find(folder + "/") != std::string::npos; });
  };
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const auto pid = base::parse_int(entry.path().filename().string(), 2, INT32_MAX, "pid");
    if (!pid || !is_one(static_cast<pid_t>(*pid))) continue;
    const Fd pidfd(open_pidfd(static_cast<pid_t>(*pid)));
    if (pidfd.get() >= 0 && is_one(static_cast<pid_t>(*pid)) && !wait_gone(pidfd.get(), patience_ms)) return false;
  }
  return true;
}

bool has_exited(pid_t pid) {
  const pid_t reaped = waitpid(pid, nullptr, WNOHANG);
  if (reaped == pid) return true;
  return reaped < 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

std::string own_folder() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, n > 0 ? static_cast<size_t>(n) : 0);
  return self.substr(0, self.rfind('/'));
}

Result<std::string> find_program(const std::string& name) {
  const std::string folder = own_folder();
  const std::string prefix = folder.substr(0, folder.rfind('/'));
  for (const std::string& place : {folder, prefix + "/sbin", prefix + "/libexec/gangway"}) {
    const std::string path = place + "/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return base::fail(base::ErrorCode::kNotFound,
                    fmt::format("no program {} in {}, {}/sbin or {}/libexec/gangway", name, folder, prefix, prefix),
                    "install the packages of controller and node on this machine, or build the target " + name);
}

std::string tail_of(const std::string& path, size_t lines) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const off_t size = in.tellg();
  in.seekg(std::max<off_t>(0, size - kTailBytes));
  std::stringstream text;
  text << in.rdbuf();
  std::vector<std::string> all = base::split(text.str(), '\n');
  if (!all.empty() && all.back().empty()) all.pop_back();
  const size_t first = all.size() > lines ? all.size() - lines : 0;
  return base::join(std::span(all).subspan(first), "\n");
}

}  // namespace gw::cmds
