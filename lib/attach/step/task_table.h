// The tasks of a step as its client knows them: which run, how each ended, what that means for the exit code, and the
// words for all that. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace gw::attach {

/// "0-3,7" of ascending numbers.
std::string ranges(const std::vector<uint32_t>& numbers);
/// "tasks 0-3" or "task 7".
std::string tasks_text(const std::vector<uint32_t>& ranks);

class TaskTable {
 public:
  /// node_of[rank]: the name of its node; empty if it is not known.
  explicit TaskTable(std::vector<std::string> node_of) : node_of_(std::move(node_of)), tasks_(node_of_.size()) {}

  /// For those whose ranks are known only now.
  void set_node(uint32_t rank, const std::string& node) {
    if (rank < node_of_.size()) node_of_[rank] = node;
  }
  /// Ranks that are not there are passed over: what a shepherd says is not trusted.
  void on_started(uint32_t rank);
  void on_ended(uint32_t rank, uint8_t code, uint8_t signal);
  size_t size() const { return tasks_.size(); }
  size_t ended() const { return ended_; }
  bool all_ended() const { return ended_ == tasks_.size(); }
  /// The highest of the tasks' codes, where a signal counts as 128 + its number.
  int exit_code() const;
  /// The highest of those that ended by themselves, not by SIGTERM or SIGKILL: what a step that was ended ends with.
  int own_exit_code() const;
  /// One line for each state that tasks are in whose node is known: "step:7.0 tasks 0-3: running".
  std::vector<std::string> state_lines(const std::string& step) const;
  /// How tasks ended badly since the last call: "n3: task 5: Exited with exit code 2", "n1: tasks 0-3: Terminated".
  std::vector<std::string> take_bad_ends();

 private:
  enum class State : uint8_t { kWaiting, kRunning, kExited, kFailed, kSignalled };
  struct Task {
    State state = State::kWaiting;
    uint8_t code = 0;
    uint8_t signal = 0;
  };
  std::vector<std::string> node_of_;
  std::vector<Task> tasks_;
  size_t ended_ = 0;
  std::map<std::tuple<std::string, uint8_t, uint8_t>, std::vector<uint32_t>> bad_;
};

}  // namespace gw::attach
