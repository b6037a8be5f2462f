// The scheduler's thread.
#include "ctld/shell/scheduler_thread.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>

namespace gw::ctld {

SchedulerThread::SchedulerThread(io::Loop& loop, std::unique_ptr<base::Clock> clock, PlanFn on_plan)
    : poster_(loop.poster()), clock_(std::move(clock)), on_plan_(std::move(on_plan)), thread_([this] { work(); }) {}

SchedulerThread::~SchedulerThread() {
  *alive_ = false;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void SchedulerThread::feed(std::vector<sched::Delta> deltas) {
  if (deltas.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    deltas_.insert(deltas_.end(), std::make_move_iterator(deltas.begin()), std::make_move_iterator(deltas.end()));
  }
  wake_.notify_one();
}

void SchedulerThread::nudge() {
  {
    const std::lock_guard lock(mutex_);
    is_nudged_ = true;
  }
  wake_.notify_one();
}

void SchedulerThread::deliver(sched::Plan plan) {
  auto shared = std::make_shared<sched::Plan>(std::move(plan));
  poster_.post([this, alive = alive_, shared] {
    if (!*alive) return;
    on_plan_(*shared);  // feeds the deltas that answer it
    {
      const std::lock_guard lock(mutex_);
      is_in_flight_ = false;
      is_nudged_ |= shared->exhausted;
    }
    wake_.notify_one();
  });
}

bool SchedulerThread::next(base::Time until, std::vector<sched::Delta>& deltas) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return is_stopping_ || (!is_in_flight_ && (is_nudged_ || !deltas_.empty())); };
  if (until == base::Time::never()) {
    wake_.wait(lock, ready);
  } else {
    const base::Duration left = std::clamp(until - clock_->now(), base::Duration{}, base::hours(1));
    wake_.wait_for(lock, std::chrono::microseconds(left.us + 1000), ready);
  }
  deltas.swap(deltas_);
  is_nudged_ = false;
  return !is_stopping_;
}

void SchedulerThread::work() {
  const sched::Budget budget;
  base::Time next_change = base::Time::never();
  std::vector<sched::Delta> deltas;
  while (next(next_change, deltas)) {
    for (const sched::Delta& delta : deltas) view_.apply(delta);
    deltas.clear();
    sched::Plan plan = sched::plan(view_, clock_->now(), budget);
    next_change = plan.next_change_at;
    if (plan.groups.empty() && !plan.exhausted && plan.reservations == promised_) continue;
    promised_ = plan.reservations;
    next_change = base::Time::never();  // the answer wakes us
    {
      const std::lock_guard lock(mutex_);
      is_in_flight_ = true;
    }
    deliver(std::move(plan));
  }
}

}  // namespace gw::ctld
