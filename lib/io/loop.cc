// The event loop on libevent.
#include "io/loop.h"

#include <event2/event.h>
#include <sys/eventfd.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/fd.h"

namespace gw::io {

using Base = std::shared_ptr<event_base>;

namespace {

/// When the first callback of the present turn began; zero: none has yet. A loop belongs to one thread.
thread_local base::Duration turn_began;

/// Turns of a loop: what happens between waking up and waiting again.
struct Turns {
  base::Duration busy, longest, longest_before;  // the last two by windows of a minute
  base::Duration window_began;

  void add(base::Duration began, base::Duration ended) {
    constexpr base::Duration kWindow = base::minutes(1);
    if (ended - window_began >= kWindow) {
      longest_before = ended - window_began < kWindow * 2 ? longest : base::Duration{};
      longest = {};
      window_began = ended;
    }
    busy = busy + (ended - began);
    longest = std::max(longest, ended - began);
  }
};

}  // namespace

namespace detail {

/// One libevent event and what to call. Kept alive by its handle and, while its callback runs, by the callback.
struct EventState : std::enable_shared_from_this<EventState> {
  Base base;  // events must go before their base
  event* ev = nullptr;
  Callback fn;
  bool is_once = false;
  bool is_active = false;

  ~EventState() {
    if (ev != nullptr) event_free(ev);
  }
  void cancel() {
    is_active = false;
    event_del(ev);
  }
  void fire() {
    const auto guard = shared_from_this();
    if (turn_began.us == 0) turn_began = Loop::monotonic();
    if (!is_active) return;
    if (is_once) {
      is_active = false;
      const Callback once = std::move(fn);
      once();
    } else {
      fn();
    }
  }
};

/// Work from other threads; `wake` makes the loop look at it.
struct PostQueue {
  std::mutex mutex;
  std::vector<Callback> work;
  Fd wake;
  bool is_closed = false;
};

}  // namespace detail

namespace {

void on_event(evutil_socket_t, short, void* state) { static_cast<detail::EventState*>(state)->fire(); }

timeval to_timeval(base::Duration d) {
  const int64_t us = std::max<int64_t>(d.us, 0);
  return {static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
}

std::shared_ptr<detail::EventState> make_state(const Base& base, int fd, short what, Callback fn) {
  auto state = std::make_shared<detail::EventState>();
  state->base = base;
  state->fn = std::move(fn);
  state->ev = event_new(base.get(), fd, what, on_event, state.get());
  GW_CHECK(state->ev != nullptr);
  return state;
}

// No cached time, no coarse clock: a timer must not fire early. The base belongs to one thread.
Base make_base() {
  event_config* config = event_config_new();
  GW_CHECK(config != nullptr);
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_PRECISE_TIMER |
                                    EVENT_BASE_FLAG_IGNORE_ENV);
  event_base* base = event_base_new_with_config(config);
  event_config_free(config);
  GW_CHECK(base != nullptr);
  return Base(base, event_base_free);
}

}  // namespace

EventHandle& EventHandle::operator=(EventHandle&& other) noexcept {
  if (this != &other) {
    cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

EventHandle::~EventHandle() { cancel(); }

void EventHandle::cancel() {
  if (!state_) return;
  state_->cancel();
  state_.reset();
}

bool EventHandle::is_active() const { return state_ && state_->is_active; }

void EventHandle::pause() {
  if (state_) state_->cancel();
}

void EventHandle::resume() {
  if (!state_ || state_->is_active) return;
  state_->is_active = event_add(state_->ev, nullptr) == 0;
}

void Poster::post(Callback fn) const {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->is_closed) return;
  queue_->work.push_back(std::move(fn));
  if (queue_->work.size() == 1) eventfd_write(queue_->wake.get(), 1);
}

struct Loop::Impl {
  Base base = make_base();
  std::shared_ptr<detail::PostQueue> posts = std::make_shared<detail::PostQueue>();
  std::vector<Callback> deferred;
  Watch post_watch;
  std::shared_ptr<detail::EventState> defer_event;
  std::vector<EventHandle> signals;
  std::unordered_map<const void*, std::shared_ptr<void>> held;
  bool is_stopping = false;
  Turns turns;

  void run_posts() {
    eventfd_t count = 0;
    eventfd_read(posts->wake.get(), &count);
    std::vector<Callback> work;
    {
      const std::lock_guard lock(posts->mutex);
      work.swap(posts->work);
    }
    for (const Callback& fn : work) fn();
  }
  void run_deferred() {
    std::vector<Callback> work;
    work.swap(deferred);
    for (const Callback& fn : work) fn();
  }
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {
  Impl* impl = impl_.get();
  impl->posts->wake.reset(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  GW_CHECK(impl->posts->wake);
  impl->post_watch = watch_readable(impl->posts->wake.get(), [impl] { impl->run_posts(); });
  impl->defer_event = make_state(impl->base, -1, 0, [impl] { impl->run_deferred(); });
}

Loop::~Loop() {
  std::vector<Callback> dropped;  // what they hold may refer to this loop's events, so it goes before them
  {
    const std::lock_guard lock(impl_->posts->mutex);
    impl_->posts->is_closed = true;
    dropped.swap(impl_->posts->work);
  }
  dropped.clear();
  while (!impl_->deferred.empty()) {
    dropped.swap(impl_->deferred);
    dropped.clear();
  }
}

void Loop::run() {
  impl_->is_stopping = false;
  while (!impl_->is_stopping) {
    turn_began = {};
    event_base_loop(impl_->base.get(), EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
    if (turn_began.us > 0) impl_->turns.add(turn_began, monotonic());
  }
}

Loop::Figures Loop::figures() const {
  timespec cpu{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  return {impl_->turns.busy, base::seconds(cpu.tv_sec) + base::microseconds(cpu.tv_nsec / 1000),
          std::max(impl_->turns.longest, impl_->turns.longest_before)};
}

void Loop::stop() {
  impl_->is_stopping = true;
  event_base_loopbreak(impl_->base.get());
}

bool Loop::run_until(const std::function<bool()>& done, base::Duration limit) {
  bool is_late = false;
  const Timer timer = after(limit, [&is_late] { is_late = true; });
  for (;;) {
    if (done()) return true;
    if (is_late) return false;
    event_base_loop(impl_->base.get(), EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
  }
}

Timer Loop::after(base::Duration delay, Callback fn) {
  auto state = make_state(impl_->base, -1, 0, std::move(fn));
  const timeval tv = to_timeval(delay);
  state->is_once = true;
  state->is_active = event_add(state->ev, &tv) == 0;
  GW_CHECK(state->is_active);
  return Timer(std::move(state));
}

// A timer of length zero, not an active event: sockets are looked at between two rounds of deferred work.
void Loop::defer(Callback fn) {
  impl_->deferred.push_back(std::move(fn));
  if (impl_->deferred.size() > 1) return;
  const timeval now{0, 0};
  impl_->defer_event->is_active = event_add(impl_->defer_event->ev, &now) == 0;
}

void Loop::hold(std::shared_ptr<void> object) { impl_->held.emplace(object.get(), std::move(object)); }

std::shared_ptr<void> Loop::release(const void* object) {
  auto node = impl_->held.extract(object);
  return node.empty() ? nullptr : std::move(node.mapped());
}

Poster Loop::poster() const { return Poster(impl_->posts); }

void Loop::on_signal(int signo, Callback fn) {
  EventHandle handle(make_state(impl_->base, signo, EV_SIGNAL | EV_PERSIST, std::move(fn)));
  handle.resume();
  GW_CHECK(handle.is_active());
  impl_->signals.push_back(std::move(handle));
}

Watch Loop::watch_readable(int fd, Callback fn) {
  Watch watch(make_state(impl_->base, fd, EV_READ | EV_PERSIST, std::move(fn)));
  watch.resume();
  return watch;
}

Watch Loop::watch_writable(int fd, Callback fn) {
  Watch watch(make_state(impl_->base, fd, EV_WRITE | EV_PERSIST, std::move(fn)));
  watch.resume();
  return watch;
}

base::Duration Loop::monotonic() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return base::microseconds(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace gw::io
