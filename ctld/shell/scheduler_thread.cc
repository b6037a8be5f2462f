// The scheduler's thread.
#include "ctld/shell/scheduler_thread.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

namespace gw::ctld {

SchedulerThread::SchedulerThread(io::Loop& loop, std::unique_ptr<base::Clock> clock, PlanFn on_plan)
    : loop_(loop), poster_(loop.poster()), clock_(std::move(clock)), on_plan_(std::move(on_plan)), thread_([this] {
        work();
      }) {}

SchedulerThread::~SchedulerThread() {
  *alive_ = false;
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.is_stopping = true;
  }
  shared_.wake.notify_all();
  thread_.join();
}

void SchedulerThread::feed(std::vector<sched::Delta> deltas) {
  if (deltas.empty()) return;
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.deltas.insert(shared_.deltas.end(), std::make_move_iterator(deltas.begin()),
                          std::make_move_iterator(deltas.end()));
  }
  // Once for all of a round: ten thousand nodes that come back are not as many reasons to begin a pass.
  if (std::exchange(is_wake_due_, true)) return;
  loop_.defer([this, alive = alive_] {
    if (!*alive) return;
    is_wake_due_ = false;
    ++wakes_;
    shared_.wake.notify_one();
  });
}

void SchedulerThread::nudge() {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.is_nudged = true;
  }
  shared_.wake.notify_one();
}

void SchedulerThread::record_next(RecordFn on_record) {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.recorders.push_back(std::move(on_record));
    shared_.is_nudged = true;
  }
  shared_.wake.notify_one();
}

void SchedulerThread::inspect(InspectFn options) {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.inspectors.push_back(std::move(options));
  }
  shared_.wake.notify_one();
}

/// Answers those who asked to look at the view.
void SchedulerThread::look_for_others() {
  std::vector<InspectFn> inspectors;
  {
    const std::lock_guard lock(shared_.mutex);
    inspectors = std::exchange(shared_.inspectors, {});
  }
  for (const InspectFn& look : inspectors)
    poster_.post([alive = alive_, then = look(view_, clock_->now())] {
      if (*alive) then();
    });
}

PassReport SchedulerThread::counts() const {
  const std::lock_guard lock(shared_.mutex);
  return shared_.counts;
}

void SchedulerThread::deliver(sched::Plan plan, PassReport report) {
  auto decided = std::make_shared<sched::Plan>(std::move(plan));
  poster_.post([this, alive = alive_, decided, report = std::move(report)] {
    if (!*alive) return;
    on_plan_(*decided, report);  // feeds the deltas that answer it
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.is_in_flight = false;
      shared_.is_nudged |= !decided->is_whole();
    }
    shared_.wake.notify_one();
  });
}

bool SchedulerThread::next(base::Time until, Task& task) {
  std::unique_lock lock(shared_.mutex);
  // Whatever the time: one plan at a time.
  shared_.wake.wait(lock, [this] { return shared_.is_stopping || !shared_.is_in_flight; });
  const auto ready = [this] { return shared_.is_asked(); };
  if (until == base::Time::never()) {
    shared_.wake.wait(lock, ready);
  } else {
    const base::Duration left = std::clamp(until - clock_->now(), base::Duration{}, base::hours(1));
    shared_.wake.wait_for(lock, std::chrono::microseconds(left.us + 1000), ready);
  }
  task.deltas = std::exchange(shared_.deltas, {});
  task.recorders = std::exchange(shared_.recorders, {});
  task.is_pass_due = std::exchange(shared_.is_nudged, false) || !task.deltas.empty() || until <= clock_->now();
  return !shared_.is_stopping;
}

/// Copies what the pass sees; turning it into bytes is left to another thread, since that takes longer.
sched::Plan SchedulerThread::plan_recorded(base::Time now, const sched::Budget& budget,
                                           std::vector<RecordFn> recorders) {
  view_.queue().forget();
  auto record = std::make_shared<PassRecord>();
  record->input = sched::take_input(view_, now, budget);
  record->plan = sched::plan(view_, now, budget);
  poster_.post([alive = alive_, record, recorders = std::move(recorders)] {
    if (!*alive) return;
    for (const RecordFn& on_record : recorders) on_record(record);
  });
  return record->plan;
}

sched::Plan SchedulerThread::make_plan(const sched::Budget& budget, std::vector<RecordFn> recorders) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  const base::Time now = clock_->now();
  sched::Plan plan =
      recorders.empty() ? sched::plan(view_, now, budget) : plan_recorded(now, budget, std::move(recorders));
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun);
  const std::lock_guard lock(shared_.mutex);
  ++shared_.counts.passes;
  shared_.counts.steps += plan.placements;
  shared_.counts.cut_searches += plan.cut_searches;
  shared_.counts.last = base::microseconds(took.count());
  shared_.counts.longest = std::max(shared_.counts.longest, shared_.counts.last);
  shared_.counts.all = shared_.counts.all + shared_.counts.last;
  shared_.counts.last_at = now;
  shared_.counts.cut += plan.is_whole() ? 0 : 1;
  shared_.counts.backfilled += plan.backfilled;
  shared_.counts.job_classes = view_.queue().classes().size();
  return plan;
}

void SchedulerThread::forget_longest() {
  const std::lock_guard lock(shared_.mutex);
  shared_.counts.longest = {};
}

bool SchedulerThread::is_as_last_report(const sched::Plan& plan, const PassReport& report) const {
  return plan.planned_starts == last_report_.planned_starts && plan.gathered == last_report_.gathered &&
         plan.would_move == last_report_.would_move && report.fragmentation == last_report_.fragmentation;
}

/// Each job is looked at once in a round, whose passes tell their moves together.
void SchedulerThread::add_moves_of_round(sched::Plan& plan) {
  moves_of_round_.insert(moves_of_round_.end(), plan.would_move.begin(), plan.would_move.end());
  if (plan.is_whole())
    plan.would_move = std::exchange(moves_of_round_, {});
  else
    plan.would_move = moves_of_round_;
}

void SchedulerThread::work() {
  const sched::Budget budget;
  base::Time next_change = base::Time::never();
  Task task;
  // Who asks what the scheduler would do asks about a cluster at rest, but not for ever.
  constexpr uint32_t kMostBefore = 3;
  uint32_t passes_before = 0;  // those who want to look
  const auto look = [&] {
    look_for_others();
    passes_before = 0;
  };
  while (next(next_change, task)) {
    for (const sched::Delta& delta : task.deltas) view_.apply(delta);
    if (!task.is_pass_due || passes_before >= kMostBefore) look();
    if (!task.is_pass_due) continue;
    ++passes_before;
    PassReport report;
    report.fragmentation = sched::fragmentation(view_.capacity(), view_.workload());
    sched::Plan plan = make_plan(budget, std::exchange(task.recorders, {}));
    next_change = plan.next_change_at;
    add_moves_of_round(plan);
    if (plan.groups.empty() && (!plan.is_whole() || is_as_last_report(plan, report))) {
      if (!plan.is_whole())
        nudge();  // nothing to say yet: it continues where it stopped
      else
        look();
      continue;
    }
    last_report_.planned_starts = plan.planned_starts;
    last_report_.gathered = plan.gathered;
    last_report_.would_move = plan.would_move;
    last_report_.fragmentation = report.fragmentation;
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.is_in_flight = true;
      report.passes = shared_.counts.passes;
      report.steps = shared_.counts.steps;
      report.cut_searches = shared_.counts.cut_searches;
      report.last = shared_.counts.last;
    }
    deliver(std::move(plan), std::move(report));
  }
}

}  // namespace gw::ctld
