// The shepherd of one step: setting up, its loop, and leaving.
#include "noded/step/shepherd.h"

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "noded/step/identity.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/tree.h"
#include "noded/step/state_dir.h"
#include "noded/step/step_clock.h"
#include "noded/step/step_tasks.h"

namespace gw::noded::step {
namespace {

constexpr size_t kMaxRequest = 64 * 1024;  // every ToShepherd is small
constexpr int64_t kLeaveWait = 20'000;
constexpr int kMaxLeaveTries = 100;
constexpr size_t kBulk = 64 * 1024;

// SIGTERM, SIGINT and SIGHUP are for the daemons and the step, not for the one who must see the step's end: a service
// manager that stops the node daemon, or a terminal that closes, kills no job.
proc::Fd take_signals() {
  for (const int signo : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(signo, SIG_IGN);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &child, nullptr);
  return proc::Fd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// The node daemon says it to the job, and so to us.
std::string on_preempt_of(const wire::StepSpec& spec) {
  constexpr std::string_view kVariable = "GANGWAY_ON_PREEMPT=";
  for (const std::string& line : spec.env())
    for (const char* what : {"cancel", "checkpoint"})  // who would rather stand still, and must end, is requeued
      if (line.starts_with(kVariable) && line.substr(kVariable.size()) == what) return what;
  return "requeue";
}

}  // namespace

ContainSpec contain_spec(const wire::Containment& message) {
  ContainSpec spec;
  spec.group = message.group();
  spec.parent = message.parent();
  spec.cpus = message.cpus();
  spec.mems = message.mems();
  spec.mem_limit_mb = message.mem_limit_mb();
  spec.max_pids = message.max_pids();
  spec.allow_devices.assign(message.allow_devices().begin(), message.allow_devices().end());
  spec.all_devices.assign(message.all_devices().begin(), message.all_devices().end());
  return spec;
}

Shepherd::Shepherd(wire::StepSpec spec, proc::Fd listener, base::Result<std::unique_ptr<Containment>> contain,
                   MpiSupport mpi)
    : on_preempt_(on_preempt_of(spec)),
      spec_(std::move(spec)),
      listener_(std::move(listener)),
      contain_(std::move(contain)),
      mpi_(std::move(mpi)) {}

Shepherd::~Shepherd() = default;

int Shepherd::run() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  signals_ = take_signals();
  look_at_ = monotonic_us();
  heard_at_ = heard_at(spec_.heard_boot_us(), spec_.lease_age_us());
  set_up();
  while (!leaving_) poll_once();
  const base::Status removed = remove_state_dir(spec_.dir());
  return removed && !left_groups_ ? 0 : 1;
}

void Shepherd::set_up() {
  if (const base::Status allowed = may_run_as(spec_); !allowed)
    return fail_start(model::EndReason::kLaunchFailed, allowed.error().text());
  if (!contain_) return fail_start(model::EndReason::kLaunchFailed, contain_.error().text());
  if (const base::Status prepared = (*contain_)->prepare(contain_spec(spec_.containment())); !prepared)
    return fail_start(model::EndReason::kLaunchFailed, "containment: " + prepared.error().text());
  if (spec_.has_access()) return start_access();
  if (spec_.script().empty()) {
    phase_ = Phase::kReady;
    if (!spec_.wait_for_go()) on_go();
    return;
  }
  start_task();
}

void Shepherd::start_task() {
  if (const base::Status written = write_script(spec_); !written)
    return fail_start(model::EndReason::kLaunchFailed, written.error().text());
  const auto hosts = write_hosts(spec_);
  if (!hosts) return fail_start(model::EndReason::kLaunchFailed, hosts.error().text());
  auto task = spawn_task(spec_, **contain_, *hosts);
  if (!task) return fail_start(model::EndReason::kLaunchFailed, task.error().text());
  task_ = std::move(*task);
  task_alive_ = has_children_ = true;
}

void Shepherd::start_access() {
  const auto hosts = write_hosts(spec_);
  if (!hosts) return fail_start(model::EndReason::kLaunchFailed, hosts.error().text());
  tasks_ = std::make_unique<StepTasks>(spec_, **contain_, *hosts, mpi_);
  if (const base::Status opened = tasks_->open(); !opened) {
    tasks_.reset();
    return fail_start(model::EndReason::kLaunchFailed, "listening for the client: " + opened.error().text());
  }
  set_ready();
}

wire::FromShepherd Shepherd::ready_message() const {
  wire::FromShepherd message;
  message.mutable_ready()->set_pid(static_cast<uint32_t>(::getpid()));
  if (tasks_) {
    message.mutable_ready()->set_address(tasks_->address());
    message.mutable_ready()->set_key(tasks_->key());
  }
  return message;
}

void Shepherd::set_ready() {
  phase_ = Phase::kReady;
  say(ready_message());
}

void Shepherd::fail_start(model::EndReason reason, const std::string& detail) {
  failure_ = StartFailure{reason, detail};
  wire::StepExit exit;
  exit.set_reason(static_cast<uint32_t>(reason));
  exit.set_detail(detail);
  exit.set_never_started(true);
  // Once it is ready only the script can be at fault; a limit too low for our own code is the user's doing, too.
  exit.set_node_fault(phase_ == Phase::kSettingUp && reason == model::EndReason::kLaunchFailed && !memory().oom);
  record_exit_now(std::move(exit));
}

// Where a client's streams are to be served meanwhile, it is their loop that waits.
void Shepherd::wait(std::span<pollfd> fds) {
  const int64_t timer = next_timer();
  const int64_t left = timer > 0 ? std::max<int64_t>(timer - monotonic_us(), 1) : 0;
  if (tasks_) tasks_->wait(fds, left);
  int wait_ms = -1;
  if (timer > 0) wait_ms = static_cast<int>(std::clamp<int64_t>(left / 1000 + 1, 0, 60'000));
  if (::poll(fds.data(), fds.size(), tasks_ ? 0 : wait_ms) >= 0) return;
  for (pollfd& fd : fds) fd.revents = 0;
}

void Shepherd::poll_once() {
  std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}, {task_.events.get(), POLLIN, 0}};
  for (const Channel& channel : channels_)
    fds.push_back({channel.fd(), static_cast<short>(POLLIN | (channel.wants_write() ? POLLOUT : 0)), 0});
  const size_t channels_end = fds.size();
  lease_timer_.set(lease_over_at());
  if (lease_timer_.fd() >= 0) fds.push_back({lease_timer_.fd(), POLLIN, 0});
  wait(fds);
  // The task's last words come before its death: a failure must not be taken for an exit code.
  if (fds[2].revents != 0) on_task_events();
  if (fds[0].revents != 0) on_signal();
  size_t i = 3;
  for (Channel& channel : channels_) {
    const short ready = i < channels_end ? fds[i++].revents : short{0};
    if (ready & POLLOUT) channel.flush();
    if (ready & ~POLLOUT)
      for (const std::string& payload : channel.receive()) on_frame(payload);
  }
  if (fds[1].revents != 0) on_connection();
  if (tasks_) on_step_news();
  channels_.remove_if([](const Channel& c) { return !c.is_open(); });
  on_timers(monotonic_us());
  check_clean();
  try_leave();
}

void Shepherd::on_connection() {
  auto fd = accept_trusted(listener_.get());
  if (!fd) return;
  channels_.emplace_back(std::move(*fd), kMaxRequest);
  say_all_to(channels_.back());
}

void Shepherd::say(const wire::FromShepherd& message) {
  const std::string bytes = pack(message);
  for (Channel& channel : channels_) channel.send(bytes);
}

void Shepherd::say_all_to(Channel& channel) {
  wire::FromShepherd hello;
  hello.mutable_hello()->set_version(kStepProtocol);
  hello.mutable_hello()->set_job(spec_.job());
  hello.mutable_hello()->set_attempt(spec_.attempt());
  hello.mutable_hello()->set_step(spec_.step());
  hello.mutable_hello()->set_pid(static_cast<uint32_t>(::getpid()));
  channel.send(pack(hello));
  wire::FromShepherd message = ready_message();
  if (phase_ != Phase::kSettingUp && !failure_) {
    channel.send(pack(message));
  }
  if (said_started_) {
    *message.mutable_started() = *said_started_;
    channel.send(pack(message));
  }
  if (exit_) {
    *message.mutable_exit() = *exit_;
    channel.send(pack(message));
  }
  if (clean_) {
    *message.mutable_clean() = *clean_;
    channel.send(pack(message));
  }
  if (suspended_) {
    *message.mutable_suspended() = *suspended_;
    channel.send(pack(message));
  }
}

void Shepherd::record_exit_now(wire::StepExit exit) {
  exit.set_ended_us(wall_us());
  exit.set_limit_mem_mb(spec_.containment().mem_limit_mb());
  if (const base::Status recorded = record_exit(spec_.dir(), exit); !recorded)
    exit.set_detail(exit.detail() + (exit.detail().empty() ? "" : "; ") + "exit record: " + recorded.error().text());
  exit_ = std::move(exit);
  if (phase_ < Phase::kOver) phase_ = Phase::kOver;
  wire::FromShepherd message;
  *message.mutable_exit() = *exit_;
  say(message);
}

void Shepherd::release_bulk() {
  const bool is_big = spec_.ByteSizeLong() > kBulk;
  // Cleared fields keep their memory; a copy has none.
  spec_.clear_script();
  spec_.clear_env();
  spec_.clear_args();
  spec_ = wire::StepSpec(wire::StepSpec(spec_));
  if (is_big) ::malloc_trim(0);
}

void Shepherd::try_leave() {
  if (!forgotten_ || phase_ != Phase::kClean || has_children_) return;
  if (tasks_ && !tasks_->may_leave()) return;
  if (has_contain() && !(*contain_)->remove()) {
    // The kernel may need a moment to let go of a group.
    next_pass_at_ = monotonic_us() + kLeaveWait;
    if (++leave_tries_ < kMaxLeaveTries) return;
    left_groups_ = true;  // the launcher takes over
  }
  leaving_ = true;
}

}  // namespace gw::noded::step
