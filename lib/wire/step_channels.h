// The channels of a session between a command and the shepherd of a step.
// Invariant: the client sends orders (frames of wire.StepOrder) and input; the shepherd sends what the tasks print.
#pragma once

#include <cstdint>

namespace gw::wire {

/// Client to shepherd: frames (frame.h) of StepOrder. Ended by the client when it has no more orders.
constexpr uint32_t kOrderChannel = 0;
/// Client to shepherd: standard input of the tasks whose input is the client's, the same bytes to each.
constexpr uint32_t kInputChannel = 1;
/// Shepherd to client: of the task at a place on the node, counted from 0. With a terminal only output is used.
constexpr uint32_t output_channel(uint32_t place) { return 2 + 2 * place; }
constexpr uint32_t error_channel(uint32_t place) { return 3 + 2 * place; }
/// What a session is closed with when the step has gone over to another client.
constexpr const char* kTakenOver = "another client took this step over";
/// The same at the end of the step.
constexpr const char* kStepOver = "over";
/// What a client is refused with that comes too late, or too early, to join or to watch.
constexpr const char* kTasksHaveEnded = "the step is over";
constexpr const char* kTasksNotStarted = "the step has not started yet";
/// What StepState::kEnding says of a step that the controller ends, on all its nodes.
constexpr const char* kStepIsEnded = "the step is ended";
/// How that begins if a limit of the step's own is over, also on all its nodes.
constexpr const char* kStepTimeLimit = "time limit ";
/// Longest StepOrder, in bytes.
constexpr uint32_t kMaxStepOrder = 4 << 20;

}  // namespace gw::wire
