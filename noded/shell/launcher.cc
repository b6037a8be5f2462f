// The daemon's side of the launcher: the implementation.
// Invariants: see launcher.h.
#include "noded/shell/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "noded/shell/step_name.h"
#include "noded/step/state/channel.h"

namespace gw::noded {

namespace {

constexpr base::Duration kPoll = base::milliseconds(5);
constexpr base::Duration kLongestPoll = base::seconds(1);
// A launcher that cannot be had for so many tries: launches are told to have failed. About 5 s.
constexpr int kPatience = 15;
constexpr int kDismissTries = 10;
constexpr int kDismissWaitMs = 100;

// What cannot be read is no run of ours: nobody has that key.
RunKey key_of(const auto& message) {
  const auto step = step_of(message.step());
  return step ? RunKey{message.job(), message.attempt(), *step} : RunKey{};
}

}  // namespace

Launcher::Launcher(io::Loop& loop, LauncherSettings settings, Events events)
    : loop_(loop), settings_(std::move(settings)), events_(std::move(events)) {}

void Launcher::start() { connect_or_spawn(); }

void Launcher::launch(const wire::StepSpec& spec) {
  wire::ToLauncher message;
  *message.mutable_launch()->mutable_spec() = spec;
  if (!stream_) {
    waiting_.push_back(std::move(message));
    return;
  }
  sent_.insert(key_of(spec));
  stream_->send(message);
}

void Launcher::dismiss(const std::string& socket) {
  auto fd = step::connect_to(socket);
  if (!fd) {
    ::unlink(socket.c_str());
    return;
  }
  step::Channel channel(std::move(*fd), wire::kMaxFrame);
  wire::ToLauncher leave, ping;
  leave.mutable_leave();
  ping.mutable_ping();
  channel.send(leave.SerializeAsString());
  channel.send(ping.SerializeAsString());
  // It may have much to tell first, and must not find the connection broken before it has read this.
  for (int i = 0; i < kDismissTries && channel.is_open(); ++i) {
    pollfd ready{channel.fd(), POLLIN, 0};
    ::poll(&ready, 1, kDismissWaitMs);
    for (const std::string& payload : channel.receive())
      if (wire::FromLauncher answer; answer.ParseFromString(payload) && answer.has_pong()) return;
  }
}

void Launcher::connect_or_spawn() {
  if (stream_ || connect()) return;
  reap();
  if (child_ == 0) spawn();
  if (++tries_ == kPatience) {
    events_.say(true, "the launcher " + settings_.program + " does not start: see " + settings_.log);
    fail_all("the launcher of this node does not start");
  }
  retry(std::min(kPoll * (int64_t{1} << std::min(tries_, 10)), kLongestPoll));
}

bool Launcher::connect() {
  auto stream = MessageStream::connect(
      loop_, settings_.socket, [this](const std::string& payload) { on_payload(payload); }, [this] { on_closed(); });
  if (!stream) return false;
  stream_ = std::move(*stream);
  tries_ = 0;
  for (const wire::ToLauncher& message : std::exchange(waiting_, {})) {
    sent_.insert(key_of(message.launch().spec()));
    stream_->send(message);
  }
  return true;
}

void Launcher::spawn() {
  std::string program = settings_.program, socket = settings_.socket;
  std::string mode = "--launcher", option = "--socket";
  char* argv[] = {program.data(), mode.data(), option.data(), socket.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, settings_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0640);
  const int error = ::posix_spawn(&child_, program.c_str(), &files, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return events_.say(false, "started the launcher, pid " + std::to_string(child_));
  child_ = 0;
  events_.say(true, "cannot start " + program + ": " + std::strerror(error));
}

void Launcher::retry(base::Duration delay) {
  timer_ = loop_.after(delay, [this] { connect_or_spawn(); });
}

void Launcher::reap() {
  if (child_ != 0 && ::waitpid(child_, nullptr, WNOHANG) == child_) child_ = 0;
}

void Launcher::on_payload(const std::string& payload) {
  wire::FromLauncher message;
  if (!message.ParseFromString(payload)) return events_.say(true, "the launcher sent what cannot be read");
  if (message.has_forked()) {
    const RunKey key = key_of(message.forked());
    sent_.erase(key);
    if (message.forked().error().empty()) return events_.on_forked(key);
    return events_.on_failed(key, message.forked().error());
  }
  if (message.has_gone()) {
    if (!message.gone().problem().empty()) events_.say(true, message.gone().problem());
    events_.on_gone(key_of(message.gone()), message.gone().code(), message.gone().signo());
  }
}

void Launcher::on_closed() {
  events_.say(true, "the launcher has gone");
  stream_.reset();
  // Whether these were forked is not known: who listens in the step folder tells.
  for (const RunKey& key : std::exchange(sent_, {})) events_.on_forked(key);
  retry(kPoll);
}

void Launcher::fail_all(const std::string& why) {
  for (const wire::ToLauncher& message : std::exchange(waiting_, {}))
    events_.on_failed(key_of(message.launch().spec()), why);
}

}  // namespace gw::noded
