// The shepherd of one step: what it does when its task, the node daemon or a timer speaks.
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "noded/step/proc/files.h"
#include "noded/step/proc/tree.h"
#include "noded/step/shepherd.h"
#include "noded/step/state_dir.h"
#include "noded/step/step_clock.h"
#include "noded/step/step_tasks.h"
#include "noded/step/usage.h"

namespace gw::noded::step {
namespace {

constexpr int64_t kFirstPassWait = 10'000;  // between kill passes, doubling
constexpr int64_t kLongestPassWait = 1'000'000;
constexpr int64_t kSurvivalLimit = 10'000'000;  // after which survivors are reported
constexpr size_t kMaxNamedSurvivors = 3;
constexpr int64_t kUsageAge = 500'000;
constexpr int64_t kLookWait = 5'000'000;  // between two looks whether the state folder is still there

void log_note(const wire::StepSpec& spec, const std::string& text) {
  std::fprintf(stderr, "gstepd: job %u.%u %s: %s\n", spec.job(), spec.attempt(), spec.step().c_str(), text.c_str());
}

}  // namespace

// --- the task ---

void Shepherd::on_signal() {
  signalfd_siginfo info[8];
  while (::read(signals_.get(), info, sizeof info) > 0) {
  }
  reap();
}

void Shepherd::reap() {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) {
      has_children_ = pid == 0;
      return;
    }
    peak_rss_kb_ = std::max<int64_t>(peak_rss_kb_, usage.ru_maxrss);
    if (tasks_) static_cast<void>(tasks_->on_child(pid, status));
    if (task_alive_ && pid == task_.pid) {
      task_alive_ = false;
      on_task_events();
      on_task_exit(status);
    }
  }
}

void Shepherd::on_task_events() {
  if (!task_.events) return;
  char chunk[4096];
  ssize_t n = 0;
  while ((n = ::read(task_.events.get(), chunk, sizeof chunk)) > 0)
    events_buffer_.append(chunk, static_cast<size_t>(n));
  const bool is_closed = n == 0;
  TaskEvent event;
  while (take_event(events_buffer_, event)) on_task_event(event);
  if (!is_closed) return;
  task_.events.reset();
  if (!failure_ && phase_ == Phase::kReady) on_exec_done();
}

void Shepherd::on_task_event(const TaskEvent& event) {
  if (event.kind == TaskEventKind::kNote) return log_note(spec_, event.text);
  if (event.kind == TaskEventKind::kFailed) {
    if (phase_ < Phase::kOver) fail_start(event.reason, event.text);
    return;
  }
  if (phase_ != Phase::kSettingUp) return;
  set_ready();
  if (go_given_) on_go();
}

void Shepherd::on_step_news() {
  if (const auto pid = tasks_->take_started(); pid && phase_ == Phase::kReady) {
    task_.pid = static_cast<pid_t>(*pid);
    on_exec_done();
  }
  if (auto exit = tasks_->take_exit(); exit && !exit_) on_tasks_end(std::move(*exit));
}

void Shepherd::on_tasks_end(wire::StepExit exit) {
  tell_memory(exit);
  record_exit_now(std::move(exit));
}

void Shepherd::on_exec_done() {
  // A waiting task whose pipe closed without Go has died before it could execve.
  if (!tasks_ && spec_.wait_for_go() && !go_given_) return;
  started_ = true;
  phase_ = Phase::kRunning;
  release_bulk();
  wire::StepStarted started;
  started.set_task_pid(static_cast<uint32_t>(std::max<pid_t>(task_.pid, 0)));
  started.set_at_us(wall_us());
  said_started_ = started;
  wire::FromShepherd message;
  *message.mutable_started() = started;
  say(message);
  if (const auto request = std::exchange(early_, std::nullopt)) on_suspend(*request);
}

void Shepherd::on_task_exit(int status) {
  if (failure_ || exit_) return;
  if (!started_) {
    if (phase_ < Phase::kOver)
      fail_start(model::EndReason::kLaunchFailed,
                 "the task died before its script started (status " + std::to_string(status) + ")");
    return;  // stopped before it began: there is no exit to tell
  }
  wire::StepExit exit;
  if (WIFSIGNALED(status)) {
    exit.set_signo(WTERMSIG(status));
  } else {
    exit.set_code(WEXITSTATUS(status));
  }
  tell_memory(exit);
  record_exit_now(std::move(exit));
}

void Shepherd::tell_memory(wire::StepExit& exit) const {
  const MemoryUse use = memory();
  exit.set_oom(use.oom);
  exit.set_peak_mem_mb(use.peak_mb);
  if (use.oom && exit.detail().empty())
    exit.set_detail("out of memory: limit " + std::to_string(spec_.containment().mem_limit_mb()) + " MiB, peak " +
                    std::to_string(use.peak_mb) + " MiB on " + (spec_.node().empty() ? "this node" : spec_.node()) +
                    "; ask for more with --mem");
}

MemoryUse Shepherd::memory() const {
  MemoryUse use = has_contain() ? (*contain_)->memory_use() : MemoryUse{};
  if (use.peak_mb == 0) use.peak_mb = static_cast<uint64_t>((peak_rss_kb_ + 1023) / 1024);
  return use;
}

// --- the node daemon ---

void Shepherd::on_frame(const std::string& payload) {
  wire::ToShepherd message;
  if (!message.ParseFromString(payload)) return log_note(spec_, "a message that cannot be read was dropped");
  switch (message.kind_case()) {
    case wire::ToShepherd::kGo:
      return on_go();
    case wire::ToShepherd::kSignal:
      return on_signal_request(message.signal());
    case wire::ToShepherd::kStop:
      if (message.stop().lease_over()) return end_by_lease();
      return on_stop(message.stop());
    case wire::ToShepherd::kForget:
      return on_forget();
    case wire::ToShepherd::kSuspend:
      return on_suspend(message.suspend());
    case wire::ToShepherd::kResume:
      return on_resume(message.resume());
    case wire::ToShepherd::kQuery:
      heard_at_ = std::max(heard_at_, heard_at(message.query().heard_boot_us(), message.query().age_us()));
      for (Channel& channel : channels_) say_all_to(channel);
      return;
    case wire::ToShepherd::kUsageQuery:
      return on_usage_query(message.usage_query().id());
    case wire::ToShepherd::kPlaces:
      return on_places(message.places());
    case wire::ToShepherd::KIND_NOT_SET:
      return;  // from a newer daemon
  }
}

void Shepherd::on_places(const wire::StepPlaces& places) {
  if (!tasks_) return;
  auto& known = *spec_.mutable_access()->mutable_places();
  for (int i = 0; i < std::min(known.size(), places.cpus_size()); ++i) known[i].set_cpus(places.cpus(i));
  tasks_->on_places();
}

void Shepherd::on_go() {
  go_given_ = true;
  if (tasks_) return;  // these go when their client says so
  if (phase_ != Phase::kReady || started_) return;
  if (task_.go) {
    static_cast<void>(proc::write_all(task_.go.get(), "g", "go"));
    task_.go.reset();
  }
  if (task_.pid == 0) on_exec_done();  // a step without a task starts by being told
}

void Shepherd::on_signal_request(const wire::StepSignal& request) {
  if (request.signo() < 1 || request.signo() >= NSIG || !started_) return;
  if (!request.batch_only()) return signal_step(request.signo());
  if (!task_alive_ || (request.if_caught() && proc::would_die_of(task_.pid, request.signo()))) return;
  ::kill(task_.pid, request.signo());
}

void Shepherd::signal_step(int signo) {
  // Before execve the task is still our own code.
  if (!started_ || !has_contain()) return;
  (*contain_)->signal_all(signo);
}

/// What the controller said beside when; the job can read of whom it makes way for.
std::optional<wire::Stop> Shepherd::tell_order(int64_t grace_us, std::string_view what) {
  std::optional<wire::Stop> order = read_order(spec_.dir());
  if (!order || order->preempted_for() == 0) return order;
  // From now, and by this node's clock: that is when it is killed, however long the order was on its way.
  order->set_grace_us(grace_us);
  order->set_until_us(wall_us() + grace_us);
  if (const base::Status told = write_preempt_file(spec_, *order, what); !told)
    log_note(spec_, "the job is not told why it makes way: " + told.error().text());
  return order;
}

/// The signal that begins the grace. One that makes way for another finds out why before it comes.
int Shepherd::stop_signal(const wire::StepStop& request) {
  const std::optional<wire::Stop> order = tell_order(request.grace_us(), on_preempt_);
  return order && order->signo() > 0 && order->signo() < NSIG ? order->signo() : SIGTERM;
}

void Shepherd::on_suspend(const wire::StepSuspend& request) {
  if (phase_ < Phase::kRunning) early_ = request;
  if (phase_ != Phase::kRunning || request.round() < round_) return;
  round_ = request.round();
  if (suspended_ && suspended_->problem().empty()) return stand_still();  // says so again
  suspended_.reset();
  const std::optional<wire::Stop> order = tell_order(request.grace_us(), "suspend");
  remove_order(spec_.dir());
  const bool is_told = order && order->signo() > 0 && order->signo() < NSIG && request.grace_us() > 0;
  if (!is_told) return stand_still();
  if (freeze_at_ == 0) signal_step(order->signo());
  freeze_at_ = monotonic_us() + request.grace_us();
}

void Shepherd::stand_still() {
  freeze_at_ = 0;
  const base::Status frozen = has_contain() ? (*contain_)->freeze() : base::Status{};
  wire::StepSuspended said;
  said.set_round(round_);
  if (!frozen) said.set_problem(frozen.error().text());
  suspended_ = said;
  wire::FromShepherd message;
  *message.mutable_suspended() = said;
  say(message);
}

void Shepherd::on_resume(const wire::StepResume& request) {
  if (early_ && early_->round() <= request.round()) early_.reset();
  if (phase_ != Phase::kRunning || request.round() < round_) return;
  round_ = request.round();
  const bool was_told = std::exchange(freeze_at_, 0) > 0;
  if (!suspended_ && !was_told) return;
  suspended_.reset();
  remove_preempt_file(spec_.dir());
  if (!has_contain()) return;
  if (const base::Status thawed = (*contain_)->thaw(); !thawed)
    log_note(spec_, "cannot be thawed: " + thawed.error().text());
  signal_step(SIGCONT);  // for those who stopped themselves when they were told
}

void Shepherd::on_stop(const wire::StepStop& request) {
  if (phase_ == Phase::kClean) return;
  const int64_t now = monotonic_us();
  const bool is_first = phase_ != Phase::kStopping;
  phase_ = Phase::kStopping;
  freeze_at_ = 0;
  reap();
  if (tasks_) {
    tasks_->on_stop();
    on_step_news();
  }
  if (!is_first && !request.kill_now()) return;
  const bool at_once = request.kill_now() || request.grace_us() <= 0 || !started_;
  next_pass_at_ = at_once ? now : now + request.grace_us();
  if (at_once || is_empty()) return;
  signal_step(stop_signal(request));
  if (has_contain()) static_cast<void>((*contain_)->thaw());
  signal_step(SIGCONT);  // a stopped process would not see it
}

// Looking at all processes of a machine takes its time: who asks often gets what was seen a moment ago.
void Shepherd::on_usage_query(uint64_t id) {
  const int64_t now = monotonic_us();
  if (usage_at_ == 0 || now - usage_at_ >= kUsageAge) {
    std::vector<TaskAt> tasks;
    if (task_alive_ && started_) tasks.push_back({0, task_.pid});
    if (tasks_) tasks = tasks_->running();
    usage_ = usage_of(::getpid(), tasks, has_contain() ? contain_->get() : nullptr);
    usage_at_ = now;
  }
  wire::FromShepherd message;
  message.mutable_used()->set_id(id);
  *message.mutable_used()->mutable_usage() = usage_;
  say(message);
}

void Shepherd::on_forget() {
  forgotten_ = true;
  if (phase_ == Phase::kClean) return;
  wire::StepStop kill;
  kill.set_kill_now(true);
  on_stop(kill);
}

// --- timers and the end ---

int64_t Shepherd::next_timer() const {
  int64_t next = next_pass_at_;
  if (!forgotten_ && (next == 0 || look_at_ < next)) next = look_at_;
  if (freeze_at_ > 0 && (next == 0 || freeze_at_ < next)) next = freeze_at_;
  return next;
}

void Shepherd::look_for_folder(int64_t now) {
  if (forgotten_ || now < look_at_) return;
  look_at_ = now + kLookWait;
  if (!is_state_dir_gone(spec_.dir())) return;
  log_note(spec_, "the state folder " + spec_.dir() + " was removed: the step is ended");
  on_forget();
}

base::BootTime Shepherd::lease_over_at() const {
  const bool counts = spec_.lease_us() > 0 && phase_ < Phase::kStopping;
  return counts ? heard_at_ + base::Duration{spec_.lease_us()} : base::BootTime::never();
}

/// What is killed from here on is killed for that.
void Shepherd::end_by_lease() {
  if (phase_ >= Phase::kStopping) return;
  if (!exit_) {
    wire::StepExit exit;
    exit.set_reason(static_cast<uint32_t>(model::EndReason::kLeaseExpired));
    exit.set_detail("the node heard nothing from the controller for " + std::to_string(spec_.lease_us() / 1'000'000) +
                    " s, the lease of its partition");
    exit.set_signo(SIGKILL);
    exit.set_never_started(!started_);
    exit.set_peak_mem_mb(memory().peak_mb);
    record_exit_now(std::move(exit));
  }
  wire::StepStop kill;
  kill.set_kill_now(true);
  on_stop(kill);
}

void Shepherd::on_timers(int64_t now) {
  look_for_folder(now);
  if (base::boot_time_now() >= lease_over_at()) end_by_lease();
  if (phase_ == Phase::kRunning && freeze_at_ > 0 && now >= freeze_at_) stand_still();
  if (phase_ == Phase::kStopping && next_pass_at_ > 0 && now >= next_pass_at_) kill_pass(now);
}

void Shepherd::kill_pass(int64_t now) {
  if (give_up_at_ == 0) give_up_at_ = now + kSurvivalLimit;
  if (has_contain()) (*contain_)->kill_pass();
  reap();
  // A process that moved itself out of the group is still our descendant.
  if (passes_ > 0 && has_children_) proc::kill_descendants(::getpid());
  next_pass_at_ = now + std::min(kFirstPassWait << std::min(passes_, 7), kLongestPassWait);
  ++passes_;
  if (now >= give_up_at_ && !clean_) report_survivors();
}

void Shepherd::report_survivors() {
  std::vector<pid_t> pids;
  for (const proc::Process& p : proc::descendants(::getpid())) pids.push_back(p.pid);
  if (pids.empty() && has_contain()) pids = (*contain_)->members();
  std::string problem = std::to_string(pids.size()) + " processes survive SIGKILL: ";
  for (size_t i = 0; i < std::min(pids.size(), kMaxNamedSurvivors); ++i)
    problem += (i ? "; " : "") + proc::describe(pids[i]);
  wire::StepClean clean;
  clean.set_problem(problem);
  clean_ = clean;
  log_note(spec_, problem);
  wire::FromShepherd message;
  *message.mutable_clean() = *clean_;
  say(message);
}

bool Shepherd::is_empty() { return !has_children_ && (!has_contain() || (*contain_)->members().empty()); }

void Shepherd::check_clean() {
  if (phase_ != Phase::kStopping) return;
  reap();
  if (tasks_) on_step_news();
  if (!is_empty()) return;
  const MemoryUse use = memory();
  wire::StepClean clean;
  clean.set_peak_mem_mb(use.peak_mb);
  clean.set_oom(use.oom);
  phase_ = Phase::kClean;
  next_pass_at_ = 0;
  if (has_contain()) static_cast<void>((*contain_)->remove());  // if the group is still busy, again when leaving
  if (const base::Status recorded = record_clean(spec_.dir(), clean); !recorded)
    log_note(spec_, "record: " + recorded.error().text());
  clean_ = std::move(clean);
  wire::FromShepherd message;
  *message.mutable_clean() = *clean_;
  say(message);
}

}  // namespace gw::noded::step
