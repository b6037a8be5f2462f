// The task of a step that runs a script.
#include "noded/step/shepherd/batch_task.h"

#include <unistd.h>

#include "noded/step/proc/files.h"

namespace gw::noded::step {

void BatchTask::begin(Task task) {
  task_ = std::move(task);
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

void BatchTask::let_go() {
  if (!task_.go) return;
  static_cast<void>(proc::write_all(task_.go.get(), "g", "go"));
  task_.go.reset();
}

}  // namespace gw::noded::step
