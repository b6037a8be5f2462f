// What the two ends of a session tell each other beside bytes. Each message arrives exactly once and in order among
// themselves; bytes of a channel may arrive later than a control message that was sent after them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace gw::stream {

/// Which end of a session this is.
enum class Role : uint8_t { kClient = 1, kShepherd = 2 };

/// Stands for every task of the step on this node.
constexpr uint32_t kAllTasks = UINT32_MAX;

/// Client: the terminal has another size.
struct WindowSize {
  uint16_t rows = 0;
  uint16_t columns = 0;
  bool operator==(const WindowSize&) const = default;
};
/// Client: send a signal to a task or to all.
struct Signal {
  uint32_t task = kAllTasks;
  uint8_t number = 0;
  bool operator==(const Signal&) const = default;
};
/// Shepherd: a task runs.
struct TaskStarted {
  uint32_t task = 0;
  uint32_t pid = 0;
  bool operator==(const TaskStarted&) const = default;
};
/// Shepherd: a task has ended, by exit (signal 0) or by a signal.
struct TaskEnded {
  uint32_t task = 0;
  uint8_t exit_code = 0;
  uint8_t signal = 0;
  bool operator==(const TaskEnded&) const = default;
};
/// Shepherd: what the step as a whole does.
struct StepState {
  enum class Phase : uint8_t { kStarting = 1, kRunning = 2, kEnding = 3, kEnded = 4 };
  Phase phase = Phase::kStarting;
  std::string text;  ///< For the user; may be empty; of kStarting: see wire.LaunchTasks. At most kMaxStateText bytes.
  bool operator==(const StepState&) const = default;
};
constexpr size_t kMaxStateText = 1000;

/// Shepherd: first to who has joined a step that runs. TaskStarted follows for each of its tasks on this node, in the
/// order of their places, with TaskEnded for those that have ended, then StepState.
struct Joined {
  uint32_t tasks = 0;
  bool has_terminal = false;  ///< The first of them.
  uint16_t rows = 0;          ///< Of the terminal.
  uint16_t columns = 0;
  bool operator==(const Joined&) const = default;
};

using Control = std::variant<WindowSize, Signal, TaskStarted, TaskEnded, StepState, Joined>;

/// Longest encoded control message, in bytes.
constexpr size_t kMaxControl = 8 + kMaxStateText;

/// The end that may send it.
Role sender_of(const Control& control);
/// A text that is too long is cut.
std::string encode_control(const Control& control);
/// Errors: kProtocol, unknown kind, cut, values out of range.
base::Result<Control> decode_control(std::string_view bytes);

}  // namespace gw::stream
