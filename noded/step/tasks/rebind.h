// Moves the tasks of a step that run onto other processors, when other steps of their job have come or gone.
// Invariants: a thread that is bound as its task was goes where its task goes; one that has chosen for itself keeps
// what is left of its choice, and goes with its task where nothing is; a process that has left its task behind follows
// if it is still bound as that was. Limit: nothing keeps a program from choosing otherwise afterwards, within what its
// job's group allows.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/bitset.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// Where a thread that may run on `present` goes when its task moves.
base::IndexSet moved(const base::IndexSet& present, const base::IndexSet& before, const base::IndexSet& after);

/// What the tasks of one step are bound to.
class TaskCpus {
 public:
  /// The starter has been forked, which binds tasks as the places say now.
  void begin(const wire::StepAccess& access);
  /// Brings the tasks to where the places say. `pids`: by local task, 0: does not run; those follow when they do.
  /// `root`: the process from which all descend.
  void follow(const wire::StepAccess& access, pid_t root, const std::vector<pid_t>& pids);

 private:
  std::vector<std::string> bound_;
};

}  // namespace gw::noded::step
