// How far a replay is, on the last line of a terminal. Invariant: nothing is written where standard error is no
// terminal, and nothing of it stays on the screen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/cluster.h"

namespace gw::cmds {

class ProgressLine {
 public:
  /// `title` stands before the numbers.
  explicit ProgressLine(std::string title = "");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// To be called with the jobs that are done, all jobs, and the virtual time. Empty: there is no terminal. It may
  /// outlive this.
  std::function<void(uint64_t left, uint64_t jobs, sim::Time now)> teller() const;
  void clear() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // null: there is no terminal
};

}  // namespace gw::cmds
