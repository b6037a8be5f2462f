// The tasks that a client launches in a step: their life and their end.
#include "noded/step/step_tasks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "model/job_state.h"

namespace gw::noded::step {
namespace {

using StatePhase = stream::StepState::Phase;

constexpr base::Duration kKillPassWait = base::milliseconds(50);
constexpr int kSignalBase = 128;  // of exit codes that stand for a signal

int worth(int status) { return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

stream::TaskEnded end_of(const StepTask& task) {
  stream::TaskEnded ended{task.rank, 0, 0};
  if (WIFSIGNALED(task.status)) ended.signal = static_cast<uint8_t>(WTERMSIG(task.status));
  if (WIFEXITED(task.status)) ended.exit_code = static_cast<uint8_t>(WEXITSTATUS(task.status));
  return ended;
}

void StepTasks::wait(std::span<const pollfd> fds, int64_t limit_us) {
  std::vector<io::Watch> watches;
  for (const pollfd& fd : fds) {
    if (fd.fd < 0) continue;
    watches.push_back(loop_.watch_readable(fd.fd, [this] { wake(); }));
    if (fd.events & POLLOUT) watches.push_back(loop_.watch_writable(fd.fd, [this] { wake(); }));
  }
  const base::Duration limit = limit_us > 0 ? base::microseconds(limit_us) : base::hours(1);
  loop_.run_until([this] { return is_woken_; }, limit);
  is_woken_ = false;
}

// --- tasks ---

std::vector<TaskAt> StepTasks::running() const {
  std::vector<TaskAt> found;
  for (const StepTask& task : tasks_)
    if (task.is_alive()) found.push_back({task.rank, task.pid});
  return found;
}

void StepTasks::on_places() {
  std::vector<pid_t> pids;
  for (const StepTask& task : tasks_) pids.push_back(task.state == StepTask::State::kRunning ? task.pid : 0);
  cpus_.follow(spec_.access(), ::getpid(), pids);
}

bool StepTasks::has_living() const {
  return starting_ || std::any_of(tasks_.begin(), tasks_.end(), [](const StepTask& task) { return task.is_alive(); });
}

void StepTasks::read_events() {
  if (!starting_) return;
  char bytes[4096];
  ssize_t n = 0;
  while ((n = ::read(starting_->starter.events.get(), bytes, sizeof bytes)) > 0)
    starting_->buffer.append(bytes, static_cast<size_t>(n));
  if (n == 0) starting_->watch.cancel();  // its death is told by wait()
  TaskEvent event;
  while (take_event(starting_->buffer, event)) on_event(event);
}

void StepTasks::on_event(const TaskEvent& event) {
  if (event.place >= tasks_.size()) return;
  StepTask& task = tasks_[event.place];
  switch (event.kind) {
    case TaskEventKind::kNote:
      std::fprintf(stderr, "gstepd: job %u.%u step %s: task %u: %s\n", spec_.job(), spec_.attempt(),
                   spec_.step().c_str(), task.rank, event.text.c_str());
      return;
    case TaskEventKind::kFailed:
      return on_failed(task, event);
    case TaskEventKind::kReady:
      return on_stand();
    case TaskEventKind::kStarted:
      return on_started(task, static_cast<pid_t>(event.pid));
  }
}

void StepTasks::on_failed(StepTask& task, const TaskEvent& event) {
  if (task.state != StepTask::State::kWaiting) return;
  task.state = StepTask::State::kFailed;
  task.pid = static_cast<pid_t>(event.pid);
  task.status = W_EXITCODE(event.code, 0);
  fail({base::ErrorCode::kInvalid, "task " + std::to_string(task.rank) + ": " + event.text, ""}, event.code);
}

/// All tasks can start.
void StepTasks::on_stand() {
  if (is_ending_ || stands_) return;
  stands_ = true;
  say(StatePhase::kStarting, mpi_ ? mpi_->address() : "");
  if (plan_->launch.go()) may_go_ = true;
  if (may_go_) let_go();
}

void StepTasks::on_started(StepTask& task, pid_t pid) {
  if (task.state != StepTask::State::kWaiting) return;
  task.pid = pid;
  on_running(task);
  // An orphan of another task may have had this number before: then the task is still a child.
  const auto ended = starting_->ended.extract(pid);
  siginfo_t child{};
  const bool is_child = ::waitid(P_PID, static_cast<id_t>(pid), &child, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (!ended.empty() && !is_child) return on_task_end(task, ended.mapped());
  on_places();
  if (is_ending_) ::kill(-pid, SIGTERM);  // the end came while it was being started
}

/// Tasks that it has not started never will be. One of which it has not told may run, if it was killed.
void StepTasks::on_starter_end(int status) {
  read_events();
  starting_.reset();
  has_run_ |= WIFSIGNALED(status) && stands_ && may_go_;
  for (StepTask& task : tasks_) {
    const bool never_was = task.pid == 0 && task.state != StepTask::State::kEnded;
    if (never_was) on_task_end(task, SIGKILL);
  }
  advance();
}

/// No further task is to be started.
void StepTasks::call_off() {
  if (!starting_) return;
  const bool may_start = stands_ && may_go_;
  if (plan_) plan_->go.write_end.reset();
  if (!may_start) ::kill(starting_->starter.pid, SIGKILL);  // it may hang where nothing wakes it
}

void StepTasks::on_running(StepTask& task) {
  task.state = StepTask::State::kRunning;
  has_run_ = true;
  audience_.say(stream::TaskStarted{task.rank, static_cast<uint32_t>(task.pid)});
  const auto runs = [](const StepTask& t) { return t.state >= StepTask::State::kRunning; };
  if (phase_ != Phase::kStarting || !std::all_of(tasks_.begin(), tasks_.end(), runs)) return;
  phase_ = Phase::kRunning;
  arm_limit();
  plan_.reset();
  started_ = static_cast<uint32_t>(tasks_.front().pid);
  say(StatePhase::kRunning);
  wake();
}

void StepTasks::arm_limit() {
  const base::Duration limit = std::min(base::microseconds(plan_->launch.time_limit_us()), kLongestLimit);
  if (limit.us <= 0) return;
  limit_timer_ = loop_.after(
      limit, [this, limit] { end(wire::kStepTimeLimit + base::format_duration(limit) + " reached", kLimitGrace); });
  const int signo = static_cast<int>(plan_->launch.warn_signo());
  const base::Duration before = base::microseconds(plan_->launch.warn_before_us());
  if (signo > 0)
    warn_timer_ = loop_.after(std::max(limit - before, base::Duration{}),
                              [this, signo] { signal_tasks(stream::kAllTasks, signo); });
}

bool StepTasks::on_child(pid_t pid, int status) {
  if (mpi_ && mpi_->on_child(pid, status)) return true;
  read_events();  // its last words come before its death
  if (starting_ && starting_->starter.pid == pid) {
    on_starter_end(status);
    return true;
  }
  const auto found = std::find_if(tasks_.begin(), tasks_.end(),
                                  [pid](const StepTask& task) { return task.pid == pid && task.is_alive(); });
  if (found == tasks_.end() && starting_) starting_->ended[pid] = status;
  if (found == tasks_.end()) return false;
  on_task_end(*found, status);
  return true;
}

void StepTasks::on_task_end(StepTask& task, int status) {
  const bool ran = task.state == StepTask::State::kRunning;
  task.set_ended(status);
  const stream::TaskEnded ended = end_of(task);
  audience_.say(ended);
  if (!ran && !is_ending_)
    fail({base::ErrorCode::kInternal, "task " + std::to_string(task.rank) + " died before its program started", ""},
         EXIT_FAILURE);
  if (ran && worth(status) != 0 && ends_on_bad_exit_ && !is_ending_) {
    const std::string how = ended.signal != 0 ? "was ended by signal " + std::to_string(ended.signal)
                                              : "exited with code " + std::to_string(ended.exit_code);
    end("task " + std::to_string(task.rank) + " " + how, kEndGrace);
  }
  if (ran && worth(status) != 0 && mpi_ && !is_ending_) {
    if (abort_ && abort_->first == task.rank) end_mpi(abort_->second);
    mpi_->on_task_failed(task.rank);
  }
  advance();
}

void StepTasks::signal_tasks(uint32_t rank, int signo) {
  for (const StepTask& task : tasks_) {
    if (!task.is_alive() || (rank != stream::kAllTasks && rank != task.rank)) continue;
    if (task.state == StepTask::State::kRunning) ::kill(-task.pid, signo);
  }
}

// --- the end ---

void StepTasks::fail(base::Error error, int code) {
  if (!failure_) failure_ = error;
  failure_code_ = std::max(failure_code_, code);
  end(error.text(), kEndGrace);
}

void StepTasks::end(const std::string& why, base::Duration grace) {
  if (!is_ending_) {
    is_ending_ = true;
    launch_timer_.cancel();
    say(StatePhase::kEnding, why);
  }
  call_off();
  if (!has_living()) return advance();
  if (grace.us > 0) {
    // All that is in the group, as when the node daemon ends it; before the last execve that may be our own code.
    phase_ == Phase::kRunning ? contain_.signal_all(SIGTERM) : signal_tasks(stream::kAllTasks, SIGTERM);
    signal_tasks(stream::kAllTasks, SIGCONT);  // who is stopped would not see it
  }
  if (grace.us <= 0 || !end_timer_.is_active())
    end_timer_ = loop_.after(std::max(grace, base::Duration{}), [this] { kill_pass(); });
}

void StepTasks::kill_pass() {
  if (!has_living()) return;
  contain_.kill_pass();
  wake();  // where nothing tells of a child's end, somebody looks
  end_timer_ = loop_.after(kKillPassWait, [this] { kill_pass(); });
}

void StepTasks::on_stop() {
  is_stopped_ = true;
  if (!is_ending_) {
    is_ending_ = true;
    launch_timer_.cancel();
    if (phase_ < Phase::kDraining) say(StatePhase::kEnding, wire::kStepIsEnded);
  }
  call_off();
  advance();
}

void StepTasks::advance() {
  if (phase_ < Phase::kDraining && !has_living() && (is_ending_ || phase_ == Phase::kRunning)) drain();
  const auto is_done = [](const TaskOutput& output) { return output.is_done(); };
  const bool is_judged = !mpi_ || !mpi_->is_asked();
  if (phase_ == Phase::kDraining && is_judged && std::all_of(outputs_.begin(), outputs_.end(), is_done))
    phase_ = Phase::kSettling;
  if (phase_ == Phase::kSettling && audience_.is_settled()) {
    phase_ = Phase::kClosing;
    audience_.say_to_owner(stream::StepState{StatePhase::kEnded, {}});
  }
  if (phase_ == Phase::kClosing && audience_.is_settled()) {
    phase_ = Phase::kOver;
    if (audience_.owner() != nullptr) audience_.owner()->close({base::ErrorCode::kUnavailable, wire::kStepOver, ""});
  }
  if (phase_ >= Phase::kClosing) audience_.dismiss_watchers();
  if (!exit_ && (phase_ == Phase::kOver || (is_stopped_ && phase_ >= Phase::kDraining))) tell_exit();
}

void StepTasks::drain() {
  phase_ = Phase::kDraining;
  if (mpi_) mpi_->close();
  for (io::Timer* timer : {&end_timer_, &redraw_timer_, &limit_timer_, &warn_timer_}) timer->cancel();
  plan_.reset();
  master_ = -1;
  // Else its client would see a signal and no reason.
  if (has_run_ && contain_.memory_use().oom) say(StatePhase::kEnding, "out of memory; ask for more with --mem");
  if (input_) input_->close();
  for (TaskOutput& output : outputs_) output.on_task_end();
  linger_timer_ = loop_.after(kOutputLinger, [this] {
    for (TaskOutput& output : outputs_) output.cut();
  });
  await_client(untaken());
}

/// Bytes that the client is still to take.
size_t StepTasks::untaken() const {
  size_t bytes = audience_.owner() == nullptr ? 0 : audience_.owner()->memory_bytes();
  for (const TaskOutput& output : outputs_) bytes += output.owed();
  return bytes;
}

// Nothing else would end a step whose client stands still, and its connection is in order: the job would stay for ever.
void StepTasks::await_client(size_t untaken_before) {
  const int64_t limit_us = spec_.access().settle_limit_us();
  settle_timer_ = loop_.after(limit_us > 0 ? base::microseconds(limit_us) : kSettleLimit, [this, untaken_before] {
    if (phase_ == Phase::kOver) return;
    const size_t now = untaken();
    if (now != untaken_before || audience_.owner() == nullptr) return await_client(now);
    audience_.owner()->close(
        {base::ErrorCode::kTimeout, "the step is over, and its client took nothing of its output", ""});
  });
}

void StepTasks::tell_exit() {
  if (is_stopped_ && !failure_ && !has_run_) return;  // stopped before it began: there is no exit to tell
  wire::StepExit exit;
  const StepTask* worst = nullptr;
  for (const StepTask& task : tasks_)
    if (worst == nullptr || worth(task.status) > worth(worst->status)) worst = &task;
  if (failure_) {
    exit.set_reason(static_cast<uint32_t>(model::EndReason::kLaunchFailed));
    exit.set_detail(failure_->text());
    exit.set_code(failure_code_);
  } else if (worst != nullptr) {
    if (WIFSIGNALED(worst->status)) exit.set_signo(WTERMSIG(worst->status));
    if (WIFEXITED(worst->status)) exit.set_code(WEXITSTATUS(worst->status));
  }
  exit.set_never_started(!has_run_);
  exit_ = exit;
  has_exit_ = true;
  wake();
}

std::optional<uint32_t> StepTasks::take_started() { return std::exchange(started_, std::nullopt); }

std::optional<wire::StepExit> StepTasks::take_exit() { return std::exchange(has_exit_, false) ? exit_ : std::nullopt; }

bool StepTasks::may_leave() {
  if (!server_ || server_->sessions() == 0 || farewell_ == Farewell::kOver) return true;
  if (farewell_ != Farewell::kNone) return false;
  farewell_ = Farewell::kWaiting;
  farewell_timer_ = loop_.after(kFarewell, [this] {
    farewell_ = Farewell::kLastWord;
    const base::Error why{base::ErrorCode::kTimeout, "the step is over, and not all of its output was taken", ""};
    if (audience_.owner() != nullptr) audience_.owner()->close(why);
    audience_.close_watchers(why);
    farewell_timer_ = loop_.after(kKillPassWait, [this] {
      farewell_ = Farewell::kOver;
      wake();
    });
  });
  return false;
}

void StepTasks::say(StatePhase phase, const std::string& text) { audience_.say(stream::StepState{phase, text}); }

}  // namespace gw::noded::step
