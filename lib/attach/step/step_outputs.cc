// Channels, writers and sinks.
#include "attach/step/step_outputs.h"

#include <utility>

#include "wire/step_channels.h"

namespace gw::attach {

using stream::ChannelId;

void StepOutputs::prepare(size_t node) {
  const wire::LaunchTasks& launch = nodes_[node].launch();
  const auto places = static_cast<uint32_t>(launch.tasks_size());
  const bool by_lines = tasks_ > 1 && !options_.unbuffered && !launch.pty();
  std::vector<Channel> channels(wire::output_channel(places));
  for (uint32_t place = 0; place < places; ++place) {
    LineWriter::Options options;
    options.by_lines = by_lines;
    if (options_.label) options.label = label_of(launch.tasks(static_cast<int>(place)).rank(), tasks_);
    channels[wire::output_channel(place)].writer.emplace(out_, out_line_, options);
    SharedLine& error_line = &error_ == &out_ ? out_line_ : error_line_;
    channels[wire::error_channel(place)].writer.emplace(error_, error_line, options);
  }
  channels_[node] = std::move(channels);
}

bool StepOutputs::is_left_out(size_t node, ChannelId channel) const {
  const bool is_output = channel % 2 == wire::output_channel(0) % 2;
  const auto& only = is_output ? options_.only_output : options_.only_error;
  const int place = static_cast<int>((channel - wire::output_channel(0)) / 2);
  return only && *only != nodes_[node].launch().tasks(place).rank();
}

size_t StepOutputs::take(size_t node, ChannelId number, std::string_view bytes) {
  if (number >= channels_[node].size()) return 0;  // whose it is comes first
  if (is_left_out(node, number)) return bytes.size();
  Channel& channel = channels_[node][number];
  const size_t taken = channel.writer->feed(bytes);
  if (nodes_[node].launch().pty()) modes_.feed(bytes.substr(0, taken));
  if (taken < bytes.size() && !std::exchange(channel.is_blocked, true)) blocked_.emplace_back(node, number);
  return taken;
}

void StepOutputs::finish(size_t node, ChannelId number) {
  if (number < channels_[node].size()) channels_[node][number].writer->finish();
}

void StepOutputs::pull(size_t node) {
  for (ChannelId number = wire::output_channel(0); number < channels_[node].size(); ++number)
    nodes_[node].session()->session().pull(number);
}

void StepOutputs::resume(const Sink& sink) {
  for (size_t left = blocked_.size(); left > 0 && sink.is_ready(); --left) {
    const auto [node, number] = blocked_.front();
    blocked_.pop_front();
    Channel& channel = channels_[node][number];
    if (&channel.writer->sink() != &sink) {
      blocked_.emplace_back(node, number);
      continue;
    }
    channel.is_blocked = false;
    if (nodes_[node].session() != nullptr) nodes_[node].session()->session().pull(number);
  }
}

}  // namespace gw::attach
