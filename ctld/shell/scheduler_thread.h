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
#include "sched/cycle/snapshot.h"

namespace gw::ctld {

/// A pass from scratch: what it saw and what it decided.
struct PassRecord {
  sched::PassInput input;
  sched::Plan plan;
};

/// What came of the passes beside decisions.
struct PassReport {
  uint64_t passes = 0;                                       ///< Since the start, this one included.
  uint64_t steps = 0;                                        ///< Of all of them: requests held against the nodes.
  uint64_t cut_searches = 0;                                 ///< For victims, of all of them: sets were left out.
  base::Duration last = {};                                  ///< How long the last one took,
  base::Duration longest = {}, all = {};                     ///< the longest, and all together.
  base::Time last_at = {};                                   ///< When the last one began.
  uint64_t cut = 0;                                          ///< Those that were to be continued.
  uint64_t job_classes = 0;                                  ///< Of the queue, as the last one left it.
  uint64_t backfilled = 0;                                   ///< Starts while nodes were kept for somebody before.
  std::vector<sched::PartitionFragmentation> fragmentation;  ///< Of what the pass saw, before its own starts.
};

class SchedulerThread {
 public:
  using RecordFn = std::function<void(const std::shared_ptr<const PassRecord>&)>;
  using PlanFn = std::function<void(const sched::Plan&, const PassReport&)>;
  /// `on_plan` is called on the loop; the thread continues when it has returned.
  /// Looks at the view in the scheduler's thread, and leaves it as it was; what it returns is called on the loop.
  using InspectFn = std::function<std::function<void()>(sched::ClusterView&, base::Time now)>;
  SchedulerThread(io::Loop& loop, std::unique_ptr<base::Clock> clock, PlanFn on_plan);
  ~SchedulerThread();
  SchedulerThread(const SchedulerThread&) = delete;
  SchedulerThread& operator=(const SchedulerThread&) = delete;

  /// From the loop's thread. A pass begins when the present round of the loop is over.
  void feed(std::vector<sched::Delta> deltas);
  /// Rounds of the loop that fed something. From the loop's thread.
  uint64_t wakes() const { return wakes_; }
  /// Plans again although nothing has changed: what the core could not commit before may be possible now.
  void nudge();
  /// Counts of the passes so far; without the fragmentation, which goes to the loop with a plan.
  PassReport counts() const;
  /// From the next pass on another one is the longest.
  void forget_longest();
  /// The next pass is made at once and from scratch, and recorded; `on_record` is called on the loop.
  void record_next(RecordFn on_record);
  /// Between two passes.
  void inspect(InspectFn options);

 private:
  /// What the loop and the thread share, under the mutex.
  struct Shared {
    mutable std::mutex mutex;
    std::condition_variable wake;
    std::vector<sched::Delta> deltas;
    std::vector<RecordFn> recorders;
    std::vector<InspectFn> inspectors;
    bool is_nudged = false;
    bool is_in_flight = false;
    bool is_stopping = false;
    PassReport counts;

    bool is_asked() const { return is_stopping || is_nudged || !deltas.empty() || !inspectors.empty(); }
  };
  /// What was delivered last, beside decisions.
  struct Report {
    std::vector<sched::PlannedStart> planned_starts, gathered;
    std::vector<sched::WouldMove> would_move;
    std::vector<sched::PartitionFragmentation> fragmentation;
  };

  io::Loop& loop_;
  io::Poster poster_;
  uint64_t wakes_ = 0;
  bool is_wake_due_ = false;            // of the loop's thread: this one is woken when the round is over
  std::unique_ptr<base::Clock> clock_;  // the thread's own
  PlanFn on_plan_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Shared shared_;
  sched::ClusterView view_;                       // the thread's own
  Report last_report_;                            // likewise
  std::vector<sched::WouldMove> moves_of_round_;  // of its passes so far
  std::thread thread_;

  void work();
  /// Waits until there is something to plan for, or `until`; takes it over. False: the end.
  struct Task {
    std::vector<sched::Delta> deltas;
    std::vector<RecordFn> recorders;
    bool is_pass_due = true;  // else somebody only wants to look
  };
  bool next(base::Time until, Task& task);
  sched::Plan plan_recorded(base::Time now, const sched::Budget& budget, std::vector<RecordFn> recorders);
  void look_for_others();
  void add_moves_of_round(sched::Plan& plan);
  bool is_as_last_report(const sched::Plan& plan, const PassReport& report) const;
  void deliver(sched::Plan plan, PassReport report);
  sched::Plan make_plan(const sched::Budget& budget, std::vector<RecordFn> recorders);
};

}  // namespace gw::ctld
