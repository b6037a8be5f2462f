// See task_programs.h.
#include "noded/step/start/task_programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "noded/step/proc/files.h"
#include "noded/step/start/exec_program.h"
#include "noded/step/start/exec_script.h"
#include "noded/step/start/task_env.h"

namespace gw::noded::step {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";
constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";
constexpr int kUnusableCode = 125;
constexpr base::Duration kLimit = base::minutes(5);  // where the daemon says none
constexpr int kLookMs = 50;                          // between two looks at how long a program has run

struct Ran {
  int status = 0;  ///< As wait() gives it.
  bool is_over_limit = false;
  std::string printed;
};

std::string how_it_ended(const Ran& ran, base::Duration limit) {
  if (ran.is_over_limit) return "it ran longer than " + base::format_duration(limit);
  if (WIFEXITED(ran.status)) return "exit code " + std::to_string(WEXITSTATUS(ran.status));
  return "it was ended by signal " + std::to_string(WTERMSIG(ran.status));
}

/// The program's process: nothing to read; `output`: what it prints, -1: nowhere, and its errors neither.
[[noreturn]] void become(ProgramCall& call, int output) {
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(output >= 0 ? output : null, STDOUT_FILENO);
  if (output < 0) ::dup2(null, STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  const ExecFailure failure = call.explain(call.run());
  std::fprintf(stderr, "gstepd: error: %s\n", failure.text.c_str());
  ::_exit(failure.exit_code);
}

int64_t monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

/// Time that this process has seen: while its group is frozen none passes.
class Elapsed {
 public:
  base::Duration look() {
    const int64_t now = monotonic_us();
    seen_ += std::min(now - std::exchange(last_, now), 2 * kLookMs * int64_t{1'000});
    return base::microseconds(seen_);
  }

 private:
  int64_t last_ = monotonic_us();
  int64_t seen_ = 0;
};

/// What is there to be read now, some of it; beyond kMostProlog it is dropped. False: there is no more, nor will be.
bool read_some(int output, std::string& printed) {
  constexpr int kMostReads = 16;
  char chunk[4096];
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t n = ::read(output, chunk, sizeof chunk);
    if (n <= 0) return n < 0;
    printed.append(chunk, std::min(static_cast<size_t>(n), kMostProlog - printed.size()));
  }
  return true;
}

/// Until the program has ended; at its limit it is killed, with what it started and has not left its group. What others
/// hold open of its output is not waited for.
Ran watch(pid_t pid, int output, base::Duration limit) {
  Ran ran;
  const proc::OwnedFd end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd fds[] = {{output, POLLIN, 0}, {end.get(), POLLIN, 0}};
  for (Elapsed elapsed;;) {
    ::poll(fds, 2, kLookMs);
    if (fds[0].fd >= 0 && !read_some(output, ran.printed)) fds[0].fd = -1;
    if (::waitpid(pid, &ran.status, WNOHANG) == pid) break;
    if (elapsed.look() < limit || ran.is_over_limit) continue;
    ran.is_over_limit = true;
    ::kill(-pid, SIGKILL);
  }
  if (fds[0].fd >= 0) static_cast<void>(read_some(output, ran.printed));
  return ran;
}

base::Result<Ran> run(ProgramCall& call, base::Duration limit, bool is_prolog) {
  GW_TRY(pipe, make_pipe());
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno("fork", errno);
  if (pid == 0) become(call, is_prolog ? pipe.write_end.get() : -1);
  ::setpgid(pid, pid);  // whoever is first
  pipe.write_end.reset();
  ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  return watch(pid, is_prolog ? pipe.read_end.get() : -1, limit);
}

/// What each execve puts in.
bool is_task_pid(std::string_view line) {
  return line.starts_with("SLURM_TASK_PID=") || line.starts_with("GANGWAY_TASK_PID=");
}

Environment own_environment() {
  Environment environment;
  for (char** line = environ; *line != nullptr; ++line)
    if (!is_task_pid(*line)) environment.set(std::string_view(*line));
  return environment;
}

std::vector<std::string> in_context(Environment environment, const char* context) {
  environment.set("SLURM_SCRIPT_CONTEXT", context);
  environment.set("GANGWAY_SCRIPT_CONTEXT", context);
  return environment.lines();
}

/// Where it has none.
void fill_in_path(Environment& environment, std::string path) {
  const std::string commands(environment.get("GANGWAY_COMMAND_PATH"));
  if (!commands.empty() && (":" + path + ":").find(":" + commands + ":") == std::string::npos)
    path = commands + ":" + path;
  environment.fill("PATH=" + path);
}

/// The task's exit code, where its prolog fails.
std::optional<int> run_prolog(const std::string& program, base::Duration limit, Environment& environment) {
  ProgramCall call({program}, std::string(environment.get("PATH")), in_context(environment, "prolog_task"));
  call.set_pid(::getpid());
  const auto ran = run(call, limit, true);
  if (!ran || ran->status != 0) {
    const std::string why = ran ? how_it_ended(*ran, limit) : ran.error().text();
    const int code = ran && WIFEXITED(ran->status) ? WEXITSTATUS(ran->status) : 1;
    std::fprintf(stderr, "gstepd: error: TaskProlog failed status=%d: %s: %s\n", code, base::printable(program).c_str(),
                 why.c_str());
    return code;
  }
  const std::string shown = take_prolog_output(ran->printed, environment);
  static_cast<void>(proc::write_all(STDOUT_FILENO, shown, "standard output"));
  return std::nullopt;
}

/// The shell of a user who only runs jobs.
bool lets_nobody_in(const std::string& shell) { return shell.ends_with("/nologin") || shell.ends_with("/false"); }

/// As `su -` would: a shell that knows of nothing but the user. What cannot be had is told, and the script runs.
void log_in(Environment& environment, base::Duration limit) {
  Environment user;
  for (const char* name : {"HOME", "USER", "LOGNAME", "SHELL"}) user.set(name, std::string(environment.get(name)));
  user.set("PATH", kPath);
  const std::string shell(environment.get("SHELL"));
  if (lets_nobody_in(shell)) return fill_in_path(environment, kPath);
  ProgramCall call({shell, "-c", fmt::format("printf '\\0{}\\0'; exec env -0", kLoginMark)}, "", user.lines());
  call.call_itself("-" + shell.substr(shell.rfind('/') + 1));
  const auto ran = run(call, limit, true);
  base::Status taken = ran ? base::Status{} : base::Status(tl::unexpected(ran.error()));
  if (ran && ran->status != 0) taken = base::fail(base::ErrorCode::kInternal, how_it_ended(*ran, limit));
  if (taken) taken = take_login_output(ran->printed, environment);
  if (taken) return;
  std::fprintf(stderr, "gstepd: error: the login environment cannot be had: %s: %s\n", base::printable(shell).c_str(),
               taken.error().text().c_str());
  fill_in_path(environment, kPath);
}

int become_script(std::vector<std::string> words, std::vector<std::string> environment) {
  const std::string script = proc::read_file(words.front(), 64 << 20).value_or("");
  const std::string why = exec_script(std::move(words), std::move(environment), script);
  std::fprintf(stderr, "gstepd: error: %s\n", why.c_str());
  return kNotExecutableCode;
}

int become_program(std::vector<std::string> words, const Environment& environment, bool is_slurm) {
  ProgramCall call(std::move(words), std::string(environment.get("PATH")), environment.lines());
  call.set_pid(::getpid());
  const ExecFailure failure = call.explain(call.run());
  std::fprintf(stderr, "%s%s\n", is_slurm ? "slurmstepd: error: execve(): " : "gstepd: error: ", failure.text.c_str());
  return is_slurm ? failure.error : failure.exit_code;
}

/// The first words of both calls: seconds, and how many programs.
struct CallHead {
  base::Duration limit;
  std::vector<std::string> programs;
  std::vector<std::string> rest;
};
std::optional<CallHead> read_head(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  const auto seconds = base::parse_int(argv[0], 1, UINT32_MAX, "seconds");
  const auto count = base::parse_int(argv[1], 0, argc - 2, "programs");
  if (!seconds || !count) return std::nullopt;
  return CallHead{base::seconds(*seconds), {argv + 2, argv + 2 + *count}, {argv + 2 + *count, argv + argc}};
}

std::vector<std::string> call_of(std::string what, base::Duration limit, const std::vector<std::string>& programs) {
  std::vector<std::string> words = {kThisProgram, std::move(what),
                                    std::to_string(std::max<int64_t>(limit.us / 1'000'000, 1)),
                                    std::to_string(programs.size())};
  words.insert(words.end(), programs.begin(), programs.end());
  return words;
}

void take_export(std::string_view said, Environment& environment) {
  const size_t equals = said.find('=');
  if (equals == std::string_view::npos) return;
  environment.set(std::string(base::trim(said.substr(0, equals))), std::string(said.substr(equals + 1)));
}

std::string take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

TaskPrograms programs_of(const wire::StepSpec& spec, const wire::LaunchTasks& launch) {
  TaskPrograms programs;
  for (const std::string* prolog : {&spec.task_prolog(), &launch.task_prolog()})
    if (!prolog->empty()) programs.prologs.push_back(*prolog);
  for (const std::string* epilog : {&launch.task_epilog(), &spec.task_epilog()})
    if (!epilog->empty()) programs.epilogs.push_back(*epilog);
  const int64_t limit_us = spec.task_program_limit_us();
  programs.limit = limit_us > 0 ? base::microseconds(limit_us) : kLimit;
  if (!spec.script().empty()) programs.login = base::seconds(spec.login_seconds());
  return programs;
}

std::vector<std::string> behind_prologs(const TaskPrograms& programs, TaskForm form, std::vector<std::string> words) {
  if (programs.prologs.empty() && programs.login.us == 0) return words;
  std::vector<std::string> call = call_of(kBeginTask, programs.limit, programs.prologs);
  call.push_back(static_cast<char>(form) + std::to_string(programs.login.us / 1'000'000));
  call.insert(call.end(), words.begin(), words.end());
  return call;
}

base::Status take_login_output(std::string_view text, Environment& environment) {
  const std::string mark = std::string(1, '\0') + kLoginMark + std::string(1, '\0');
  const size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return base::fail(base::ErrorCode::kInternal, "it printed no environment");
  for (const std::string& line : base::split(text.substr(at + mark.size()), '\0')) {
    if (line.starts_with("PATH=")) fill_in_path(environment, line.substr(5));
    const bool is_of_the_shell = line.starts_with("_=") || line.starts_with("SHLVL=");
    if (!is_of_the_shell && !is_task_pid(line)) environment.fill(line);
  }
  return {};
}

std::string take_prolog_output(const std::string& text, Environment& environment) {
  std::string shown;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string line = take_line(rest);
    const std::string_view said(line);
    if (said.starts_with("print ")) shown += line.substr(6) + "\n";
    if (said.starts_with("export ")) take_export(said.substr(7), environment);
    if (said.starts_with("unset ")) environment.remove(std::string(base::trim(said.substr(6))));
  }
  return shown;
}

int begin_task(int argc, char** argv) {
  auto head = read_head(argc, argv);
  const std::string manner = head && head->rest.size() >= 2 ? head->rest.front() : "";
  const auto login = base::parse_int(std::string_view(manner).substr(manner.empty() ? 0 : 1), 0, UINT32_MAX, "login");
  if (!login) {
    std::fprintf(stderr, "gstepd: %s is called by gstepd alone\n", kBeginTask);
    return kUnusableCode;
  }
  Environment environment = own_environment();
  if (*login > 0) log_in(environment, base::seconds(*login));
  for (const std::string& program : head->programs)
    if (const auto code = run_prolog(program, head->limit, environment)) return *code;
  const auto form = static_cast<TaskForm>(manner.front());
  head->rest.erase(head->rest.begin());
  if (form == TaskForm::kScript) return become_script(std::move(head->rest), environment.lines());
  return become_program(std::move(head->rest), environment, form == TaskForm::kSlurmProgram);
}

base::Result<pid_t> start_epilogs(const wire::StepSpec& spec, Containment& contain, const TaskPrograms& programs,
                                  const EpilogPlace& place, std::vector<std::string> environment) {
  ProgramCall call(call_of(kEndTask, programs.limit, programs.epilogs), "", std::move(environment));
  // The task may have ended since it was sent a signal, which is for all in the group.
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const Forked forked = fork_into(contain.clone_into_fd());
  const int error = errno;
  if (forked.pid != 0) ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (forked.pid < 0) return base::fail_errno("forking the task epilog", error);
  if (forked.pid > 0) return forked.pid;
  const auto entered =
      enter_step(spec, contain, {place.hosts, 077, true}, forked.cloned_into, [](const std::string&) {});
  if (!entered) ::_exit(kUnusableCode);
  if (!enter_work_dir(place.work_dir) && ::chdir("/") != 0) ::_exit(kUnusableCode);
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  const int null = ::open("/dev/null", O_RDWR);  // the daemon's log is nothing for the user
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  call.set_pid(::getpid());
  static_cast<void>(call.run());
  ::_exit(kUnusableCode);
}

int end_task(int argc, char** argv) {
  const auto head = read_head(argc, argv);
  if (!head) {
    std::fprintf(stderr, "gstepd: %s is called by gstepd alone\n", kEndTask);
    return kUnusableCode;
  }
  int code = 0;
  const Environment environment = own_environment();
  for (const std::string& program : head->programs) {
    ProgramCall call({program}, std::string(environment.get("PATH")), in_context(environment, "epilog_task"));
    call.set_pid(::getpid());
    const auto ran = run(call, head->limit, false);
    const int failed = !ran ? 1 : WIFEXITED(ran->status) ? WEXITSTATUS(ran->status) : 128 + WTERMSIG(ran->status);
    if (code == 0) code = failed;
  }
  return code;
}

}  // namespace gw::noded::step
