// See run_programs.h.
#include "cmds/grun/run_programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "cmds/grun/run_bcast.h"
#include "cmds/grun/run_launch.h"

namespace gw::cmds {
namespace {

constexpr int kNotRun = 127;

std::vector<std::string> settings_of(const std::vector<wire::Step>& steps) {
  std::vector<std::string> nodes, out;
  for (const wire::Step& step : steps)
    for (const auto& node : step.nodes()) nodes.push_back(node.share().node());
  const wire::Step& step = steps.front();
  const std::vector<std::pair<std::string, std::string>> values = {
      {"JOB_ID", std::to_string(step.job())},
      {"JOBID", std::to_string(step.job())},
      {"STEP_ID", std::to_string(step.step())},
      {"STEPID", std::to_string(step.step())},
      {"STEP_NODELIST", base::compress_hostlist(nodes)},
      {"STEP_NUM_NODES", std::to_string(nodes.size())},
      {"STEP_NUM_TASKS", std::to_string(task_count(steps))}};
  for (const std::string prefix : {"SLURM_", "GANGWAY_"})
    for (const auto& [name, value] : values) out.push_back(prefix + name + "=" + value);
  return out;
}

/// Each name once: of two a shell takes the last, and others the first.
std::vector<std::string> environment_with(std::vector<std::string> settings) {
  const auto name_of = [](std::string_view line) { return line.substr(0, line.find('=')); };
  const size_t own = settings.size();
  for (char** line = environ; *line != nullptr; ++line) {
    const auto end = settings.begin() + static_cast<ptrdiff_t>(own);
    if (std::none_of(settings.begin(), end, [&](const auto& s) { return name_of(s) == name_of(*line); }))
      settings.emplace_back(*line);
  }
  return settings;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

/// Signals as a program expects them, whatever this one listens to, and a group of its own.
void set_manner(posix_spawnattr_t& how) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
}

/// 0: it cannot be run.
pid_t spawn(const std::string& file, std::vector<std::string> words, std::vector<std::string> environment) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  set_manner(how);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, file.c_str(), &files, &how, pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  return error == 0 ? pid : 0;
}

}  // namespace

void ChildProgram::start(const std::string& file, std::vector<std::string> words, std::vector<std::string> settings,
                         Done done) {
  pid_ = spawn(file, std::move(words), environment_with(std::move(settings)));
  if (pid_ == 0) return loop_.defer([done = std::move(done)] { done(kNotRun); });
  done_ = std::move(done);
  end_ = io::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!end_) return on_end();  // no descriptors are left: it is waited for
  watch_ = loop_.watch_readable(end_.get(), [this] { on_end(); });
}

void ChildProgram::stop() {
  if (pid_ == 0) return;
  ::kill(-pid_, SIGKILL);
  done_ = {};
  on_end();
}

void ChildProgram::on_end() {
  watch_.cancel();
  int status = 0;
  const bool has_ended = ::waitpid(std::exchange(pid_, 0), &status, 0) > 0;
  const Done done = std::exchange(done_, {});
  if (!done) return;
  const int how = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  done(has_ended ? how : kNotRun);
}

/// As in Slurm, what becomes of it is told to who asks for more words.
void BesideStep::run_own(const std::string& program, const char* name, const std::vector<wire::Step>& steps,
                         std::function<void()> then) {
  if (program.empty()) return then();
  std::vector<std::string> words = {program};
  words.insert(words.end(), words_.begin(), words_.end());
  child_.start(program, std::move(words), settings_of(steps), [this, program, name, then = std::move(then)](int code) {
    const std::string how = fmt::format("{} {} ended with code {}", name, base::printable(program), code);
    if (program_.verbose > 0) client::print_note(program_, how);
    then();
  });
}

void BesideStep::before(const std::vector<wire::Step>& steps, const std::string& folder, base::Duration limit,
                        Ready ready) {
  has_begun_ = true;
  limit_ = loop_.after(limit, [this, limit, ready] {
    child_.stop();
    ready(
        base::fail(base::ErrorCode::kTimeout,
                   fmt::format("--prolog and --bcast took longer than {}, and the nodes of the step do not wait longer",
                               base::format_duration(limit)),
                   "run it, or gbcast, as a command of its own before grun"));
  });
  run_own(options_.prolog, "prolog", steps, [this, &steps, folder, ready] { copy(steps, folder, ready); });
}

void BesideStep::copy(const std::vector<wire::Step>& steps, const std::string& folder, const Ready& ready) {
  const auto done = [this](const Ready& tell, base::Result<std::string> copies) {
    limit_.cancel();
    tell(std::move(copies));
  };
  if (!options_.bcast) return done(ready, std::string());
  const auto file = find_program(words_.front());
  if (!file) return done(ready, base::pass(file));
  const wire::Step& step = steps.front();  // there is one: see settle_members()
  const std::string copies = bcast_destination(*options_.bcast, folder, step);
  const std::string nodes = fmt::format("{}.{}", step.job(), step.step());
  child_.start("/proc/self/exe", {"gbcast", "-f", "-p", "-j", nodes, *file, copies}, {},
               [ready, done, copies, shown = base::printable(*file)](int code) {
                 if (code == 0) return done(ready, copies);
                 done(ready, base::fail(base::ErrorCode::kInternal,
                                        fmt::format("--bcast: {} could not be copied to the nodes", shown)));
               });
}

void BesideStep::after(const std::vector<wire::Step>& steps, std::function<void()> done) {
  limit_.cancel();
  child_.stop();
  if (!std::exchange(has_begun_, false) || steps.empty()) return done();
  run_own(options_.epilog, "epilog", steps, std::move(done));
}

}  // namespace gw::cmds
