// The shepherd of one step: setting up, its loop, and leaving.
#include "noded/step/shepherd/shepherd.h"

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "noded/step/proc/step_clock.h"
#include "noded/step/shepherd/step_notes.h"
#include "noded/step/start/identity.h"
#include "noded/step/state/step_folder.h"
#include "noded/step/tasks/step_tasks.h"

namespace gw::noded::step {
namespace {

constexpr int64_t kLeaveWait = 20'000;
constexpr int kMaxLeaveTries = 100;
constexpr int64_t kLookWait = 5'000'000;  // between two looks whether the state folder is still there
constexpr size_t kBulk = 64 * 1024;

// SIGTERM, SIGINT and SIGHUP are for the daemons and the step, not for the one who must see the step's end: a service
// manager that stops the node daemon, or a terminal that closes, kills no job.
proc::OwnedFd take_signals() {
  for (const int signo : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(signo, SIG_IGN);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_SETMASK, &child, nullptr);
  return proc::OwnedFd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

void drain_signals(int fd) {
  signalfd_siginfo info[8];
  while (::read(fd, info, sizeof info) > 0) {
  }
}

}  // namespace

Shepherd::Shepherd(wire::StepSpec spec, proc::OwnedFd listener, base::Result<std::unique_ptr<Containment>> contain,
                   MpiSupport mpi)
    : on_preempt_(on_preempt_of(spec)),
      spec_(std::move(spec)),
      mpi_(std::move(mpi)),
      processes_(std::move(contain)),
      announcements_(std::move(listener), spec_),
      lease_(spec_.lease_us(), heard_at(spec_.heard_boot_us(), spec_.lease_age_us())) {}

Shepherd::~Shepherd() = default;

int Shepherd::run() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  signals_ = take_signals();
  look_at_ = monotonic_us();
  set_up();
  while (!state_.is<Leaving>()) poll_once();
  const base::Status removed = remove_state_dir(spec_.dir());
  return removed && state_.in<Leaving>()->has_removed_groups ? 0 : 1;
}

// --- setting up ---

void Shepherd::set_up() {
  if (const base::Status allowed = may_run_as(spec_); !allowed)
    return fail_start(model::EndReason::kLaunchFailed, allowed.error().text());
  if (const base::Status prepared = processes_.prepare(spec_.containment()); !prepared)
    return fail_start(model::EndReason::kLaunchFailed, prepared.error().text());
  if (spec_.has_access()) return start_access();
  if (!spec_.script().empty()) return start_task();
  set_ready();
  if (!spec_.wait_for_go()) on_go();
}

void Shepherd::start_task() {
  for (const auto write : {write_script, write_slots})
    if (const base::Status written = write(spec_); !written)
      return fail_start(model::EndReason::kLaunchFailed, written.error().text());
  const auto hosts = write_hosts(spec_);
  if (!hosts) return fail_start(model::EndReason::kLaunchFailed, hosts.error().text());
  auto task = spawn_task(spec_, processes_.containment(), *hosts);
  if (!task) return fail_start(model::EndReason::kLaunchFailed, task.error().text());
  batch_.begin(std::move(*task), *hosts);
  processes_.on_fork();
}

void Shepherd::start_access() {
  const auto hosts = write_hosts(spec_);
  if (!hosts) return fail_start(model::EndReason::kLaunchFailed, hosts.error().text());
  tasks_ = std::make_unique<StepTasks>(spec_, processes_.containment(), *hosts, mpi_);
  if (const base::Status opened = tasks_->open(); !opened) {
    tasks_.reset();
    return fail_start(model::EndReason::kLaunchFailed, "listening for the client: " + opened.error().text());
  }
  set_ready();
}

wire::StepReady Shepherd::ready_message() const {
  wire::StepReady ready;
  ready.set_pid(static_cast<uint32_t>(::getpid()));
  if (tasks_) {
    ready.set_address(tasks_->address());
    ready.set_key(tasks_->key());
  }
  return ready;
}

void Shepherd::set_ready() {
  state_.leave<Configuring>([](Configuring before) { return Ready{before.is_go_given, std::move(before.suspend)}; });
  announcements_.say_ready(ready_message());
}

void Shepherd::fail_start(model::EndReason reason, const std::string& detail) {
  wire::StepExit exit;
  exit.set_reason(static_cast<uint32_t>(reason));
  exit.set_detail(detail);
  exit.set_never_started(true);
  // Once it is ready only the script can be at fault; a limit too low for our own code is the user's doing, too.
  exit.set_node_fault(state_.is<Configuring>() && reason == model::EndReason::kLaunchFailed &&
                      !processes_.memory().oom);
  record_exit_now(std::move(exit));
  announcements_.withdraw_ready();
}

void Shepherd::release_bulk() {
  const bool is_big = spec_.ByteSizeLong() > kBulk;
  // Cleared fields keep their memory; a copy has none.
  spec_.clear_script();
  if (spec_.task_epilog().empty()) spec_.clear_env();
  spec_.clear_args();
  spec_ = wire::StepSpec(wire::StepSpec(spec_));
  if (is_big) ::malloc_trim(0);
}

// --- the loop ---

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
  constexpr size_t kOwn = 3;
  std::vector<pollfd> fds{
      {signals_.get(), POLLIN, 0}, {announcements_.listener(), POLLIN, 0}, {batch_.events_fd(), POLLIN, 0}};
  announcements_.add_to(fds);
  const size_t channels = fds.size() - kOwn;
  if (const int over = lease_.fd(); over >= 0) fds.push_back({over, POLLIN, 0});
  wait(fds);
  // The task's last words come before its death: a failure must not be taken for an exit code.
  if (fds[2].revents != 0) on_task_events();
  if (fds[0].revents != 0) {
    drain_signals(signals_.get());
    reap();
  }
  announcements_.serve(std::span(fds).subspan(kOwn, channels), [this](const std::string& frame) { on_frame(frame); });
  if (fds[1].revents != 0) announcements_.accept();
  on_step_news();
  announcements_.drop_closed();
  on_timers(monotonic_us());
  check_clean();
  try_leave();
}

int64_t Shepherd::next_timer() const {
  int64_t next = 0;
  const auto add = [&next](int64_t at) {
    if (at > 0 && (next == 0 || at < next)) next = at;
  };
  if (const auto* running = state_.in<Running>()) add(running->suspension.freeze_at());
  if (const auto* completing = state_.in<Completing>()) add(completing->next_pass_at);
  if (const auto* clean = state_.in<Clean>()) add(clean->next_try_at);
  if (!is_forgotten()) add(look_at_);
  if (state_.is<Running>()) add(processes_.next_look());
  return next;
}

void Shepherd::on_timers(int64_t now) {
  look_for_folder(now);
  if (base::boot_time_now() >= lease_.over_at()) end_by_lease();
  if (auto* running = state_.in<Running>()) {
    running->suspension.on_timer(now);
    processes_.look(now, [this] { return tasks_at(); });
  }
  const auto* completing = state_.in<Completing>();
  if (completing != nullptr && completing->next_pass_at > 0 && now >= completing->next_pass_at) kill_pass(now);
}

void Shepherd::look_for_folder(int64_t now) {
  if (is_forgotten() || now < look_at_) return;
  look_at_ = now + kLookWait;
  if (!is_state_dir_gone(spec_.dir())) return;
  log_note(spec_, "the state folder " + spec_.dir() + " was removed: the step is ended");
  on_forget();
}

// --- leaving ---

bool Shepherd::is_forgotten() const {
  if (const auto* completing = state_.in<Completing>()) return completing->is_forgotten;
  const auto* clean = state_.in<Clean>();
  return clean != nullptr && clean->is_forgotten;
}

void Shepherd::try_leave() {
  auto* clean = state_.in<Clean>();
  if (clean == nullptr || !clean->is_forgotten || processes_.has_children()) return;
  if (tasks_ && !tasks_->may_leave()) return;
  const bool has_removed_groups = processes_.remove().has_value();
  if (!has_removed_groups) {
    // The kernel may need a moment to let go of a group; if it does not, the launcher takes over.
    clean->next_try_at = monotonic_us() + kLeaveWait;
    if (++clean->tries < kMaxLeaveTries) return;
  }
  state_.go<Clean, Leaving>(has_removed_groups);
}

}  // namespace gw::noded::step
