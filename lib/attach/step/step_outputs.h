// What the tasks of a step print, on its way into the sinks of this program.
// Invariants: what a full sink does not take stays with its session, whose channel is pulled again when there is room,
// in turn, so that none of many writers to a slow terminal is left out. Of a node whose tasks are not known yet nothing
// is taken.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "attach/local/line_writer.h"
#include "attach/local/sink.h"
#include "attach/step/step_nodes.h"
#include "base/screen_modes.h"

namespace gw::attach {

class StepOutputs {
 public:
  /// All of them outlive it. `tasks`: of the whole step.
  StepOutputs(const StepOptions& options, StepNodes& nodes, size_t tasks, Sink& out, Sink& error)
      : options_(options), nodes_(nodes), tasks_(tasks), out_(out), error_(error), channels_(nodes.size()) {}

  /// The node's tasks are known.
  void prepare(size_t node);
  bool is_prepared(size_t node) const { return !channels_[node].empty(); }
  /// As stream::Handler::on_bytes.
  size_t take(size_t node, stream::ChannelId channel, std::string_view bytes);
  /// No more comes on this channel.
  void finish(size_t node, stream::ChannelId channel);
  /// What has waited for its tasks to be known, or for a sink.
  void pull(size_t node);
  void resume(const Sink& sink);
  /// Everything that was taken is written.
  bool is_flushed() const { return out_.is_flushed() && error_.is_flushed(); }
  /// What puts a terminal back that has shown what came.
  std::string screen_leave() const { return modes_.leave(); }

 private:
  struct Channel {
    std::optional<LineWriter> writer;  // absent: carries no output
    bool is_blocked = false;           // stands in blocked_
  };

  const StepOptions& options_;
  StepNodes& nodes_;
  uint32_t tasks_;
  Sink& out_;
  Sink& error_;
  SharedLine out_line_, error_line_;
  std::vector<std::vector<Channel>> channels_;  // of each node, by number
  std::deque<std::pair<size_t, stream::ChannelId>> blocked_;
  base::ScreenModes modes_;

  bool is_left_out(size_t node, stream::ChannelId channel) const;
};

}  // namespace gw::attach
