// The epilogs of a step's tasks: each runs when its task has ended, and holds up the end of the step.
// Invariant: a task has at most one, and none before it has run.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "noded/step/containment.h"
#include "noded/step/start/step_task.h"
#include "noded/step/start/task_programs.h"
#include "wire/step.pb.h"

namespace gw::noded::step {

class TaskEpilogs {
 public:
  /// All references outlive it. `hosts`: as in ChildSettings.
  TaskEpilogs(const wire::StepSpec& spec, Containment& contain, const std::string& hosts)
      : spec_(spec), contain_(contain), hosts_(hosts) {}

  /// What is launched: kept if it has epilogs.
  void begin(const StepPlan& plan);
  /// The task at this place has ended.
  void start(size_t place, uint32_t rank);
  /// None is begun any more: what lives is killed.
  void stop() { launched_.reset(); }
  /// Whether it is one of them that has ended.
  bool on_child(pid_t pid, int status);
  bool are_running() const { return !running_.empty(); }

 private:
  struct Launched {
    TaskPrograms programs;
    wire::LaunchTasks launch;
    Environment environment;
  };
  const wire::StepSpec& spec_;
  Containment& contain_;
  const std::string& hosts_;
  std::optional<Launched> launched_;
  std::map<pid_t, uint32_t> running_;  // with the ranks of their tasks
};

}  // namespace gw::noded::step
