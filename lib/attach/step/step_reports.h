// What the user is told of a step and its tasks.
// Invariant: ends of tasks that come together are told together, and each once.
#pragma once

#include <string>
#include <vector>

#include "attach/step/step_options.h"
#include "attach/step/step_verdict.h"
#include "attach/step/task_table.h"
#include "io/loop.h"

namespace gw::attach {

class StepReports {
 public:
  /// All but the names outlive it.
  StepReports(io::Loop& loop, const StepOptions& options, const StepVerdict& verdict, std::vector<std::string> node_of)
      : loop_(loop), options_(options), verdict_(verdict), tasks_(std::move(node_of)) {}

  void on_say(SayFn fn) { say_fn_ = std::move(fn); }
  void say(bool is_error, const std::string& text) const {
    if (say_fn_) say_fn_(is_error, text);
  }
  TaskTable& tasks() { return tasks_; }
  const TaskTable& tasks() const { return tasks_; }

  /// How tasks ended badly, a moment later.
  void tell_ends_soon();
  void tell_ends();
  /// Of programs that say themselves how they fail: who was killed could not.
  void tell_killed();
  void forget_ends() { timer_.cancel(); }
  /// A limit of the step's own is over. Each node says so, at the same time; it is told once.
  void tell_limit(const std::string& text);

 private:
  io::Loop& loop_;
  const StepOptions& options_;
  const StepVerdict& verdict_;
  TaskTable tasks_;
  SayFn say_fn_;
  io::Timer timer_;
  bool has_reported_limit_ = false;
};

}  // namespace gw::attach
