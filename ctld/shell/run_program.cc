// posix_spawn with a pipe and a deadline.
#include "ctld/shell/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "io/loop.h"

namespace gw::ctld {
namespace {

constexpr size_t kMaxOutput = 4096;

/// Starts the program with its output in `out_fd`; zero or an errno.
int spawn(const std::string& program, const std::vector<std::string>& args, int out_fd, pid_t& pid) {
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : args) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* env[] = {path, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out_fd, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int failed = posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), env);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

/// Reads until the end of the output or the deadline; false at the deadline.
bool collect(int fd, base::Duration deadline, std::string& text) {
  char buffer[1024];
  while (true) {
    const base::Duration left = deadline - io::Loop::monotonic();
    pollfd p{fd, POLLIN, 0};
    if (left.us <= 0 || poll(&p, 1, static_cast<int>(left.milliseconds()) + 1) <= 0) return false;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return true;
    if (text.size() < kMaxOutput) text.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

ProgramResult run_program(const std::string& program, const std::vector<std::string>& args, base::Duration limit) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return {-1, std::strerror(errno)};
  pid_t pid = -1;
  const int failed = spawn(program, args, fds[1], pid);
  close(fds[1]);
  if (failed != 0) {
    close(fds[0]);
    return {-1, program + ": " + std::strerror(failed)};
  }
  ProgramResult out;
  const bool ended = collect(fds[0], io::Loop::monotonic() + limit, out.text);
  close(fds[0]);
  if (!ended) {
    kill(-pid, SIGKILL);
    out.text += " (killed: it took longer than " + base::format_duration(limit) + ")";
  }
  int status = 0;
  waitpid(pid, &status, 0);
  out.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

}  // namespace gw::ctld
