// Where output of tasks goes here: a terminal, a pipe, a file. Slow ones make their writers wait.
// Invariants: bytes go out in the order given; little is kept here (one piece of a writer, where it could not be
// written whole); nothing is called back from inside write() or put().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "attach/local/descriptor.h"
#include "base/result.h"
#include "io/loop.h"

namespace gw::attach {

class Sink {
 public:
  /// `name` is for errors.
  Sink(io::Loop& loop, Descriptor to, std::string name)
      : loop_(loop), to_(std::move(to)), name_(std::move(name)), alive_(std::make_shared<bool>(true)) {}
  ~Sink() { *alive_ = false; }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// There is room again after is_ready() was false.
  void on_ready(io::Callback fn) { ready_fn_ = std::move(fn); }
  /// Once: it takes nothing any more; what is given from then on is dropped. kUnavailable: its reader has gone.
  void on_broken(std::function<void(const base::Error&)> fn) { broken_fn_ = std::move(fn); }

  bool is_ready() const { return !is_blocked_; }
  bool is_broken() const { return is_broken_; }
  /// Nothing waits here.
  bool is_flushed() const { return is_broken_ || waiting_.empty(); }
  /// Writes what can be written now; returns how much that was.
  size_t write(std::string_view bytes);
  /// Takes all; what cannot be written now waits. To be given only when ready, or little.
  void put(std::string_view bytes);

 private:
  size_t write_now(std::string_view bytes);
  void block();
  void on_writable();
  void fail(int error);

  io::Loop& loop_;
  Descriptor to_;
  std::string name_;
  std::string waiting_;
  bool is_blocked_ = false;
  bool is_broken_ = false;
  io::Watch watch_;
  io::Callback ready_fn_;
  std::function<void(const base::Error&)> broken_fn_;
  std::shared_ptr<bool> alive_;
};

}  // namespace gw::attach
