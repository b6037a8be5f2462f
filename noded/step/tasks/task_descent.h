// Which task of a step a process belongs to.
// Invariant: it is that from which it descends, or whose session it is in where its parents have gone.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>

#include "noded/step/proc/tree.h"

namespace gw::noded::step {

class TaskDescent {
 public:
  void add(pid_t task, size_t index) { task_of_[task] = index; }
  /// To be asked of parents before their children. Nothing: it is nobody's.
  std::optional<size_t> find(const proc::Process& process, pid_t session) {
    auto task = task_of_.find(process.pid);
    if (task == task_of_.end()) task = task_of_.find(process.parent);
    if (task == task_of_.end()) task = task_of_.find(session);
    if (task == task_of_.end()) return std::nullopt;
    const size_t index = task->second;
    task_of_[process.pid] = index;
    return index;
  }

 private:
  std::map<pid_t, size_t> task_of_;
};

}  // namespace gw::noded::step
