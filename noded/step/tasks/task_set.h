// The tasks that one step has on this node, each with its process and how far it has come.
// Invariant: a task is signalled only while its process is known and has not been reaped.
#pragma once

#include <sys/types.h>

#include <vector>

#include "noded/step/start/step_task.h"
#include "noded/step/tasks/rebind.h"
#include "noded/step/tasks/step_usage.h"

namespace gw::noded::step {

/// The exit code that stands for an end as wait() gives it.
int code_of_end(int status);

class TaskSet {
 public:
  void add(uint32_t rank) { tasks_.emplace_back().rank = rank; }
  size_t size() const { return tasks_.size(); }
  /// By its place on this node, which must be one.
  StepTask& at(size_t place) { return tasks_[place]; }
  size_t place_of(const StepTask& task) const { return static_cast<size_t>(&task - tasks_.data()); }
  auto begin() { return tasks_.begin(); }
  auto end() { return tasks_.end(); }
  auto begin() const { return tasks_.begin(); }
  auto end() const { return tasks_.end(); }

  /// The living task with this process; null if there is none.
  StepTask* with_process(pid_t pid);
  bool is_alive(uint32_t rank) const;
  bool has_living() const;
  /// Each has run, or runs.
  bool have_all_run() const;
  /// The one that ended worst; null if there are none.
  const StepTask* worst() const;
  std::vector<TaskAt> running() const;
  /// Those that have or had a process.
  std::vector<TaskAt> with_processes() const;

  /// To the process group of the task of this rank, or of each (stream::kAllTasks), that runs.
  void signal(uint32_t rank, int signo) const;
  /// They are about to start where the places say.
  void bind(const wire::StepAccess& access) { cpus_.begin(access); }
  /// Those that run go where the places say now.
  void follow(const wire::StepAccess& access);

 private:
  std::vector<StepTask> tasks_;
  TaskCpus cpus_;
};

}  // namespace gw::noded::step
