// The scheduler in a thread of its own, on its own view: it never holds up the loop.
// Invariants: deltas are applied in order; one plan is in flight at a time: the next is made only after the core has
// answered the last one with its deltas.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "io/loop.h"
#include "sched/plan.h"

namespace gw::ctld {

class SchedulerThread {
 public:
  using PlanFn = std::function<void(const sched::Plan&)>;
  /// `on_plan` is called on the loop; the thread goes on when it has returned.
  SchedulerThread(io::Loop& loop, std::unique_ptr<base::Clock> clock, PlanFn on_plan);
  ~SchedulerThread();
  SchedulerThread(const SchedulerThread&) = delete;
  SchedulerThread& operator=(const SchedulerThread&) = delete;

  void feed(std::vector<sched::Delta> deltas);
  /// Plans again although nothing has changed: what the core could not commit before may be possible now.
  void nudge();

 private:
  io::Poster poster_;
  std::unique_ptr<base::Clock> clock_;  // the thread's own
  PlanFn on_plan_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<sched::Delta> deltas_;
  bool is_nudged_ = false;
  bool is_in_flight_ = false;
  bool is_stopping_ = false;
  sched::ClusterView view_;               // the thread's own
  std::vector<sched::Reserve> promised_;  // as last delivered
  std::thread thread_;

  void work();
  /// Waits until there is something to plan for, or `until`; takes it over. False: the end.
  bool next(base::Time until, std::vector<sched::Delta>& deltas);
  void deliver(sched::Plan plan);
};

}  // namespace gw::ctld
