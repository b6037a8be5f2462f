// One task of a step, from its fork: the process, and how far it has come.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>

#include "io/loop.h"
#include "noded/step/child.h"
#include "noded/step/task.h"
#include "noded/step/task_env.h"
#include "stream/control.h"
#include "wire/launch.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// What all tasks of a launch have in common; the task's process sees it as it was at its fork.
struct StepPlan {
  const wire::StepSpec& spec;
  Containment& contain;
  std::string hosts;
  wire::LaunchTasks launch;
  Environment environment;
  std::optional<rlimit> files;  ///< Open files that a process had before the shepherd helped itself to more.
  Pipe go;                      ///< A byte for each task.
};

/// The task's ends; those that are not the client's are not set.
struct TaskEnds {
  proc::Fd input;
  proc::Fd output;
  proc::Fd error;
  proc::Fd terminal;  ///< In the place of all three.
};

struct StepTask {
  enum class State { kForked, kStanding, kFailed, kRunning, kEnded };  // kFailed: it has said why, and is going

  uint32_t rank = 0;
  pid_t pid = 0;
  State state = State::kForked;
  proc::Fd events;
  io::Watch watch;  // of `events`, and goes before it
  std::string buffer;
  int status = 0;  ///< As wait() gives it; once it has ended, or said that it will.

  /// Its end, as wait() gives it. The code that it failed with holds: its client, told of that, may have had it killed
  /// before it could leave.
  void set_ended(int how) {
    if (state != State::kFailed) status = how;
    state = State::kEnded;
  }
  bool is_alive() const { return state != State::kEnded; }
  /// It is still our own code, and would go on to run its program.
  bool is_starting() const { return state == State::kForked || state == State::kStanding; }
};

/// How an ended task ended.
stream::TaskEnded end_of(const StepTask& task);

/// Forks the task at `place`, which tells by events how far it is and runs its program when it may go.
base::Result<StepTask> spawn_step_task(const StepPlan& plan, size_t place, const TaskEnds& ends);

}  // namespace gw::noded::step
