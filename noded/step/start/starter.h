// The starter of a step's tasks on a node: one process, forked from the shepherd, that goes through what all tasks have
// in common (groups, name spaces, the user, the folder, the files of their streams), stands until it is told, and then
// starts one task after the other.
// Invariants: no task runs before all of the node's can, as far as that can be known; each is the shepherd's child, and
// its program runs, or cannot, before the next one is begun; one that cannot is the last. The starter holds nothing
// open that no task needs. What a task does before its execve takes little of the memory that it shares.
#pragma once

#include <sys/types.h>

#include <vector>

#include "noded/step/start/step_task.h"

namespace gw::noded::step {

/// A forked starter as its shepherd sees it. A task may end before `events` tell of its start: that is written after
/// its execve.
struct Starter {
  pid_t pid = -1;
  proc::OwnedFd events;  ///< One TaskEvent after the other.
};

/// Forks it for the tasks of the plan, whose ends these are. It leaves when all tasks run, when one cannot, and when
/// the other end of plan.go closes.
base::Result<Starter> fork_starter(const StepPlan& plan, std::vector<TaskEnds> ends);

}  // namespace gw::noded::step
