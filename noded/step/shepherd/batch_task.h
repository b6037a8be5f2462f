// The task of a step that runs a script, as its shepherd follows it from the fork to its end.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "noded/step/start/task.h"

namespace gw::noded::step {

class BatchTask {
 public:
  /// It has been forked.
  void begin(Task task);
  /// False of a step that has no script.
  bool exists() const { return task_.pid > 0; }
  bool is_alive() const { return is_alive_; }
  pid_t pid() const { return task_.pid; }
  /// Readable when it says something; -1 once it says nothing more.
  int events_fd() const { return task_.events.get(); }
  /// Hands over what it has said. True if it said the last of it just now: it has executed its script, or has died.
  bool read(const std::function<void(const TaskEvent&)>& on_event);
  /// It may execute its script, if it waits for that.
  void let_go();
  void on_reaped() { is_alive_ = false; }

 private:
  Task task_;
  std::string buffer_;
  bool is_alive_ = false;  // not yet reaped
};

}  // namespace gw::noded::step
