// What a shepherd says to the node daemon.
#include "noded/step/shepherd/announcements.h"

#include <unistd.h>

#include "noded/step/state/step_protocol.h"

namespace gw::noded::step {
namespace {

constexpr size_t kMaxRequest = 64 * 1024;  // every ToShepherd is small

}  // namespace

Announcements::Announcements(proc::OwnedFd listener, const wire::StepSpec& spec) : listener_(std::move(listener)) {
  hello_.mutable_hello()->set_version(kStepProtocol);
  hello_.mutable_hello()->set_job(spec.job());
  hello_.mutable_hello()->set_attempt(spec.attempt());
  hello_.mutable_hello()->set_step(spec.step());
  hello_.mutable_hello()->set_pid(static_cast<uint32_t>(::getpid()));
}

void Announcements::add_to(std::vector<pollfd>& fds) const {
  for (const Channel& channel : channels_)
    fds.push_back({channel.fd(), static_cast<short>(POLLIN | (channel.wants_write() ? POLLOUT : 0)), 0});
}

void Announcements::serve(std::span<const pollfd> ready, const std::function<void(const std::string&)>& on_frame) {
  size_t at = 0;
  for (Channel& channel : channels_) {
    const short what = at < ready.size() ? ready[at++].revents : short{0};
    if (what & POLLOUT) channel.flush();
    if (what & ~POLLOUT)
      for (const std::string& payload : channel.receive()) on_frame(payload);
  }
}

void Announcements::accept() {
  auto fd = accept_trusted(listener_.get());
  if (!fd) return;
  channels_.emplace_back(std::move(*fd), kMaxRequest);
  say_all_to(channels_.back());
}

void Announcements::drop_closed() {
  channels_.remove_if([](const Channel& channel) { return !channel.is_open(); });
}

void Announcements::say(const wire::FromShepherd& message) {
  const std::string bytes = pack(message);
  for (Channel& channel : channels_) channel.send(bytes);
}

void Announcements::say_all_again() {
  for (Channel& channel : channels_) say_all_to(channel);
}

void Announcements::say_all_to(Channel& channel) {
  channel.send(pack(hello_));
  for (const auto* said : {&ready_, &started_, &exit_, &clean_, &suspended_})
    if (*said) channel.send(pack(**said));
}

void Announcements::keep_ready(const wire::StepReady& ready) { *ready_.emplace().mutable_ready() = ready; }

void Announcements::say_ready(const wire::StepReady& ready) {
  keep_ready(ready);
  say(*ready_);
}

void Announcements::say_started(const wire::StepStarted& started) {
  *started_.emplace().mutable_started() = started;
  say(*started_);
}

void Announcements::say_exit(const wire::StepExit& exit) {
  *exit_.emplace().mutable_exit() = exit;
  say(*exit_);
}

void Announcements::say_clean(const wire::StepClean& clean) {
  *clean_.emplace().mutable_clean() = clean;
  say(*clean_);
}

void Announcements::say_suspended(const wire::StepSuspended& suspended) {
  *suspended_.emplace().mutable_suspended() = suspended;
  say(*suspended_);
}

}  // namespace gw::noded::step
