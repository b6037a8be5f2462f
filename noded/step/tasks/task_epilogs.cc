// See task_epilogs.h.
#include "noded/step/tasks/task_epilogs.h"

#include <cstdio>
#include <utility>

#include "noded/step/tasks/task_set.h"

namespace gw::noded::step {

void TaskEpilogs::begin(const StepPlan& plan) {
  TaskPrograms programs = programs_of(spec_, plan.launch);
  if (!programs.epilogs.empty()) launched_ = Launched{std::move(programs), plan.launch, plan.environment};
}

void TaskEpilogs::start(size_t place, uint32_t rank) {
  if (!launched_) return;
  const uint32_t program = launched_->launch.tasks(static_cast<int>(place)).program();
  if (launched_->launch.programs(static_cast<int>(program)).own()) return;  // nothing of the user's ran
  Environment environment = launched_->environment;
  add_task_variables(environment, launched_->launch, spec_.access(), place);
  const auto pid =
      start_epilogs(spec_, contain_, launched_->programs, {hosts_, launched_->launch.work_dir()}, environment.lines());
  if (pid)
    running_[*pid] = rank;
  else
    std::fprintf(stderr, "gstepd: job %u.%u step %s: task %u: %s\n", spec_.job(), spec_.attempt(), spec_.step().c_str(),
                 rank, pid.error().text().c_str());
}

bool TaskEpilogs::on_child(pid_t pid, int status) {
  const auto ended = running_.find(pid);
  if (ended == running_.end()) return false;
  if (status != 0)
    std::fprintf(stderr, "gstepd: job %u.%u step %s: task %u: its epilog failed with code %d\n", spec_.job(),
                 spec_.attempt(), spec_.step().c_str(), ended->second, code_of_end(status));
  running_.erase(ended);
  return true;
}

}  // namespace gw::noded::step
