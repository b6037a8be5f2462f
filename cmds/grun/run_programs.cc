// See run_programs.h.
#include "cmds/grun/run_programs.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/hostlist.h"
#include "cmds/grun/run_launch.h"

namespace gw::cmds {
namespace {

/// The first of a name counts.
std::vector<std::string> settings_of(const wire::Step& step) {
  std::vector<std::string> nodes;
  for (const auto& node : step.nodes()) nodes.push_back(node.share().node());
  std::vector<std::string> out;
  const std::vector<std::pair<std::string, std::string>> values = {
      {"JOB_ID", std::to_string(step.job())},
      {"JOBID", std::to_string(step.job())},
      {"STEP_ID", std::to_string(step.step())},
      {"STEPID", std::to_string(step.step())},
      {"STEP_NODELIST", base::compress_hostlist(nodes)},
      {"STEP_NUM_NODES", std::to_string(nodes.size())},
      {"STEP_NUM_TASKS", std::to_string(task_count(step))}};
  for (const std::string prefix : {"SLURM_", "GANGWAY_"})
    for (const auto& [name, value] : values) out.push_back(prefix + name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

/// Signals as a program expects them, whatever this one listens to.
void set_signals(posix_spawnattr_t& how) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

}  // namespace

int run_to_end(const std::string& file, std::vector<std::string> words, std::vector<std::string> settings) {
  for (char** line = environ; *line != nullptr; ++line) settings.emplace_back(*line);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  set_signals(how);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, file.c_str(), &files, &how, pointers(words).data(), pointers(settings).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  int status = 0;
  if (error != 0) return 127;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_beside(const std::string& program, const std::vector<std::string>& words, const wire::Step& step) {
  std::vector<std::string> line = {program};
  line.insert(line.end(), words.begin(), words.end());
  return run_to_end(program, std::move(line), settings_of(step));
}

}  // namespace gw::cmds
