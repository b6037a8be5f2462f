// Input and output of a step's client.
#include <algorithm>
#include <utility>

#include "attach/step_client.h"
#include "wire/step_channels.h"

namespace gw::attach {

using stream::ChannelId;

void StepClient::prepare_outputs(Node& node) {
  const auto places = static_cast<uint32_t>(node.plan.launch.tasks_size());
  const auto tasks = static_cast<uint32_t>(tasks_.size());
  const bool by_lines = tasks > 1 && !options_.unbuffered && !node.plan.launch.pty();
  node.outputs = std::vector<Output>(wire::output_channel(places));
  for (uint32_t place = 0; place < places; ++place) {
    LineWriter::Options options;
    options.by_lines = by_lines;
    if (options_.label) options.label = label_of(node.plan.launch.tasks(static_cast<int>(place)).rank(), tasks);
    node.outputs[wire::output_channel(place)].writer.emplace(out_, out_line_, options);
    SharedLine& error_line = &error_ == &out_ ? out_line_ : error_line_;
    node.outputs[wire::error_channel(place)].writer.emplace(error_, error_line, options);
  }
}

bool StepClient::is_left_out(const Node& node, ChannelId channel) const {
  const bool is_output = channel % 2 == wire::output_channel(0) % 2;
  const auto& only = is_output ? options_.only_output : options_.only_error;
  const int place = static_cast<int>((channel - wire::output_channel(0)) / 2);
  return only && *only != node.plan.launch.tasks(place).rank();
}

size_t StepClient::on_output(size_t index, ChannelId channel, std::string_view bytes) {
  if (channel >= nodes_[index].outputs.size()) return 0;  // whose it is comes first
  if (is_left_out(nodes_[index], channel)) return bytes.size();
  Output& output = nodes_[index].outputs[channel];
  const size_t taken = output.writer->feed(bytes);
  if (nodes_[index].plan.launch.pty()) modes_.feed(bytes.substr(0, taken));
  if (taken < bytes.size() && !std::exchange(output.is_waiting, true)) blocked_.emplace_back(index, channel);
  return taken;
}

void StepClient::on_output_end(size_t index, ChannelId channel) {
  if (channel < nodes_[index].outputs.size()) nodes_[index].outputs[channel].writer->finish();
  check_done();
}

// In turn, so that none of many writers to a slow terminal is left out.
void StepClient::resume_output(const Sink& sink) {
  for (size_t left = blocked_.size(); left > 0 && sink.is_ready(); --left) {
    const auto [index, channel] = blocked_.front();
    blocked_.pop_front();
    Output& output = nodes_[index].outputs[channel];
    if (&output.writer->sink() != &sink) {
      blocked_.emplace_back(index, channel);
      continue;
    }
    output.is_waiting = false;
    if (nodes_[index].session) nodes_[index].session->session().pull(channel);
  }
  check_done();
}

void StepClient::on_broken(const base::Error& why) {
  const bool has_no_reader = why.code == base::ErrorCode::kUnavailable;
  if (!has_no_reader) say(true, "cannot write output to " + why.text());
  own_code_ = has_no_reader ? kExitPipe : 1;
  if (options_.part != Part::kLaunch) return depart(*own_code_);
  for (Node& node : nodes_)
    if (node.session) node.session->refuse_outputs();
  if (!is_ending_) end(options_.grace);
  check_done();
}

void StepClient::take_input(Descriptor from) {
  is_input_over_ = false;
  source_ = std::make_unique<Source>(loop_, std::move(from), [this](std::string_view piece) { on_piece(piece); });
}

/// What of it is for the tasks. A terminal's keys also mean something here.
std::string StepClient::without_keys(std::string_view piece) {
  constexpr base::Duration kSecondKey = base::milliseconds(700);
  constexpr char kInterrupt = '\x03';
  key_timer_.cancel();
  const bool watches = options_.part == Part::kWatch;
  std::string typed = detach_key_.feed(piece);
  const bool leaves = detach_key_.is_found() || (watches && piece.find(kInterrupt) != std::string_view::npos);
  if (leaves && detach_fn_)
    loop_.defer([alive = alive_, fn = detach_fn_] {
      if (*alive) fn();
    });
  if (detach_key_.is_held()) key_timer_ = loop_.after(kSecondKey, [this] { on_key_alone(); });
  return watches ? std::string() : typed;
}

void StepClient::on_key_alone() {
  const std::string key = detach_key_.give_up();
  if (options_.part == Part::kWatch || is_input_over_) return;
  const bool is_new = piece_.empty();
  piece_ += key;
  if (is_new)
    for (Node& node : nodes_) node.session->next_piece();
  pump_input();
}

void StepClient::on_piece(std::string_view piece) {
  if (piece.empty() && options_.part == Part::kWatch) return;
  if (piece.empty()) return on_input_end();
  piece_ = options_.may_detach ? without_keys(piece) : std::string(piece);
  if (detach_key_.is_found()) return;
  if (piece_.empty()) return source_->want();
  for (Node& node : nodes_) node.session->next_piece();
  pump_input();
}

void StepClient::on_input_room() { pump_input(); }

void StepClient::pump_input() {
  if (piece_.empty() || is_input_over_) return;
  bool is_taken = true;
  for (Node& node : nodes_) is_taken = node.session->feed(piece_) && is_taken;
  if (!is_taken) return;
  piece_.clear();
  const bool is_wanted = std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.session->takes_input() && node.phase < Phase::kEnded &&
           !node.session->session().is_unwanted(wire::kInputChannel);
  });
  if (is_wanted)
    source_->want();
  else
    end_input();
}

/// Who joins a terminal with input that ends (cron, nohup) did not type ctrl-D.
void StepClient::on_input_end() {
  const bool joins = options_.part == Part::kJoin;
  is_end_held_ = joins && !is_running_;
  if (!is_end_held_ && !(joins && screen_)) end_input();
}

void StepClient::end_input() {
  is_input_over_ = true;
  for (Node& node : nodes_)
    if (node.session && node.phase < Phase::kClosed) node.session->end_input();
}

void StepClient::drop_connections() {
  for (Node& node : nodes_) node.session->drop_connection();
}

}  // namespace gw::attach
