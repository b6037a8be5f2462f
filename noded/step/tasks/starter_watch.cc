// The starter of a step's tasks while it lives.
#include "noded/step/tasks/starter_watch.h"

#include <unistd.h>

namespace gw::noded::step {

StarterWatch::StarterWatch(io::Loop& loop, Starter starter, std::function<void()> on_said)
    : starter_(std::move(starter)), watch_(loop.watch_readable(starter_.events.get(), std::move(on_said))) {}

void StarterWatch::read() {
  char bytes[4096];
  ssize_t n = 0;
  while ((n = ::read(starter_.events.get(), bytes, sizeof bytes)) > 0) buffer_.append(bytes, static_cast<size_t>(n));
  if (n == 0) watch_.cancel();  // its death is told by wait()
}

std::optional<TaskEvent> StarterWatch::next() {
  TaskEvent event;
  return take_event(buffer_, event) ? std::optional(std::move(event)) : std::nullopt;
}

std::optional<int> StarterWatch::take_end(pid_t pid) {
  const auto ended = ended_.extract(pid);
  return ended.empty() ? std::nullopt : std::optional(ended.mapped());
}

}  // namespace gw::noded::step
