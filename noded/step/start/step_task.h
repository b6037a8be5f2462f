// One task of a step, and what all of a launch have in common.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>

#include "noded/step/start/child.h"
#include "noded/step/start/task.h"
#include "noded/step/start/task_env.h"
#include "stream/control.h"
#include "wire/launch.pb.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// What all tasks of a launch have in common; their starter sees it as it was at its fork.
struct StepPlan {
  const wire::StepSpec& spec;
  Containment& contain;
  std::string hosts;
  wire::LaunchTasks launch;
  Environment environment;
  std::optional<rlimit> files;  ///< Open files that a process had before the shepherd helped itself to more.
  Pipe go;                      ///< One byte lets them start; its closing calls that off.
};

/// The task's ends; those that are not the client's are not set.
struct TaskEnds {
  proc::OwnedFd input;
  proc::OwnedFd output;
  proc::OwnedFd error;
  proc::OwnedFd terminal;  ///< In the place of all three.
};

struct StepTask {
  enum class State { kWaiting, kFailed, kRunning, kEnded };  // kFailed: it has said why, and is going

  uint32_t rank = 0;
  pid_t pid = 0;  ///< 0 before it is known.
  State state = State::kWaiting;
  int status = 0;  ///< As wait() gives it; once it has ended, or said that it will.

  /// Its end, as wait() gives it. The code that it failed with holds: its client, told of that, may have had it killed
  /// before it could leave.
  void set_ended(int how) {
    if (state != State::kFailed) status = how;
    state = State::kEnded;
  }
  bool is_alive() const { return pid > 0 && state != State::kEnded; }
};

/// How an ended task ended.
stream::TaskEnded end_of(const StepTask& task);

}  // namespace gw::noded::step
