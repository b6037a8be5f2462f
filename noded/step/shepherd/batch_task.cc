// The task of a step that runs a script.
#include "noded/step/shepherd/batch_task.h"

#include <unistd.h>

#include "noded/step/proc/files.h"
#include "noded/step/shepherd/step_notes.h"
#include "noded/step/start/task_programs.h"

namespace gw::noded::step {

void BatchTask::begin(Task task, std::string hosts) {
  task_ = std::move(task);
  hosts_ = std::move(hosts);
  is_alive_ = true;
}

bool BatchTask::read(const std::function<void(const TaskEvent&)>& on_event) {
  if (!task_.events) return false;
  char chunk[4096];
  ssize_t n = 0;
  while ((n = ::read(task_.events.get(), chunk, sizeof chunk)) > 0) buffer_.append(chunk, static_cast<size_t>(n));
  const bool is_closed = n == 0;
  TaskEvent event;
  while (take_event(buffer_, event)) on_event(event);
  if (is_closed) task_.events.reset();
  return is_closed;
}

bool BatchTask::starts_epilog(const wire::StepSpec& spec, Containment& contain, int status) {
  const TaskPrograms programs = programs_of(spec);
  if (programs.epilogs.empty() || is_killed_) return false;
  const auto pid =
      start_epilogs(spec, contain, programs, {hosts_, spec.work_dir()}, {spec.env().begin(), spec.env().end()});
  if (!pid) return log_note(spec, pid.error().text()), false;
  epilog_ = {*pid, status};
  return true;
}

std::optional<int> BatchTask::take_end(pid_t epilog) {
  if (!epilog_ || epilog_->pid != epilog) return std::nullopt;
  const int status = epilog_->status;
  epilog_.reset();
  return status;
}

void BatchTask::let_go() {
  if (!task_.go) return;
  static_cast<void>(proc::write_all(task_.go.get(), "g", "go"));
  task_.go.reset();
}

}  // namespace gw::noded::step
