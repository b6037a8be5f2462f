// A launcher in a process of its own, for the tests of this folder.
#include "harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "noded/step/contain/plugin_loader.h"
#include "noded/step/proc/files.h"
#include "noded/step/proc/step_clock.h"
#include "noded/step/proc/tree.h"
#include "noded/step/shepherd/step_launcher.h"

namespace gw::noded::step {
namespace {

int remaining_ms(int64_t until_us) {
  return static_cast<int>(std::max<int64_t>((until_us - monotonic_us()) / 1000, 0));
}

// Group names of this run: the process and the test within it.
std::string group_prefix() { return "gangway/unit" + std::to_string(::getpid()); }

}  // namespace

template <typename Message>
bool Peer<Message>::pump(int64_t until_us) {
  if (!channel_.is_open()) return false;
  pollfd fd{channel_.fd(), static_cast<short>(POLLIN | (channel_.wants_write() ? POLLOUT : 0)), 0};
  if (::poll(&fd, 1, remaining_ms(until_us)) <= 0) return false;
  if (fd.revents & POLLOUT) channel_.flush();
  if ((fd.revents & ~POLLOUT) == 0) return true;
  for (const std::string& payload : channel_.receive()) {
    Message message;
    EXPECT_TRUE(message.ParseFromString(payload));
    seen_.push_back(message);
  }
  return true;
}

template <typename Message>
std::optional<Message> Peer<Message>::wait(const std::function<bool(const Message&)>& fits, int deadline_ms) {
  const int64_t until = monotonic_us() + int64_t{deadline_ms} * 1000;
  size_t next = 0;
  for (;;) {
    for (; next < seen_.size(); ++next)
      if (fits(seen_[next])) return seen_[next];
    if (!pump(until)) return std::nullopt;
  }
}

template <typename Message>
bool Peer<Message>::wait_closed(int deadline_ms) {
  const int64_t until = monotonic_us() + int64_t{deadline_ms} * 1000;
  while (pump(until)) {
  }
  return !channel_.is_open();
}

template class Peer<wire::FromShepherd>;
template class Peer<wire::FromLauncher>;

Node::Node(std::string kind) : kind_(std::move(kind)) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // shepherds of a killed launcher come to us
  char name[] = "/tmp/gwstep.XXXXXX";
  dir_ = ::mkdtemp(name);
  ::chmod(dir_.c_str(), 0711);
  int ready[2];
  EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  launcher_ = ::fork();
  if (launcher_ == 0) {
    Launcher launcher({socket(), GW_PLUGIN_DIR});
    if (const auto opened = launcher.open(); !opened) {
      std::fprintf(stderr, "launcher: %s\n", opened.error().text().c_str());
      ::_exit(1);
    }
    ::close(ready[0]);
    ::close(ready[1]);
    launcher.serve();
    ::_exit(0);
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 0);  // closed once it listens
  ::close(ready[0]);
  reconnect();
}

Node::~Node() { leave(); }

void Node::reconnect() {
  peer_.reset();
  peer_.emplace(socket());
  EXPECT_TRUE(peer_->is_open());
}

void Node::kill_launcher() {
  ::kill(launcher_, SIGKILL);
  ::waitpid(launcher_, nullptr, 0);
  launcher_ = 0;
  peer_.reset();
}

void Node::leave() {
  if (dir_.empty()) return;
  int status = 0;
  if (launcher_ != 0) {
    wire::ToLauncher message;
    message.mutable_leave();
    if (!peer_) reconnect();
    peer_->send(message);
    // A test that failed in the middle leaves steps: their shepherds' end lets the launcher end them.
    for (const proc::Process& p : proc::descendants(launcher_)) ::kill(p.pid, SIGKILL);
    EXPECT_TRUE(wait_dead(launcher_)) << "the launcher does not leave";
    ::kill(launcher_, SIGKILL);
    ::waitpid(launcher_, &status, 0);
    launcher_ = 0;
    EXPECT_EQ(status, 0);
  }
  proc::kill_descendants(::getpid());
  while (::waitpid(-1, &status, 0) > 0) {
  }
  EXPECT_EQ(leftover_groups(), std::vector<std::string>{});
  std::filesystem::remove_all(dir_);
  dir_.clear();
}

wire::StepSpec Node::step(const std::string& body) {
  wire::StepSpec spec;
  spec.set_version(1);
  spec.set_job(next_job_++);
  spec.set_attempt(1);
  spec.set_step("batch");
  spec.set_dir(dir_ + "/job_" + std::to_string(spec.job()) + ".1");
  spec.set_uid(::geteuid());
  spec.set_gid(::getegid());
  spec.set_allow_root(true);
  spec.set_user("tester");
  spec.set_script("#!/bin/sh\n" + body + "\n");
  spec.add_env("PATH=/usr/bin:/bin");
  spec.add_env("D=" + dir_);
  spec.set_work_dir(dir_);
  spec.set_std_out(dir_ + "/out");
  spec.set_umask(022);
  spec.mutable_containment()->set_kind(kind_);
  spec.mutable_containment()->set_group(group_prefix() + "/n0/job_" + std::to_string(spec.job()) + ".1");
  return spec;
}

ShepherdPeer Node::launch(const wire::StepSpec& spec) {
  wire::ToLauncher message;
  *message.mutable_launch()->mutable_spec() = spec;
  peer_->send(message);
  const auto forked =
      peer_->wait([&](const wire::FromLauncher& m) { return m.has_forked() && m.forked().job() == spec.job(); });
  EXPECT_TRUE(forked && forked->forked().error().empty()) << (forked ? forked->forked().error() : "no answer");
  shepherd_ = forked ? static_cast<pid_t>(forked->forked().pid()) : 0;
  return ShepherdPeer(spec.dir() + "/sock");
}

std::string Node::out() const { return file("out"); }
std::string Node::file(const std::string& name) const {
  return proc::read_file(dir_ + "/" + name).value_or("<missing>");
}

std::vector<std::string> Node::leftover_groups() const {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/fs/cgroup", error)) {
    if (std::filesystem::exists(entry.path() / group_prefix(), error)) found.push_back(entry.path() / group_prefix());
  }
  if (std::filesystem::exists("/sys/fs/cgroup/" + group_prefix(), error)) found.push_back("/sys/fs/cgroup");
  return found;
}

wire::ToShepherd go() {
  wire::ToShepherd message;
  message.mutable_go()->set_at_us(1);
  return message;
}
wire::ToShepherd stop(int64_t grace_us, bool kill_now) {
  wire::ToShepherd message;
  message.mutable_stop()->set_grace_us(grace_us);
  message.mutable_stop()->set_kill_now(kill_now);
  return message;
}
wire::ToShepherd signal_request(int signo, bool batch_only) {
  wire::ToShepherd message;
  message.mutable_signal()->set_signo(signo);
  message.mutable_signal()->set_batch_only(batch_only);
  return message;
}
wire::ToShepherd forget() {
  wire::ToShepherd message;
  message.mutable_forget();
  return message;
}

std::optional<wire::StepExit> wait_exit(ShepherdPeer& peer) {
  const auto message = peer.wait([](const wire::FromShepherd& m) { return m.has_exit(); });
  return message ? std::optional(message->exit()) : std::nullopt;
}
std::optional<wire::StepClean> wait_clean(ShepherdPeer& peer) {
  const auto message = peer.wait([](const wire::FromShepherd& m) { return m.has_clean(); });
  return message ? std::optional(message->clean()) : std::nullopt;
}
bool wait_started(ShepherdPeer& peer) {
  return peer.wait([](const wire::FromShepherd& m) { return m.has_started(); }).has_value();
}
std::optional<wire::ShepherdGone> wait_gone(LauncherPeer& peer, uint32_t job) {
  const auto message = peer.wait([job](const wire::FromLauncher& m) { return m.has_gone() && m.gone().job() == job; });
  return message ? std::optional(message->gone()) : std::nullopt;
}

std::string wait_line(const std::string& path) {
  const int64_t until = monotonic_us() + int64_t{kDeadlineMs} * 1000;
  const proc::OwnedFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ::inotify_add_watch(watch.get(), path.substr(0, path.rfind('/')).c_str(), IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO);
  for (;;) {
    const std::string text = proc::read_file(path).value_or("");
    if (const size_t end = text.find('\n'); end != std::string::npos) return text.substr(0, end);
    pollfd fd{watch.get(), POLLIN, 0};
    if (::poll(&fd, 1, remaining_ms(until)) <= 0) return {};
    char events[4096];
    while (::read(watch.get(), events, sizeof events) > 0) {
    }
  }
}

bool wait_dead(pid_t pid) {
  const proc::OwnedFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd) return true;
  pollfd ready{fd.get(), POLLIN, 0};
  return ::poll(&ready, 1, kDeadlineMs) == 1;
}

void not_here(const std::string& why) { std::printf("[ NOT HERE ] %s\n", why.c_str()); }

std::vector<std::string> usable_kinds() {
  std::vector<std::string> kinds;
  for (const std::string& kind : containment_kinds())
    if (is_usable(kind)) kinds.push_back(kind);
  return kinds;
}

bool is_usable(const std::string& kind, const std::string& controller) {
  const auto contain = make_containment(GW_PLUGIN_DIR, kind);
  if (!contain) return false;
  const ProbeReport report = (*contain)->probe();
  for (const ControllerReport& c : report.controllers)
    if (c.controller == controller) return report.usable && c.usable;
  return false;
}

}  // namespace gw::noded::step
