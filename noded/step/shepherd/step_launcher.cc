// The launcher of a node.
#include "noded/step/shepherd/step_launcher.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "noded/step/contain/plugin_loader.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/proc/tree.h"
#include "noded/step/shepherd/shepherd.h"
#include "noded/step/state/step_folder.h"
#include "noded/step/state/step_protocol.h"

namespace gw::noded::step {
namespace {

constexpr size_t kMaxUnsent = 4096;
constexpr int kSweepWaitMs = 20;
constexpr int kLookWaitMs = 5'000;  // between two looks whether the socket's folder is still there
constexpr int64_t kSweepLimit = 10'000'000;
constexpr size_t kBigMessage = 256 * 1024;

std::string lock_path(const std::string& socket) { return socket + ".lock"; }

// A lock, not a trial connection: that would take the place of the daemon's.
base::Result<proc::OwnedFd> lock_socket(const std::string& path) {
  proc::OwnedFd lock(::open(lock_path(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return base::fail_errno(lock_path(path), errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return base::fail(base::ErrorCode::kConflict, "another launcher serves " + path, "one launcher per node daemon");
  ::unlink(path.c_str());  // left by a launcher that was killed
  return lock;
}

// The child of fork: everything of the launcher but the step's socket is closed.
[[noreturn]] void become_shepherd(wire::StepSpec spec, proc::OwnedFd listener,
                                  base::Result<std::unique_ptr<Containment>> contain, MpiSupport mpi) {
  constexpr int kFirst = STDERR_FILENO + 1;
  const int kept = listener.release();
  if (kept != kFirst) ::dup3(kept, kFirst, O_CLOEXEC);
  ::close_range(kFirst + 1, ~0U, 0);
  ::setpgid(0, 0);
  const std::string name = "gstepd:" + std::to_string(spec.job()) + "." + std::to_string(spec.attempt());
  ::prctl(PR_SET_NAME, name.c_str(), 0, 0, 0);
  Shepherd shepherd(std::move(spec), proc::OwnedFd(kFirst), std::move(contain), std::move(mpi));
  ::_exit(shepherd.run());
}

}  // namespace

base::Status Launcher::open() {
  GW_TRY(lock, lock_socket(options_.socket));
  lock_ = std::move(lock);
  GW_TRY(listener, listen_at(options_.socket));
  listener_ = std::move(listener);
  // Orphans of a dead shepherd come to us.
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return base::fail_errno("becoming a subreaper", errno);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &set, nullptr);
  signals_ = proc::OwnedFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return base::fail_errno("signal descriptor", errno);
  mpi_.start();
  return {};
}

void Launcher::serve() {
  while (!leaving_ || !sheep_.empty() || !remnants_.empty()) poll_once();
  clean_up();
}

void Launcher::poll_once() {
  pollfd fds[3] = {{signals_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}, {-1, POLLIN, 0}};
  if (daemon_) fds[2] = {daemon_->fd(), static_cast<short>(POLLIN | (daemon_->wants_write() ? POLLOUT : 0)), 0};
  const int count = ::poll(fds, 3, remnants_.empty() ? kLookWaitMs : kSweepWaitMs);
  if (count < 0 && errno != EINTR) return;
  if (count == 0) look_for_folder();
  if (fds[0].revents != 0) on_signals();
  if (daemon_ && (fds[2].revents & POLLOUT)) daemon_->flush();
  if (daemon_ && (fds[2].revents & ~POLLOUT))
    for (const std::string& payload : daemon_->receive()) on_frame(payload);
  if (daemon_ && !daemon_->is_open()) daemon_.reset();
  if (fds[1].revents != 0) on_connection();
  if (!remnants_.empty()) sweep();
}

// The lock lies beside the socket, and nobody else may remove it while we live. Another launcher may have made both
// anew meanwhile, so it is our file that counts, not the name.
void Launcher::look_for_folder() {
  struct stat lock {};
  if (is_lost_ || ::fstat(lock_.get(), &lock) != 0 || lock.st_nlink > 0) return;
  std::fprintf(stderr, "gstepd: the folder of %s was removed: leaving\n", options_.socket.c_str());
  is_lost_ = leaving_ = true;
}

void Launcher::on_connection() {
  auto fd = accept_trusted(listener_.get());
  if (!fd) return;
  daemon_.emplace(std::move(*fd), wire::kMaxFrame);
  for (const std::string& payload : unsent_) daemon_->send(payload);
  unsent_.clear();
}

void Launcher::on_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info)
    if (info.ssi_signo == SIGTERM) leaving_ = true;
  reap();
}

void Launcher::on_frame(const std::string& payload) {
  wire::ToLauncher message;
  if (!message.ParseFromString(payload)) {
    std::fprintf(stderr, "gstepd: a message that cannot be read was dropped\n");
    return;
  }
  if (message.has_launch()) on_launch(std::move(*message.mutable_launch()));
  if (message.has_leave()) leaving_ = true;
  if (message.has_ping()) {
    wire::FromLauncher reply;
    reply.mutable_pong()->set_version(kStepProtocol);
    reply.mutable_pong()->set_shepherds(static_cast<uint32_t>(sheep_.size()));
    report(reply);
  }
  // What a large script took is given back: every later fork would pay for it.
  if (payload.size() > kBigMessage) ::malloc_trim(0);
}

void Launcher::on_launch(wire::LaunchStep launch) {
  wire::StepSpec& spec = *launch.mutable_spec();
  wire::FromLauncher message;
  wire::ShepherdForked& forked = *message.mutable_forked();
  forked.set_job(spec.job());
  forked.set_attempt(spec.attempt());
  forked.set_step(spec.step());
  const Sheep sheep{spec.job(), spec.attempt(), spec.step(), spec.containment().kind(), spec.containment().group()};
  const bool is_nested = !spec.containment().parent().empty();
  const auto pid = fork_shepherd(spec);
  if (pid) {
    forked.set_pid(static_cast<uint32_t>(*pid));
    // One that lies in a job's group leaves nothing that the job does not.
    const std::string parent = sheep.group.substr(0, sheep.group.rfind('/'));
    if (!is_nested) parents_.try_emplace(sheep.kind + " " + parent, sheep.group);
    sheep_[*pid] = sheep;
  } else {
    forked.set_error(pid.error().text());
  }
  report(message);
}

base::Result<pid_t> Launcher::fork_shepherd(wire::StepSpec& spec) {
  if (leaving_) return base::fail(base::ErrorCode::kUnavailable, "the launcher is leaving");
  if (spec.dir().empty() || spec.dir().front() != '/')
    return base::invalid("state folder \"" + base::printable(spec.dir()) + "\" is not an absolute path");
  GW_TRY(listener, make_state_dir(spec.dir()));
  auto contain = make_containment(options_.plugin_dir, spec.containment().kind());
  MpiSupport mpi = spec.has_access() ? mpi_.result() : MpiSupport();
  const pid_t pid = ::fork();
  if (pid == 0) become_shepherd(std::move(spec), std::move(listener), std::move(contain), std::move(mpi));
  if (pid > 0) return pid;
  const int error = errno;
  static_cast<void>(remove_state_dir(spec.dir()));
  return base::fail_errno("forking a shepherd", error);
}

void Launcher::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    const auto it = sheep_.find(pid);
    if (it == sheep_.end()) continue;  // an orphan of a shepherd that died
    const Sheep sheep = it->second;
    sheep_.erase(it);
    on_gone(sheep, status);
  }
}

void Launcher::on_gone(const Sheep& sheep, int status) {
  wire::FromLauncher message;
  wire::ShepherdGone& gone = *message.mutable_gone();
  gone.set_job(sheep.job);
  gone.set_attempt(sheep.attempt);
  gone.set_step(sheep.step);
  if (WIFSIGNALED(status)) {
    gone.set_signo(WTERMSIG(status));
  } else {
    gone.set_code(WEXITSTATUS(status));
  }
  if (status == 0) return report(message);  // it left by itself: everything is gone
  Remnant remnant{gone, nullptr, monotonic_us() + kSweepLimit};
  if (auto contain = make_containment(options_.plugin_dir, sheep.kind); contain && !sheep.group.empty()) {
    remnant.contain = std::move(*contain);
    ContainSpec spec;
    spec.group = sheep.group;
    remnant.contain->attach(spec);
  }
  remnants_.push_back(std::move(remnant));
}

bool Launcher::finish(Remnant& remnant, bool has_orphans) {
  const std::vector<pid_t> members = remnant.contain ? remnant.contain->members() : std::vector<pid_t>{};
  if (!members.empty()) remnant.contain->kill_pass();
  const bool is_gone = !has_orphans && members.empty() && (!remnant.contain || remnant.contain->remove());
  if (!is_gone && monotonic_us() < remnant.give_up_at) return false;
  if (!is_gone && !members.empty()) remnant.gone.set_problem(proc::describe(members.front()) + " survives SIGKILL");
  if (!is_gone && members.empty()) remnant.gone.set_problem("processes or groups of the step could not be removed");
  wire::FromLauncher message;
  *message.mutable_gone() = remnant.gone;
  report(message);
  return true;
}

void Launcher::sweep() {
  // Every child that is no shepherd is an orphan of a dead one, and so is what descends from it.
  std::set<pid_t> shepherds;
  for (const auto& [pid, sheep] : sheep_) shepherds.insert(pid);
  const bool has_orphans = !proc::descendants(::getpid(), shepherds).empty();
  if (has_orphans) proc::kill_descendants(::getpid(), shepherds);
  reap();
  std::erase_if(remnants_, [&](Remnant& remnant) { return finish(remnant, has_orphans); });
}

void Launcher::report(const wire::FromLauncher& message) {
  const std::string payload = pack(message);
  if (daemon_) daemon_->send(payload);
  if (daemon_ && daemon_->is_open()) return;
  unsent_.push_back(payload);
  if (unsent_.size() > kMaxUnsent) unsent_.pop_front();
}

void Launcher::clean_up() {
  if (!is_lost_) {
    ::unlink(options_.socket.c_str());
    ::unlink(lock_path(options_.socket).c_str());
  }
  for (const auto& [key, group] : parents_)
    if (auto contain = make_containment(options_.plugin_dir, key.substr(0, key.find(' '))))
      (*contain)->remove_parents(group);
}

base::Status run_launcher(const LauncherOptions& options) {
  Launcher launcher(options);
  GW_TRY_STATUS(launcher.open());
  launcher.serve();
  return {};
}

}  // namespace gw::noded::step
