// The tasks that a client launches in a step: their start, their life and their end.
#include "noded/step/tasks/task_launch.h"

#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>

#include "model/job_state.h"
#include "noded/step/proc/files.h"
#include "noded/step/tasks/step_order.h"
#include "wire/step_channels.h"

namespace gw::noded::step {
namespace {

using StatePhase = stream::StepState::Phase;

constexpr base::Duration kKillWait = base::milliseconds(50);  // between two kill passes

// Each task takes descriptors here while it starts and runs, and in its starter. The tasks themselves get what there
// was before, which is given back if it was changed.
std::optional<rlimit> raise_file_limit(int tasks) {
  constexpr rlim_t kOwn = 256, kEach = 8;
  rlimit now{};
  const rlim_t wanted = kOwn + kEach * static_cast<rlim_t>(tasks);
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= wanted) return std::nullopt;
  const rlimit before = now;
  now.rlim_cur = std::min(wanted, now.rlim_max);
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &now));
  return before;
}

}  // namespace

TaskLaunch::TaskLaunch(io::Loop& loop, const wire::StepSpec& spec, Containment& contain, const std::string& hosts,
                       TaskParts parts, Events events)
    : loop_(loop),
      spec_(spec),
      contain_(contain),
      hosts_(hosts),
      parts_(parts),
      events_(std::move(events)),
      epilogs_(spec, contain, hosts) {}

void TaskLaunch::await() {
  const int64_t limit_us = spec_.access().launch_limit_us();
  state_.in<Awaiting>()->limit = loop_.after(limit_us > 0 ? base::microseconds(limit_us) : kLaunchLimit, [this] {
    fail({base::ErrorCode::kTimeout, "no client said what to run", ""}, 1);
  });
}

// --- the start ---

void TaskLaunch::launch(wire::LaunchTasks order) {
  if (!state_.is<Awaiting>()) return end("a step is launched once, and this one was launched before", kEndGrace);
  base::Status done = check_launch(order, spec_.access());
  if (done) done = start(std::move(order));
  if (!done) fail(done.error(), 1);
}

base::Status TaskLaunch::start(wire::LaunchTasks order) {
  manner_ = {order.keep(), order.kill_on_bad_exit()};
  StepPlan plan{spec_, contain_, hosts_, std::move(order), {}, {}, {}};
  plan.environment = step_environment(plan.launch, spec_);
  GW_TRY_STATUS(parts_.mpi.open(plan));
  plan.files = raise_file_limit(plan.launch.tasks_size());
  GW_TRY(go, make_pipe());
  plan.go = std::move(go);
  GW_TRY(ends, parts_.streams.open(plan.launch, spec_.uid()));
  for (const wire::TaskOrder& task : plan.launch.tasks()) parts_.tasks.add(task.rank());
  parts_.tasks.bind(spec_.access());
  epilogs_.begin(plan);
  GW_TRY(starter, fork_starter(plan, std::move(ends)));
  starter_.emplace(loop_, std::move(starter), [this] { read_events(); });
  state_.leave<Awaiting>([&](Awaiting before) { return Starting{std::move(plan), false, std::move(before.go)}; });
  parts_.streams.begin();
  return {};
}

void TaskLaunch::go(wire::GoTasks order) {
  if (auto* awaiting = state_.in<Awaiting>()) awaiting->go = std::move(order);
  if (auto* starting = state_.in<Starting>()) {
    starting->go = std::move(order);
    if (starting->stands) let_go(*starting);
  }
}

void TaskLaunch::let_go(Starting& starting) {
  if (const base::Status gone = parts_.mpi.go(*starting.go); !gone) return fail(gone.error(), 1);
  if (const base::Status gone = proc::write_all(starting.plan.go.write_end.get(), "g", "go"); !gone)
    fail(gone.error(), 1);
  ::malloc_trim(0);  // a launch may have been large
}

// --- what the starter says ---

void TaskLaunch::read_events() {
  if (!starter_) return;
  starter_->read();
  while (const auto event = starter_->next()) on_event(*event);
}

void TaskLaunch::on_event(const TaskEvent& event) {
  if (event.place >= parts_.tasks.size()) return;
  StepTask& task = parts_.tasks.at(event.place);
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

void TaskLaunch::on_failed(StepTask& task, const TaskEvent& event) {
  if (task.state != StepTask::State::kWaiting) return;
  task.state = StepTask::State::kFailed;
  task.pid = static_cast<pid_t>(event.pid);
  task.status = W_EXITCODE(event.code, 0);
  fail({base::ErrorCode::kInvalid, "task " + std::to_string(task.rank) + ": " + event.text, ""}, event.code);
}

/// All tasks can start.
void TaskLaunch::on_stand() {
  auto* starting = state_.in<Starting>();
  if (starting == nullptr || starting->stands) return;
  starting->stands = true;
  say(StatePhase::kStarting, parts_.mpi.address());
  if (starting->plan.launch.go() && !starting->go) starting->go.emplace();
  if (starting->go) let_go(*starting);
}

void TaskLaunch::on_started(StepTask& task, pid_t pid) {
  if (task.state != StepTask::State::kWaiting) return;
  task.pid = pid;
  on_running(task);
  // An orphan of another task may have had this number before: then the task is still a child.
  const auto ended = starter_->take_end(pid);
  siginfo_t child{};
  const bool is_child = ::waitid(P_PID, static_cast<id_t>(pid), &child, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (ended && !is_child) return on_task_end(task, *ended);
  parts_.tasks.follow(spec_.access());
  if (is_ending()) ::kill(-pid, SIGTERM);  // the end came while it was being started
}

void TaskLaunch::on_running(StepTask& task) {
  task.state = StepTask::State::kRunning;
  has_run_ = true;
  parts_.audience.say(stream::TaskStarted{task.rank, static_cast<uint32_t>(task.pid)});
  if (!state_.is<Starting, CalledOff>() || !parts_.tasks.have_all_run()) return;
  if (state_.is<Starting>())
    state_.leave<Starting>([this](const Starting& start) { return run_of(start.plan.launch); });
  else
    state_.leave<CalledOff>([this](CalledOff off) {
      return Ending{run_of(off.start.plan.launch), std::move(off.kill)};
    });
  started_ = static_cast<uint32_t>(parts_.tasks.at(0).pid);
  say(StatePhase::kRunning);
  events_.wake();
}

TaskLaunch::Running TaskLaunch::run_of(const wire::LaunchTasks& order) {
  const base::Duration limit = std::min(base::microseconds(order.time_limit_us()), kLongestLimit);
  if (limit.us <= 0) return {};
  Running run;
  run.limit = loop_.after(
      limit, [this, limit] { end(wire::kStepTimeLimit + base::format_duration(limit) + " reached", kLimitGrace); });
  const int signo = static_cast<int>(order.warn_signo());
  const base::Duration before = base::microseconds(order.warn_before_us());
  if (signo > 0)
    run.warning = loop_.after(std::max(limit - before, base::Duration{}),
                              [this, signo] { parts_.tasks.signal(stream::kAllTasks, signo); });
  return run;
}

// --- the end of its processes ---

bool TaskLaunch::on_child(pid_t pid, int status) {
  if (parts_.mpi.on_child(pid, status)) return true;
  if (epilogs_.on_child(pid, status)) {
    events_.changed();
    return true;
  }
  read_events();  // its last words come before its death
  if (starter_ && starter_->pid() == pid) {
    on_starter_end(status);
    return true;
  }
  StepTask* const task = parts_.tasks.with_process(pid);
  if (task == nullptr && starter_) starter_->keep_end(pid, status);
  if (task == nullptr) return false;
  on_task_end(*task, status);
  return true;
}

/// Tasks that it has not started never will be. One of which it has not told may run, if it was killed.
void TaskLaunch::on_starter_end(int status) {
  read_events();
  starter_.reset();
  const auto* off = state_.in<CalledOff>();
  const Starting* const start = off != nullptr ? &off->start : state_.in<Starting>();
  has_run_ |= WIFSIGNALED(status) && start != nullptr && start->stands && start->go;
  for (StepTask& task : parts_.tasks) {
    const bool never_was = task.pid == 0 && task.state != StepTask::State::kEnded;
    if (never_was) on_task_end(task, SIGKILL);
  }
  events_.changed();
}

void TaskLaunch::on_task_end(StepTask& task, int status) {
  const bool ran = task.state == StepTask::State::kRunning;
  const bool is_bad = ran && code_of_end(status) != 0;
  task.set_ended(status);
  const stream::TaskEnded ended = end_of(task);
  parts_.audience.say(ended);
  if (ran) epilogs_.start(parts_.tasks.place_of(task), task.rank);
  if (!ran && !is_ending())
    fail({base::ErrorCode::kInternal, "task " + std::to_string(task.rank) + " died before its program started", ""},
         EXIT_FAILURE);
  if (is_bad && manner_.ends_on_bad_exit && !is_ending()) {
    const std::string how = ended.signal != 0 ? "was ended by signal " + std::to_string(ended.signal)
                                              : "exited with code " + std::to_string(ended.exit_code);
    end("task " + std::to_string(task.rank) + " " + how, kEndGrace);
  }
  if (is_bad && !is_ending()) parts_.mpi.on_task_failed(task.rank);
  events_.changed();
}

// --- the end of the step ---

void TaskLaunch::fail(const base::Error& error, int code) {
  if (!failure_) failure_ = Failure{error};
  failure_->code = std::max(failure_->code, code);
  end(error.text(), kEndGrace);
}

/// True if nobody had ended it before.
bool TaskLaunch::begin_end() {
  if (state_.is<Awaiting>())
    state_.go<Awaiting, Ended>();
  else if (state_.is<Starting>())
    state_.leave<Starting>([](Starting start) { return CalledOff{std::move(start), {}}; });
  else if (state_.is<Running>())
    state_.leave<Running>([](Running run) { return Ending{std::move(run), {}}; });
  else if (state_.is<Done>())
    state_.go<Done, Ended>();
  else
    return false;
  return true;
}

void TaskLaunch::end(const std::string& why, base::Duration grace) {
  if (begin_end()) say(StatePhase::kEnding, why);
  call_off();
  if (!has_living()) return events_.changed();
  if (grace.us > 0) {
    // All that is in the group, as when the node daemon ends it; before the last execve that may be our own code.
    state_.is<Ending>() ? contain_.signal_all(SIGTERM) : parts_.tasks.signal(stream::kAllTasks, SIGTERM);
    parts_.tasks.signal(stream::kAllTasks, SIGCONT);  // who is stopped would not see it
  }
  io::Timer* const kill = kill_timer();
  if (kill != nullptr && (grace.us <= 0 || !kill->is_active()))
    *kill = loop_.after(std::max(grace, base::Duration{}), [this] { kill_pass(); });
}

void TaskLaunch::stop(const std::string& words) {
  const bool was_over = is_over();
  if (begin_end() && !was_over)
    say(StatePhase::kEnding, wire::kStepIsEnded + (words.empty() ? std::string() : ": " + words));
  call_off();
}

/// No further task is to be started.
void TaskLaunch::call_off() {
  auto* off = state_.in<CalledOff>();
  if (off == nullptr || !starter_) return;
  const bool may_start = off->start.stands && off->start.go;
  off->start.plan.go.write_end.reset();
  if (!may_start) ::kill(starter_->pid(), SIGKILL);  // it may hang where nothing wakes it
}

io::Timer* TaskLaunch::kill_timer() {
  if (auto* off = state_.in<CalledOff>()) return &off->kill;
  if (auto* ending = state_.in<Ending>()) return &ending->kill;
  return nullptr;
}

void TaskLaunch::kill_pass() {
  io::Timer* const kill = kill_timer();
  if (kill == nullptr || !has_living()) return;
  epilogs_.stop();
  contain_.kill_pass();
  events_.wake();  // where nothing tells of a child's end, somebody looks
  *kill = loop_.after(kKillWait, [this] { kill_pass(); });
}

void TaskLaunch::settle() {
  if (has_living()) return;
  if (state_.is<Running>()) state_.go<Running, Done>();
  if (state_.is<CalledOff>()) state_.go<CalledOff, Ended>();
  if (state_.is<Ending>()) state_.go<Ending, Ended>();
}

bool TaskLaunch::may_run_on() const {
  const auto* starting = state_.in<Starting>();
  const auto* off = state_.in<CalledOff>();
  if (off != nullptr) starting = &off->start;
  return manner_.is_kept && (starting == nullptr || starting->go);
}

std::optional<wire::StepExit> TaskLaunch::exit(bool is_stopped) const {
  if (is_stopped && !failure_ && !has_run_) return std::nullopt;
  wire::StepExit told;
  const StepTask* const worst = parts_.tasks.worst();
  if (failure_) {
    told.set_reason(static_cast<uint32_t>(model::EndReason::kLaunchFailed));
    told.set_detail(failure_->error.text());
    told.set_code(failure_->code);
  } else if (worst != nullptr) {
    if (WIFSIGNALED(worst->status)) told.set_signo(WTERMSIG(worst->status));
    if (WIFEXITED(worst->status)) told.set_code(WEXITSTATUS(worst->status));
  }
  told.set_never_started(!has_run_);
  return told;
}

void TaskLaunch::say(StatePhase phase, const std::string& text) { parts_.audience.say(stream::StepState{phase, text}); }

}  // namespace gw::noded::step
