// The tasks that a client launches in a step: their streams and their start.
#include <fcntl.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>

#include "noded/step/proc/files.h"
#include "noded/step/step_tasks.h"

namespace gw::noded::step {
namespace {

void set_nonblocking(const proc::Fd& fd) { ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

/// How long a task that asked for the end of all may take to its own.
constexpr base::Duration kAbortPatience = base::seconds(1);

bool is_clients(const wire::TaskStream& stream) { return stream.kind() == wire::TaskStream::kClient; }

}  // namespace

// Each task takes descriptors here while it starts and runs, and in its starter. The tasks themselves get what there
// was before.
void StepTasks::raise_file_limit() {
  constexpr rlim_t kOwn = 256, kEach = 8;
  rlimit now{};
  const rlim_t wanted = kOwn + kEach * static_cast<rlim_t>(plan_->launch.tasks_size());
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= wanted) return;
  plan_->files = now;
  now.rlim_cur = std::min(wanted, now.rlim_max);
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &now));
}

base::Status StepTasks::open_mpi() {
  wire::LaunchTasks& launch = plan_->launch;
  if (!launch.has_pmix() || (launch.pmix().is_optional() && !mpi_support_.problem.empty())) {
    launch.clear_pmix();
    return {};
  }
  Mpi::Events events;
  events.end = [this](const std::string& why) { end_mpi(why); };
  events.abort = [this](uint32_t rank, const std::string& why) { on_abort(rank, why); };
  events.answered = [this] { advance(); };
  mpi_ = std::make_unique<Mpi>(loop_, spec_, contain_, mpi_support_, hosts_, std::move(events));
  GW_TRY_STATUS(mpi_->open(launch.pmix()));
  mpi_->add_variables(plan_->environment);
  return {};
}

void StepTasks::end_mpi(const std::string& why) {
  if (is_ending_) return;
  mpi_->spread_end(why);
  end(why, kEndGrace);
}

// The one who asks goes by itself, with the code that it wants to be known for.
void StepTasks::on_abort(uint32_t rank, const std::string& why) {
  const auto is_it = [rank](const StepTask& task) { return task.rank == rank && task.is_alive(); };
  if (is_ending_ || abort_) return;
  if (std::none_of(tasks_.begin(), tasks_.end(), is_it)) return end_mpi(why);
  abort_.emplace(rank, why);
  abort_timer_ = loop_.after(kAbortPatience, [this] { end_mpi(abort_->second); });
}

base::Status StepTasks::launch_all() {
  raise_file_limit();
  GW_TRY(go, make_pipe());
  plan_->go = std::move(go);
  input_.emplace(loop_, [this] {
    if (audience_.owner() != nullptr) audience_.owner()->pull(wire::kInputChannel);
  });
  const size_t count = static_cast<size_t>(plan_->launch.tasks_size());
  tasks_.reserve(count);
  std::vector<TaskEnds> ends(count);
  for (size_t place = 0; place < count; ++place) {
    GW_TRY(made, make_ends(place));
    ends[place] = std::move(made);
    tasks_.emplace_back().rank = plan_->launch.tasks(static_cast<int>(place)).rank();
  }
  cpus_.begin(spec_.access());
  GW_TRY(starter, fork_starter(*plan_, std::move(ends)));
  Starting& starting = starting_.emplace();
  starting.starter = std::move(starter);
  starting.watch = loop_.watch_readable(starting.starter.events.get(), [this] { read_events(); });
  if (is_input_over_) input_->end();
  if (audience_.owner() != nullptr) audience_.owner()->pull(wire::kInputChannel);
  return {};
}

base::Result<TaskEnds> StepTasks::make_ends(size_t place) {
  const wire::TaskOrder& order = plan_->launch.tasks(static_cast<int>(place));
  const uint32_t at = static_cast<uint32_t>(place);
  TaskEnds ends;
  if (plan_->launch.pty() && place == 0) {
    GW_TRY(terminal, make_terminal_ends());
    ends.terminal = std::move(terminal);
    return ends;
  }
  if (is_clients(order.input())) {
    GW_TRY(fd, make_input());
    ends.input = std::move(fd);
  }
  if (is_clients(order.output())) {
    GW_TRY(fd, make_output(wire::output_channel(at)));
    ends.output = std::move(fd);
  }
  if (is_clients(order.error())) {
    GW_TRY(fd, make_output(wire::error_channel(at)));
    ends.error = std::move(fd);
  }
  return ends;
}

base::Result<proc::Fd> StepTasks::make_input() {
  GW_TRY(pipe, make_pipe());
  set_nonblocking(pipe.write_end);
  input_->add(std::move(pipe.write_end), false);
  return std::move(pipe.read_end);
}

base::Result<proc::Fd> StepTasks::make_output(stream::ChannelId channel) {
  GW_TRY(pipe, make_pipe());
  set_nonblocking(pipe.read_end);
  GW_TRY_STATUS(audience_.open(channel));
  add_output(std::move(pipe.read_end), channel);
  return std::move(pipe.write_end);
}

base::Result<proc::Fd> StepTasks::make_terminal_ends() {
  const auto rows = static_cast<uint16_t>(plan_->launch.rows());
  const auto columns = static_cast<uint16_t>(plan_->launch.columns());
  GW_TRY(terminal, make_terminal(spec_.uid(), rows, columns));
  proc::Fd writer(::fcntl(terminal.master.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!writer) return base::fail_errno("terminal", errno);
  master_ = writer.get();
  input_->add(std::move(writer), true);
  const stream::ChannelId channel = wire::output_channel(0);
  audience_.keep_screen(channel);
  GW_TRY_STATUS(audience_.open(channel));
  add_output(std::move(terminal.master), channel);
  return std::move(terminal.slave);
}

void StepTasks::add_output(proc::Fd fd, stream::ChannelId channel) {
  outputs_.emplace_back(loop_, audience_, std::move(fd), channel, [this] { advance(); });
}

void StepTasks::let_go() {
  if (mpi_)
    if (const base::Status gone = mpi_->go(go_order_); !gone) return fail(gone.error(), 1);
  if (const base::Status gone = proc::write_all(plan_->go.write_end.get(), "g", "go"); !gone) fail(gone.error(), 1);
  ::malloc_trim(0);  // a launch may have been large
}

}  // namespace gw::noded::step
