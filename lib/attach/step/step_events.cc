// From what a node says to the machines.
#include "attach/step/step_events.h"

#include <algorithm>

#include "attach/control/tickets.h"
#include "base/text.h"
#include "wire/step_channels.h"

namespace gw::attach {

using stream::ChannelId;

// --- output and input ---

size_t StepEvents::on_output(size_t node, ChannelId channel, std::string_view bytes) {
  return m_.outputs.take(node, channel, bytes);
}

void StepEvents::on_output_end(size_t node, ChannelId channel) {
  m_.outputs.finish(node, channel);
  m_.farewell.check();
}

void StepEvents::on_input_room() { m_.input.pump(); }

void StepEvents::on_room(const Sink& sink) {
  m_.outputs.resume(sink);
  m_.farewell.check();
}

void StepEvents::on_broken(const base::Error& why) {
  const bool has_no_reader = why.code == base::ErrorCode::kUnavailable;
  if (!has_no_reader) m_.reports.say(true, "cannot write output to " + why.text());
  const int code = has_no_reader ? kExitPipe : 1;
  m_.verdict.own(code);
  if (m_.options.part != Part::kLaunch) return m_.farewell.depart(code);
  m_.nodes.refuse_outputs();
  if (m_.farewell.is_attending()) m_.farewell.end(m_.options.grace);
  m_.farewell.check();
}

// --- tasks ---

void StepEvents::on_control(size_t index, const stream::Control& control) {
  StepNode& node = m_.nodes[index];
  if (const auto* joined = std::get_if<stream::Joined>(&control)) on_joined(node, *joined);
  if (const auto* started = std::get_if<stream::TaskStarted>(&control)) on_task_started(node, started->task);
  if (const auto* ended = std::get_if<stream::TaskEnded>(&control)) on_task_ended(*ended);
  if (const auto* state = std::get_if<stream::StepState>(&control)) on_state(index, *state);
  m_.farewell.check();
}

void StepEvents::on_joined(StepNode& node, const stream::Joined& joined) {
  if (node.on_joined(joined) && joined.has_terminal) m_.screen = joined;
}

void StepEvents::on_task_started(StepNode& node, uint32_t rank) {
  if (node.add_rank(rank)) m_.reports.tasks().set_node(rank, node.name());
  m_.reports.tasks().on_started(rank);
}

void StepEvents::on_task_ended(const stream::TaskEnded& ended) {
  TaskTable& tasks = m_.reports.tasks();
  tasks.on_ended(ended.task, ended.exit_code, ended.signal);
  if (!m_.farewell.is_waiting()) return;
  if (m_.options.quiet_ends && ended.signal != 0 && m_.farewell.is_attending()) m_.reports.tell_killed();
  m_.reports.tell_ends_soon();
  if (!m_.farewell.is_attending() || tasks.all_ended()) return;
  if (m_.options.ends_on_bad_exit && (ended.exit_code != 0 || ended.signal != 0)) {
    m_.reports.tell_ends();
    m_.reports.say(false, "ending step " + m_.options.step + " because of a task that failed");
    return m_.farewell.end(m_.options.grace);
  }
  if (m_.options.wait_after_first && tasks.ended() == 1) m_.farewell.end_others_after(*m_.options.wait_after_first);
}

// --- states of nodes ---

void StepEvents::on_state(size_t index, const stream::StepState& state) {
  StepNode& node = m_.nodes[index];
  using Of = stream::StepState::Phase;
  switch (state.phase) {
    case Of::kStarting:
      node.on_ready(state.text);
      return release_if_ready();
    case Of::kRunning:
      if (!state.text.empty()) return m_.reports.say(true, base::printable(state.text, stream::kMaxStateText));
      node.on_running();
      check_running();
      if (m_.options.part == Part::kLaunch || m_.outputs.is_prepared(index)) return;
      m_.outputs.prepare(index);
      return m_.outputs.pull(index);
    case Of::kEnding:
      return on_ending(node, state.text);
    case Of::kEnded:
      node.on_ended();
      return check_running();
  }
}

void StepEvents::release_if_ready() {
  if (m_.farewell.is_attending()) m_.start.release_if_ready();
}

void StepEvents::check_running() {
  if (!m_.farewell.is_attending() || !m_.start.begin_running()) return;
  m_.input.on_running(m_.screen.has_value());
  if (m_.running_fn) m_.running_fn();
}

void StepEvents::on_ending(StepNode& node, const std::string& why) {
  if (why.empty() || !m_.farewell.is_attending()) return;  // the first node that fails is named
  if (!node.has_run()) {
    m_.reports.say(true, node.name() + ": " + why);
    m_.verdict.not_started();
    return m_.farewell.end({});
  }
  if (why.starts_with(wire::kStepTimeLimit)) return m_.reports.tell_limit(why);
  m_.reports.say(true, node.name() + ": " + why);
  if (!node.launch().has_pmix() || m_.reports.tasks().all_ended() || why.starts_with(wire::kStepIsEnded)) return;
  // Without one node's tasks those of the others wait for ever.
  m_.verdict.mpi_failed(std::max(m_.reports.tasks().exit_code(), 1));
  m_.farewell.end(m_.options.grace);
}

// --- sessions ---

void StepEvents::on_closed(size_t index, const base::Error& reason) {
  if (!m_.farewell.is_waiting()) return;
  if (reason.what == wire::kTakenOver) return m_.farewell.depart(kExitTakenOver);
  StepNode& node = m_.nodes[index];
  const bool is_over = node.is_over();
  node.on_closed();
  if (m_.options.part != Part::kLaunch && !node.is_joined()) return on_not_joined(node, reason);
  if (!is_over) {
    m_.verdict.lose();
    m_.reports.say(true, node.name() + ": " + reason.text());
    if (m_.options.part != Part::kLaunch) return m_.farewell.depart(1);
    if (m_.farewell.is_attending()) m_.farewell.end(m_.options.grace);
  }
  m_.input.pump();
  m_.farewell.check();
}

/// The tasks of one node may have ended, or not have begun, while the others run.
void StepEvents::on_not_joined(StepNode& node, const base::Error& reason) {
  if (reason.what == wire::kTasksNotStarted) return m_.farewell.depart(1, true);
  const bool is_last =
      std::all_of(m_.nodes.begin(), m_.nodes.end(), [](const StepNode& n) { return n.is_closed() && !n.is_joined(); });
  const bool have_ended = reason.what == wire::kTasksHaveEnded || reason.what == kStepHasEnded;
  if (!have_ended || (is_last && m_.options.part == Part::kWatch)) {
    m_.reports.say(true, node.name() + ": " + reason.text());
    return m_.farewell.depart(1);
  }
  m_.verdict.miss_ends();
  node.forget_tasks();
  m_.reports.say(false, "the tasks on " + node.name() + " have ended");
  if (!is_last) {
    release_if_ready();
    check_running();
  }
  m_.farewell.check();
}

void StepEvents::on_connected(size_t index, bool is_connected, const std::string& reason) {
  StepNode& node = m_.nodes[index];
  if (is_connected)
    node.contact().on_connected();
  else
    node.contact().on_lost(reason, !node.has_ended());
}

}  // namespace gw::attach
