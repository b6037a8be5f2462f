// The shepherd's ends of the pipes and the terminal of a step's tasks.
#include "noded/step/tasks/task_io.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gw::noded::step {
namespace {

constexpr char kEndOfInput = 4;  // ctrl-D
char chunk[stream::kMaxChunk];   // one for all: it is empty again when a read is over

}  // namespace

// --- output ---

TaskOutput::TaskOutput(io::Loop& loop, Audience& audience, proc::OwnedFd fd, stream::ChannelId channel,
                       std::function<void()> on_done)
    : audience_(audience),
      fd_(std::move(fd)),
      channel_(channel),
      on_done_(std::move(on_done)),
      watch_(loop.watch_readable(fd_.get(), [this] { on_readable(); })) {}

void TaskOutput::resume() {
  if (!fd_) return;
  // Who writes to a pipe that nobody reads gets SIGPIPE, as everywhere.
  if (audience_.is_unwanted(channel_)) return finish();
  watch_.resume();
}

void TaskOutput::on_task_end() {
  int waiting = 0;
  if (fd_ && ::ioctl(fd_.get(), FIONREAD, &waiting) == 0) owed_ = static_cast<size_t>(std::max(waiting, 0));
}

void TaskOutput::cut() {
  is_cut_ = true;
  if (fd_ && owed_ == 0) finish();
}

void TaskOutput::on_readable() {
  const size_t room = audience_.room(channel_);
  if (room == 0) {
    watch_.pause();
    return audience_.ask_for_room(channel_);
  }
  const ssize_t n = ::read(fd_.get(), chunk, std::min(room, sizeof chunk));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return finish();  // EIO: the last of a terminal's holders has gone
  audience_.write(channel_, {chunk, static_cast<size_t>(n)});
  owed_ -= std::min(owed_, static_cast<size_t>(n));
  if (is_cut_ && owed_ == 0) finish();
}

void TaskOutput::finish() {
  watch_.cancel();
  fd_.reset();
  audience_.end(channel_);
  on_done_();
}

// --- input ---

void TaskInput::add(proc::OwnedFd fd, bool is_terminal) {
  Sink& sink = sinks_.emplace_back();
  sink.fd = std::move(fd);
  sink.is_terminal = is_terminal;
  sink.watch = loop_.watch_writable(sink.fd.get(), [this, &sink] { on_writable(sink); });
  sink.watch.pause();
}

// Bytes that went, 0 if it is full, -1 if nobody reads any more.
ssize_t TaskInput::push(Sink& sink, std::string_view bytes) {
  ssize_t n = 0;
  do n = ::write(sink.fd.get(), bytes.data(), bytes.size());
  while (n < 0 && errno == EINTR);
  if (n < 0 && errno != EAGAIN) return -1;
  n = std::max<ssize_t>(n, 0);
  static_cast<size_t>(n) < bytes.size() ? sink.watch.resume() : sink.watch.pause();
  return n;
}

size_t TaskInput::write(std::string_view bytes) {
  if (!pending_.empty() || sinks_.empty()) return sinks_.empty() ? bytes.size() : 0;
  if (sinks_.size() == 1) {  // as far as it goes, without a copy
    const ssize_t n = push(sinks_.front(), bytes);
    if (n >= 0) return static_cast<size_t>(n);
    sinks_.clear();
    return bytes.size();
  }
  pending_ = bytes;
  for (Sink& sink : sinks_) sink.done = 0;
  flush();
  return bytes.size();
}

void TaskInput::on_writable(Sink& sink) {
  if (!pending_.empty()) return flush();
  sink.watch.pause();
  on_room_();
}

void TaskInput::flush() {
  for (auto sink = sinks_.begin(); sink != sinks_.end();) {
    const ssize_t n = push(*sink, std::string_view(pending_).substr(sink->done));
    if (n >= 0) sink->done += static_cast<size_t>(n);
    sink = n < 0 ? sinks_.erase(sink) : std::next(sink);
  }
  const auto has_all = [this](const Sink& sink) { return sink.done == pending_.size(); };
  if (!std::all_of(sinks_.begin(), sinks_.end(), has_all)) return;
  pending_.clear();
  if (is_ended_) return end();
  on_room_();
}

void TaskInput::end() {
  is_ended_ = true;
  if (!pending_.empty()) return;
  for (const Sink& sink : sinks_)
    if (sink.is_terminal) static_cast<void>(!::write(sink.fd.get(), &kEndOfInput, 1));
  sinks_.remove_if([](const Sink& sink) { return !sink.is_terminal; });
  is_ended_ = false;
}

}  // namespace gw::noded::step
