// What the nodes of a step say, and what follows from it for the machines of its client.
// Invariants: a node that cannot start its tasks ends the whole step. Who did not launch the step never ends it.
#pragma once

#include <string>

#include "attach/step/step_machines.h"

namespace gw::attach {

class StepEvents final : public NodeEvents {
 public:
  /// `machines` outlives it.
  explicit StepEvents(StepMachines& machines) : m_(machines) {}

  /// A sink takes more again.
  void on_room(const Sink& sink);
  /// A sink takes nothing any more.
  void on_broken(const base::Error& why);

  size_t on_output(size_t node, stream::ChannelId channel, std::string_view bytes) override;
  void on_output_end(size_t node, stream::ChannelId channel) override;
  void on_input_room() override;
  void on_control(size_t node, const stream::Control& control) override;
  void on_closed(size_t node, const base::Error& reason) override;
  void on_connected(size_t node, bool is_connected, const std::string& reason) override;

 private:
  StepMachines& m_;

  void on_joined(StepNode& node, const stream::Joined& joined);
  void on_task_started(StepNode& node, uint32_t rank);
  void on_task_ended(const stream::TaskEnded& ended);
  void on_state(size_t node, const stream::StepState& state);
  void on_ending(StepNode& node, const std::string& why);
  void on_not_joined(StepNode& node, const base::Error& reason);
  void release_if_ready();
  void check_running();
};

}  // namespace gw::attach
