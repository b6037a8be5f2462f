// The version of the installed munged, which no library call tells: asked of the program itself, without a shell.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "auth/munge.h"
#include "base/text.h"

namespace gw::auth {
namespace {

using base::ErrorCode;
using base::Result;

constexpr std::array kPlaces = {"/usr/sbin/munged", "/usr/bin/munged", "/usr/local/sbin/munged",
                                "/usr/local/bin/munged"};
constexpr auto kAnswerLimit = std::chrono::seconds(2);
constexpr size_t kMaxAnswer = 4096;

const char* find_munged() {
  for (const char* path : kPlaces) {
    if (access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

// Starts `path --version` with its standard output on `out`; nothing else is inherited.
Result<pid_t> start(const char* path, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string program = path;
  std::string option = "--version";
  char* argv[] = {program.data(), option.data(), nullptr};
  char* envp[] = {nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, path, &actions, nullptr, argv, envp);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return base::fail_errno(std::string("cannot run ") + path, error);
  return pid;
}

// Reads to the end of the pipe; false when time runs out.
bool read_all(int fd, std::string& text) {
  const auto end = std::chrono::steady_clock::now() + kAnswerLimit;
  char buffer[512];
  while (text.size() < kMaxAnswer) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd p{fd, POLLIN, 0};
    if (left.count() <= 0) return false;
    if (poll(&p, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
    if (p.revents == 0) continue;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return n == 0;
    text.append(buffer, static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Result<std::string> parse_munged_version(std::string_view output) {
  constexpr std::string_view kPrefix = "munge-";
  const size_t at = output.find(kPrefix);
  if (at == std::string_view::npos) return base::invalid("no version in \"" + base::printable(output) + "\"");
  std::string_view rest = output.substr(at + kPrefix.size());
  rest = rest.substr(0, rest.find_first_not_of("0123456789."));
  if (rest.empty()) return base::invalid("no version in \"" + base::printable(output) + "\"");
  return std::string(rest);
}

Result<std::string> munged_version() {
  const char* path = find_munged();
  if (path == nullptr) {
    return base::fail(ErrorCode::kNotFound, "munged is not installed", "install the package munge on every host");
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("cannot make a pipe", errno);
  auto pid = start(path, ends[1]);
  close(ends[1]);
  std::string answer;
  const bool answered = pid && read_all(ends[0], answer);
  close(ends[0]);
  if (!pid) return base::pass(pid);
  if (!answered) kill(*pid, SIGKILL);
  while (waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!answered) return base::fail(ErrorCode::kTimeout, std::string(path) + " --version gave no answer");
  return parse_munged_version(answer);
}

bool is_munge_vulnerable(std::string_view version) {
  constexpr std::array<int64_t, 3> kFixed = {0, 5, 18};
  const auto parts = base::split(version, '.');
  if (parts.empty()) return false;
  for (size_t i = 0; i < kFixed.size(); ++i) {
    const auto number = base::parse_int(i < parts.size() ? parts[i] : "0", 0, 1'000'000, "version");
    if (!number) return false;
    if (*number != kFixed[i]) return *number < kFixed[i];
  }
  return false;
}

}  // namespace gw::auth
