// The tasks that one step has on this node.
#include "noded/step/tasks/task_set.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace gw::noded::step {

int code_of_end(int status) {
  constexpr int kSignalBase = 128;
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

stream::TaskEnded end_of(const StepTask& task) {
  stream::TaskEnded ended{task.rank, 0, 0};
  if (WIFSIGNALED(task.status)) ended.signal = static_cast<uint8_t>(WTERMSIG(task.status));
  if (WIFEXITED(task.status)) ended.exit_code = static_cast<uint8_t>(WEXITSTATUS(task.status));
  return ended;
}

StepTask* TaskSet::with_process(pid_t pid) {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                  [pid](const StepTask& task) { return task.pid == pid && task.is_alive(); });
  return found == tasks_.end() ? nullptr : &*found;
}

bool TaskSet::is_alive(uint32_t rank) const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [rank](const StepTask& task) { return task.rank == rank && task.is_alive(); });
}

bool TaskSet::has_living() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const StepTask& task) { return task.is_alive(); });
}

bool TaskSet::have_all_run() const {
  return std::all_of(tasks_.begin(), tasks_.end(),
                     [](const StepTask& task) { return task.state >= StepTask::State::kRunning; });
}

const StepTask* TaskSet::worst() const {
  const StepTask* worst = nullptr;
  for (const StepTask& task : tasks_)
    if (worst == nullptr || code_of_end(task.status) > code_of_end(worst->status)) worst = &task;
  return worst;
}

std::vector<TaskAt> TaskSet::running() const {
  std::vector<TaskAt> found;
  for (const StepTask& task : tasks_)
    if (task.is_alive()) found.push_back({task.rank, task.pid});
  return found;
}

std::vector<TaskAt> TaskSet::with_processes() const {
  std::vector<TaskAt> found;
  for (const StepTask& task : tasks_)
    if (task.pid > 0) found.push_back({task.rank, task.pid});
  return found;
}

void TaskSet::signal(uint32_t rank, int signo) const {
  for (const StepTask& task : tasks_) {
    if (!task.is_alive() || (rank != stream::kAllTasks && rank != task.rank)) continue;
    if (task.state == StepTask::State::kRunning) ::kill(-task.pid, signo);
  }
}

void TaskSet::follow(const wire::StepAccess& access) {
  std::vector<pid_t> pids;
  for (const StepTask& task : tasks_) pids.push_back(task.state == StepTask::State::kRunning ? task.pid : 0);
  cpus_.follow(access, ::getpid(), pids);
}

}  // namespace gw::noded::step
