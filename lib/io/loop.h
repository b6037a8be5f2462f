// The event loop of the daemons: timers, descriptors, signals, and work posted by other threads. libevent lives in
// loop.cc alone.
// Invariant: every call except Poster::post and Loop::post comes from the thread that runs the loop. Callbacks are
// never run from inside the call that registers them. A handle may be cancelled or destroyed at any time, also by its
// own callback; its callback never runs afterwards.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "base/time.h"

namespace gw::io {

using Callback = std::function<void()>;

namespace detail {
struct EventState;
struct PostQueue;
}  // namespace detail

/// A timer or a watched descriptor; destroying it cancels it. Empty when default-constructed.
class EventHandle {
 public:
  EventHandle() = default;
  explicit EventHandle(std::shared_ptr<detail::EventState> state) : state_(std::move(state)) {}
  EventHandle(EventHandle&& other) noexcept = default;
  EventHandle& operator=(EventHandle&& other) noexcept;
  ~EventHandle();

  void cancel();
  /// Registered, and for a timer: not fired yet.
  bool is_active() const;
  /// Stops and starts the watching of a descriptor; not for timers.
  void pause();
  void resume();

 private:
  std::shared_ptr<detail::EventState> state_;
};
using Timer = EventHandle;
using Watch = EventHandle;

/// Hands work to a loop from any thread; may outlive the loop, work is dropped then.
class Poster {
 public:
  explicit Poster(std::shared_ptr<detail::PostQueue> queue) : queue_(std::move(queue)) {}
  void post(Callback fn) const;

 private:
  std::shared_ptr<detail::PostQueue> queue_;
};

class Loop {
 public:
  /// Aborts if the system gives no descriptors for it.
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs until stop().
  void run();
  /// Makes run() return after the callback in progress.
  void stop();
  /// Runs until `done()` is true (asked after each round) or `limit` has passed; returns the last done(). For tests and
  /// start-up sequences.
  bool run_until(const std::function<bool()>& done, base::Duration limit);

  /// Calls `fn` once, not before `delay` has passed.
  [[nodiscard]] Timer after(base::Duration delay, Callback fn);
  /// Calls `fn` soon, from the loop; in order. What is deferred meanwhile waits for the next round.
  void defer(Callback fn);
  /// The same from any thread.
  void post(Callback fn) { poster().post(std::move(fn)); }
  Poster poster() const;
  /// Calls `fn` from the loop whenever the signal arrives; for one loop per process.
  void on_signal(int signo, Callback fn);
  /// Calls `fn` whenever `fd` is readable (data, end, error) or writable. The descriptor must stay open meanwhile.
  [[nodiscard]] Watch watch_readable(int fd, Callback fn);
  [[nodiscard]] Watch watch_writable(int fd, Callback fn);
  /// Keeps an object that must outlive its owner for a while; release() gives it back, or nothing if it is not held.
  void hold(std::shared_ptr<void> object);
  std::shared_ptr<void> release(const void* object);
  /// How the loop was used by run(). To be asked from its thread.
  struct Figures {
    base::Duration busy;     ///< Time between waking up and waiting again, in all.
    base::Duration cpu;      ///< Processor time of its thread, in all.
    base::Duration longest;  ///< Longest time between waking up and waiting again, of the last minute or two.
  };
  Figures figures() const;
  /// Milliseconds and finer of a clock that never jumps; only differences mean something.
  static base::Duration monotonic();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gw::io
