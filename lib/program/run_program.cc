// posix_spawn with pipes and a deadline.
#include "program/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "io/fd.h"
#include "io/loop.h"

namespace gw::program {
namespace {

struct Pipe {
  io::Fd read, write;
};

/// Zero or an errno.
int open_pipe(Pipe& out) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return errno;
  out.read = io::Fd(fds[0]);
  out.write = io::Fd(fds[1]);
  return 0;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// Starts the program between the two pipes; zero or an errno.
int spawn(const ProgramCall& call, int in_fd, int out_fd, pid_t& pid) {
  std::vector<std::string> words{call.program};
  words.insert(words.end(), call.args.begin(), call.args.end());
  std::vector<std::string> variables{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  variables.insert(variables.end(), call.variables.begin(), call.variables.end());
  const std::vector<char*> argv = pointers_to(words), env = pointers_to(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in_fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
  if (!call.keeps_errors_apart) posix_spawn_file_actions_adddup2(&actions, out_fd, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failed = posix_spawn(&pid, call.program.c_str(), &actions, &attributes, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

/// What the program prints, as far as it is kept.
struct Output {
  std::string& text;
  size_t most;
  bool keeps_end;

  void add(std::string_view more) const {
    if (!keeps_end) more = more.substr(0, most - std::min(most, text.size()));
    text += more;
    if (text.size() > most) text.erase(0, text.size() - most);
  }
};

/// Reads what is there. False: there will be no more.
bool read_some(int fd, const Output& output) {
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    output.add({buffer, static_cast<size_t>(n)});
  }
}

/// Until the process has ended or the deadline; false at the deadline. What it started may hold its output open.
bool await_end(int process, int fd, base::Duration deadline, const Output& output) {
  bool has_more = true;
  for (;;) {
    const base::Duration left = deadline - io::Loop::monotonic();
    pollfd fds[2] = {{process, POLLIN, 0}, {has_more ? fd : -1, POLLIN, 0}};
    const int ready = left.us <= 0 ? 0 : poll(fds, 2, static_cast<int>(left.milliseconds()) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    if (fds[1].revents != 0) has_more = read_some(fd, output);
    if (fds[0].revents == 0) continue;
    if (has_more) read_some(fd, output);
    return true;
  }
}

}  // namespace

ProgramResult run_program(const ProgramCall& call) {
  Pipe in, out;
  for (Pipe* pipe : {&in, &out})
    if (const int failed = open_pipe(*pipe); failed != 0) return {-1, std::strerror(failed)};
  fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  // It is made to fit into the pipe, so that nobody waits for the program to read it.
  const size_t bytes = std::min(call.input.size(), kMostProgramInput);
  constexpr size_t kEveryPipeHolds = 32 << 10;
  fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
  if (bytes > kEveryPipeHolds && fcntl(in.write.get(), F_SETPIPE_SZ, static_cast<int>(bytes)) < 0)
    return {-1, std::to_string(bytes) + " bytes of input do not fit into a pipe: " + std::strerror(errno)};
  if (write(in.write.get(), call.input.data(), bytes) != static_cast<ssize_t>(bytes)) return {-1, std::strerror(errno)};
  pid_t pid = -1;
  const int failed = spawn(call, in.read.get(), out.write.get(), pid);
  in = {};
  out.write = {};
  if (failed != 0) return {-1, call.program + ": " + std::strerror(failed)};
  ProgramResult result;
  const io::Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const Output output{result.text, call.most_output, call.keeps_end};
  const bool has_ended = await_end(process.get(), out.read.get(), io::Loop::monotonic() + call.limit, output);
  if (!has_ended) {
    kill(-pid, SIGKILL);
    result.text += " (killed: it took longer than " + base::format_duration(call.limit) + ")";
    // One that became another user cannot be killed.
    if (!await_end(process.get(), -1, io::Loop::monotonic() + base::seconds(5), output))
      return {-1, result.text + " (it could not be killed)"};
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace gw::program
