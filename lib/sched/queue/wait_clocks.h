// For each job that waits, how long it has waited for what. Jobs of one class wait for the same, so a class has one
// clock that counts by cause, and a job knows what the clock showed when it came: a change of cause costs one step
// however many jobs wait, and so does a job that comes or goes. Invariants: what a job has waited is the time since it
// came and what it brought with it, to the microsecond; a clock is there as long as a job waits by it; time never runs
// backwards.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "model/wait_split.h"
#include "sched/queue/queue.h"

namespace gw::sched {

class WaitClocks {
 public:
  WaitClocks();
  WaitClocks(const WaitClocks&) = delete;
  WaitClocks& operator=(const WaitClocks&) = delete;

  /// The job has waited so long already, as a task with its array, or under an earlier controller. For one that is
  /// known nothing happens.
  void bring(JobId job, model::WaitSplit waited);
  /// From now on it waits for that, whatever the scheduler says of others.
  void wait_for(JobId job, model::WaitCause cause, Time now);
  /// From now on it waits for what the scheduler says of that class. `until`: by then it is in another class.
  void wait_in(JobId job, const ClassKey& job_class, Time until, Time now);
  /// The scheduler says what the class waits for. Of a class that nobody is in nothing is kept.
  void tell(const ClassKey& job_class, model::WaitCause cause, Time now);
  /// A job whose class is another by now; it is told by wait_in(). nullopt: none.
  std::optional<JobId> due(Time now) const;

  /// What it has waited so far; empty if it is not known.
  model::WaitSplit split(JobId job, Time now) const;
  /// It waits no more. Returns what it has waited.
  model::WaitSplit leave(JobId job, Time now);
  /// Calls `fn` with each job and what it has waited so far, in no order.
  template <typename Fn>
  void each(Time now, const Fn& fn) const {
    for (const auto& [job, wait] : waits_) fn(job, split(job, now));
  }
  bool knows(JobId job) const { return waits_.contains(job); }
  /// Jobs that wait by what the scheduler says.
  std::vector<JobId> in_classes() const;
  /// How many wait for what now.
  std::array<uint64_t, model::kWaitCauses> waiting() const;
  size_t size() const { return waits_.size(); }
  size_t clocks() const { return classes_.size(); }

 private:
  struct Clock {
    model::WaitCause cause = model::WaitCause::kScheduler;
    Time since;                // it counts for that cause
    model::WaitSplit counted;  // before
    size_t jobs = 0;
    model::WaitSplit at(Time now) const;
  };
  using Classes = std::map<ClassKey, Clock>;
  struct Wait {
    Clock* clock = nullptr;               // null: brought, and nothing more
    std::optional<Classes::iterator> of;  // the class whose clock it is
    model::WaitSplit beside;              // what it has waited, less what the clock shows
    Time until = Time::never();
  };

  Classes classes_;
  std::array<Clock, model::kWaitCauses> own_;  // for what is no matter of the scheduler
  std::unordered_map<JobId, Wait> waits_;
  std::set<std::pair<Time, JobId>> edges_;  // when jobs come to another class

  void move(JobId job, Clock& to, std::optional<Classes::iterator> of, Time until, Time now);
  void let_go(JobId job, Wait& wait);
};

}  // namespace gw::sched
