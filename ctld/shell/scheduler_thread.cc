// The scheduler's thread.
#include "ctld/shell/scheduler_thread.h"

#include <iterator>
#include <memory>

namespace gw::ctld {

SchedulerThread::SchedulerThread(io::Loop& loop, PlanFn on_plan)
    : poster_(loop.poster()), on_plan_(std::move(on_plan)), thread_([this] { work(); }) {}

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

void SchedulerThread::work() {
  const sched::Policy policy;
  const sched::Budget budget;
  while (true) {
    std::vector<sched::Delta> deltas;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopping_ || (!is_in_flight_ && (is_nudged_ || !deltas_.empty())); });
      if (is_stopping_) return;
      deltas.swap(deltas_);
      is_nudged_ = false;
    }
    for (const sched::Delta& delta : deltas) view_.apply(delta);
    sched::Plan plan = sched::plan(view_, policy, budget);
    if (plan.groups.empty() && !plan.exhausted) continue;
    {
      const std::lock_guard lock(mutex_);
      is_in_flight_ = true;
    }
    deliver(std::move(plan));
  }
}

}  // namespace gw::ctld
