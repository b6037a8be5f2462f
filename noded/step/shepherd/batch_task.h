// The task of a step that runs a script, as its shepherd follows it from the fork to its end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "noded/step/start/task.h"

namespace gw::noded::step {

class BatchTask {
 public:
  /// It has been forked. `hosts`: as in ChildSettings, for its epilog.
  void begin(Task task, std::string hosts);
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

  /// All that lives is killed from now on: no epilog is begun any more.
  void on_kill() { is_killed_ = true; }
  /// It has run and ended so. True if its epilog runs now.
  bool starts_epilog(const wire::StepSpec& spec, Containment& contain, int status);
  /// How the task ended, once this process of its epilog has ended; nothing of any other.
  std::optional<int> take_end(pid_t epilog);

 private:
  Task task_;
  std::string buffer_, hosts_;
  bool is_alive_ = false;  // not yet reaped
  bool is_killed_ = false;
  struct Epilog {
    pid_t pid = 0;
    int status = 0;
  };
  std::optional<Epilog> epilog_;
};

}  // namespace gw::noded::step
