// What the scheduler is told, as numbered deltas, and what of that the core must know again.
// Invariant: deltas are numbered from 1 on without gaps; a job is queued from when the scheduler was told of it until
// it was told that the job is placed or gone.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "sched/view/view.h"

namespace gw::ctld {

class SchedulerFeed {
 public:
  void tell(sched::DeltaKind kind) {
    if (const auto* queued = std::get_if<sched::JobQueued>(&kind)) queued_.insert(queued->job.id);
    if (const auto* gone = std::get_if<sched::JobUnqueued>(&kind)) queued_.erase(gone->id);
    if (const auto* placed = std::get_if<sched::JobPlaced>(&kind)) queued_.erase(placed->id);
    deltas_.push_back(sched::Delta{++epoch_, std::move(kind)});
  }
  /// Number of the latest delta.
  uint64_t epoch() const { return epoch_; }
  bool has_queued(base::JobId job) const { return queued_.contains(job); }
  size_t queue_length() const { return queued_.size(); }
  /// Those since the last call.
  std::vector<sched::Delta> take() { return std::exchange(deltas_, {}); }

 private:
  uint64_t epoch_ = 0;
  std::unordered_set<base::JobId> queued_;
  std::vector<sched::Delta> deltas_;
};

}  // namespace gw::ctld
