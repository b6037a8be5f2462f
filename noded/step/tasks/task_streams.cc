// Input and output of a step's tasks on this node.
#include "noded/step/tasks/task_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "noded/step/start/task_terminal.h"
#include "wire/step_channels.h"

namespace gw::noded::step {
namespace {

void set_nonblocking(const proc::OwnedFd& fd) { ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

bool is_clients(const wire::TaskStream& stream) { return stream.kind() == wire::TaskStream::kClient; }

}  // namespace

TaskStreams::TaskStreams(io::Loop& loop, Audience& audience, std::function<void()> on_done)
    : loop_(loop), audience_(audience), on_done_(std::move(on_done)) {}

TaskPipes* TaskStreams::pipes() const {
  if (const auto* flowing = state_.in<Flowing>()) return flowing->pipes.get();
  if (const auto* draining = state_.in<Draining>()) return draining->pipes.get();
  return nullptr;
}

void TaskStreams::pull_input() {
  if (audience_.owner() != nullptr) audience_.owner()->pull(wire::kInputChannel);
}

// --- made for a launch ---

base::Result<std::vector<TaskEnds>> TaskStreams::open(const wire::LaunchTasks& launch, uint32_t uid) {
  Flowing& flowing = state_.leave<Unopened>([this](const Unopened& before) {
    return Flowing{std::make_unique<TaskPipes>(loop_, [this] { pull_input(); }), before.is_input_over};
  });
  std::vector<TaskEnds> ends(static_cast<size_t>(launch.tasks_size()));
  for (size_t place = 0; place < ends.size(); ++place) {
    GW_TRY(made, make_ends(flowing, launch, place, uid));
    ends[place] = std::move(made);
  }
  return ends;
}

void TaskStreams::begin() {
  Flowing& flowing = *state_.in<Flowing>();
  if (flowing.is_input_over) flowing.pipes->input.end();
  pull_input();
}

base::Result<TaskEnds> TaskStreams::make_ends(Flowing& flowing, const wire::LaunchTasks& launch, size_t place,
                                              uint32_t uid) {
  const wire::TaskOrder& order = launch.tasks(static_cast<int>(place));
  const uint32_t at = static_cast<uint32_t>(place);
  TaskEnds ends;
  if (launch.pty() && place == 0) {
    GW_TRY(terminal, make_terminal_ends(flowing, launch, uid));
    ends.terminal = std::move(terminal);
    return ends;
  }
  if (is_clients(order.input())) {
    GW_TRY(fd, make_input(*flowing.pipes));
    ends.input = std::move(fd);
  }
  if (is_clients(order.output())) {
    GW_TRY(fd, make_output(*flowing.pipes, wire::output_channel(at)));
    ends.output = std::move(fd);
  }
  if (is_clients(order.error())) {
    GW_TRY(fd, make_output(*flowing.pipes, wire::error_channel(at)));
    ends.error = std::move(fd);
  }
  return ends;
}

base::Result<proc::OwnedFd> TaskStreams::make_input(TaskPipes& pipes) {
  GW_TRY(pipe, make_pipe());
  set_nonblocking(pipe.write_end);
  pipes.input.add(std::move(pipe.write_end), false);
  return std::move(pipe.read_end);
}

base::Result<proc::OwnedFd> TaskStreams::make_output(TaskPipes& pipes, stream::ChannelId channel) {
  GW_TRY(pipe, make_pipe());
  set_nonblocking(pipe.read_end);
  GW_TRY_STATUS(audience_.open(channel));
  add_output(pipes, std::move(pipe.read_end), channel);
  return std::move(pipe.write_end);
}

base::Result<proc::OwnedFd> TaskStreams::make_terminal_ends(Flowing& flowing, const wire::LaunchTasks& launch,
                                                            uint32_t uid) {
  const auto rows = static_cast<uint16_t>(launch.rows());
  const auto columns = static_cast<uint16_t>(launch.columns());
  GW_TRY(terminal, make_terminal(uid, rows, columns));
  proc::OwnedFd writer(::fcntl(terminal.master.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!writer) return base::fail_errno("terminal", errno);
  flowing.terminal = writer.get();
  flowing.pipes->input.add(std::move(writer), true);
  const stream::ChannelId channel = wire::output_channel(0);
  audience_.keep_screen(channel);
  GW_TRY_STATUS(audience_.open(channel));
  add_output(*flowing.pipes, std::move(terminal.master), channel);
  return std::move(terminal.slave);
}

void TaskStreams::add_output(TaskPipes& pipes, proc::OwnedFd fd, stream::ChannelId channel) {
  pipes.outputs.emplace_back(loop_, audience_, std::move(fd), channel, [this] { on_done_(); });
}

// --- while the tasks run ---

size_t TaskStreams::on_input(std::string_view bytes) {
  if (state_.is<Unopened>()) return 0;  // until there is somebody to read it
  TaskPipes* const open = pipes();
  if (open != nullptr && open->input.has_readers()) return open->input.write(bytes);
  if (audience_.owner() != nullptr) audience_.owner()->refuse(wire::kInputChannel);
  return bytes.size();
}

void TaskStreams::on_input_end() {
  if (auto* unopened = state_.in<Unopened>()) unopened->is_input_over = true;
  if (TaskPipes* const open = pipes()) open->input.end();
}

void TaskStreams::resume(stream::ChannelId channel) {
  TaskPipes* const open = pipes();
  if (open == nullptr) return;
  for (TaskOutput& output : open->outputs)
    if (output.channel() == channel) return output.resume();
}

void TaskStreams::resume_all() {
  TaskPipes* const open = pipes();
  if (open == nullptr) return;
  for (TaskOutput& output : open->outputs) output.resume();
}

std::vector<stream::ChannelId> TaskStreams::open_outputs() const {
  std::vector<stream::ChannelId> found;
  if (const TaskPipes* const open = pipes())
    for (const TaskOutput& output : open->outputs)
      if (!output.is_done()) found.push_back(output.channel());
  return found;
}

int TaskStreams::terminal() const {
  const auto* flowing = state_.in<Flowing>();
  return flowing == nullptr ? -1 : flowing->terminal;
}

// --- the end ---

// The pipes stay as they are: this may be called by one of them.
void TaskStreams::drain() {
  if (state_.is<Unopened>()) {
    state_.go<Unopened, Draining>();
    return;
  }
  TaskPipes* const open = pipes();
  open->input.close();
  for (TaskOutput& output : open->outputs) output.on_task_end();
  io::Timer linger = loop_.after(kOutputLinger, [open] {
    for (TaskOutput& output : open->outputs) output.cut();
  });
  state_.leave<Flowing>([&](Flowing before) { return Draining{std::move(before.pipes), std::move(linger)}; });
}

bool TaskStreams::is_drained() const {
  const TaskPipes* const open = pipes();
  return open == nullptr || std::all_of(open->outputs.begin(), open->outputs.end(),
                                        [](const TaskOutput& output) { return output.is_done(); });
}

size_t TaskStreams::untaken() const {
  size_t bytes = audience_.owner() == nullptr ? 0 : audience_.owner()->memory_bytes();
  if (const TaskPipes* const open = pipes())
    for (const TaskOutput& output : open->outputs) bytes += output.owed();
  return bytes;
}

}  // namespace gw::noded::step
