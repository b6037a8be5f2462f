// The starter of a step's tasks while it lives, as its shepherd follows it.
// Invariant: children whose end was reaped before the starter told of their start are not forgotten.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "io/loop.h"
#include "noded/step/start/starter.h"

namespace gw::noded::step {

class StarterWatch {
 public:
  /// `on_said`: it has said something, or has gone.
  StarterWatch(io::Loop& loop, Starter starter, std::function<void()> on_said);
  StarterWatch(const StarterWatch&) = delete;
  StarterWatch& operator=(const StarterWatch&) = delete;

  pid_t pid() const { return starter_.pid; }
  /// Takes in what it has said since.
  void read();
  /// The next thing that it has said and that is whole.
  std::optional<TaskEvent> next();
  /// A child has ended that nobody knows yet.
  void keep_end(pid_t pid, int status) { ended_[pid] = status; }
  /// Its end, if it was kept; once.
  std::optional<int> take_end(pid_t pid);

 private:
  Starter starter_;
  io::Watch watch_;  // goes before the descriptor
  std::string buffer_;
  std::map<pid_t, int> ended_;
};

}  // namespace gw::noded::step
