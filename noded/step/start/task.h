// The task side of a step: what happens between the fork and the execve of the user's script.
// Invariants: it runs in a process of its own and never returns; no path that the user chose is touched before the
// process is the user; it does not run the script unless it is exactly the user that was asked for.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "model/job_state.h"
#include "noded/step/containment.h"
#include "noded/step/proc/owned_fd.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

/// Why a task did not start: what the exit record says.
struct StartFailure {
  model::EndReason reason = model::EndReason::kLaunchFailed;
  std::string detail;
};

/// A forked task, as its shepherd sees it.
struct Task {
  pid_t pid = 0;
  proc::OwnedFd events;  ///< One TaskEvent after the other; closed by a successful execve.
  proc::OwnedFd go;      ///< One byte lets it execve; unset if it does not wait.
};

/// What the task tells its shepherd through `events`, or the starter of a step's tasks (who alone has kStarted): the
/// kind, and for a failure reason, text and the exit code that it leaves with, if nobody kills it first.
enum class TaskEventKind : char { kReady = 'R', kFailed = 'F', kNote = 'N', kStarted = 'S' };
struct TaskEvent {
  TaskEventKind kind = TaskEventKind::kNote;
  model::EndReason reason = model::EndReason::kNone;
  std::string text;
  uint8_t code = 1;
  uint32_t place = 0;  ///< Of a step's task: which.
  uint32_t pid = 0;    ///< Its process; 0 if it has none.
};
/// Bounded encoding: one write of at most PIPE_BUF bytes per event.
std::string encode(const TaskEvent& event);
/// Takes the events at the front of `buffer` that are whole.
bool take_event(std::string& buffer, TaskEvent& event);

/// Forks the task into its containment. `hosts`: file to show as /etc/hosts, or empty.
base::Result<Task> spawn_task(const wire::StepSpec& spec, Containment& contain, const std::string& hosts);

}  // namespace gw::noded::step
