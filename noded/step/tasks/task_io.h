// The shepherd's ends of the pipes and the terminal of a step's tasks.
// Invariants: an output is read only while there is room for what is read, so that a slow client slows the program and
// nothing is stored; every byte that a task wrote is read, also after its end; input goes to each task whole and in
// order, and a task that does not read holds up the others until it takes it, closes it, or ends.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "io/loop.h"
#include "noded/step/proc/owned_fd.h"
#include "noded/step/tasks/audience.h"

namespace gw::noded::step {

/// What one task writes to one stream.
class TaskOutput {
 public:
  /// `fd` is not blocking. `on_done`: the last writer has gone, or it was cut.
  TaskOutput(io::Loop& loop, Audience& audience, proc::OwnedFd fd, stream::ChannelId channel,
             std::function<void()> on_done);
  TaskOutput(const TaskOutput&) = delete;
  TaskOutput& operator=(const TaskOutput&) = delete;

  stream::ChannelId channel() const { return channel_; }
  bool is_done() const { return !fd_; }
  /// Bytes that the task wrote before its end and that have not been read yet.
  size_t owed() const { return owed_; }
  /// There may be room again.
  void resume();
  /// The task has ended: what is in the pipe now is all that is owed of it.
  void on_task_end();
  /// Ends as soon as what is owed has been read: others that hold the pipe are not waited for.
  void cut();

 private:
  Audience& audience_;
  proc::OwnedFd fd_;
  stream::ChannelId channel_;
  std::function<void()> on_done_;
  io::Watch watch_;
  size_t owed_ = 0;
  bool is_cut_ = false;

  void on_readable();
  void finish();
};

/// What the client sends to standard input, for all tasks that read it.
class TaskInput {
 public:
  /// `on_room`: bytes that were not taken are to be offered again.
  TaskInput(io::Loop& loop, std::function<void()> on_room) : loop_(loop), on_room_(std::move(on_room)) {}
  TaskInput(const TaskInput&) = delete;
  TaskInput& operator=(const TaskInput&) = delete;

  /// `fd` is not blocking. A terminal's input ends by its own character, as at a keyboard.
  void add(proc::OwnedFd fd, bool is_terminal);
  bool has_readers() const { return !sinks_.empty(); }
  /// Takes as much as is now on its way to every reader.
  size_t write(std::string_view bytes);
  /// Nothing follows; but of a terminal, whose next owner may continue.
  void end();
  void close() { sinks_.clear(); }

 private:
  struct Sink {
    proc::OwnedFd fd;
    bool is_terminal = false;
    size_t done = 0;  // of pending_
    io::Watch watch;  // goes before the descriptor
  };
  io::Loop& loop_;
  std::function<void()> on_room_;
  std::list<Sink> sinks_;
  std::string pending_;  // taken, and not yet with every reader
  bool is_ended_ = false;

  ssize_t push(Sink& sink, std::string_view bytes);
  void on_writable(Sink& sink);
  void flush();
};

}  // namespace gw::noded::step
