// The controller's ledger: who holds what, down to the single index, and what the scheduler is told of it.
// Invariants: nothing else changes the controller's Capacity; every change of it is told to the scheduler in the same
// call, so that the scheduler's copy, once it has the deltas, is equal (a property test compares them).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ctld/core/tables/scheduler_feed.h"
#include "sched/ledger/capacity.h"

namespace gw::ctld {

/// What somebody gets: a job, an extension of an elastic gang, or what a suspended job keeps.
struct Placement {
  base::JobId holder;
  std::string partition;
  model::Allocation allocation;
  base::Time started;
  base::Time expected_end;                         ///< Time::never() without a limit.
  std::shared_ptr<const sched::PendingJob> facts;  ///< What the scheduler weighs it by while it runs.
};

class Ledger {
 public:
  /// `feed` outlives it.
  explicit Ledger(SchedulerFeed& feed) : feed_(feed) {}

  const sched::Capacity& capacity() const { return capacity_; }

  /// Errors: something of it is not free or not there; then nothing was changed and nobody was told.
  base::Status place(const Placement& placement) { return take(placement, /*forced=*/false); }
  /// What is held already, whatever its node offers now: after a restart, or as part of what was held before. That
  /// nobody else holds it the caller knows. Errors: an unknown node, or the holder has something already.
  base::Status hold(const Placement& placement) { return take(placement, /*forced=*/true); }
  /// Gives one node's share back. Unknown holder or node: nothing happens.
  void release(base::JobId holder, base::NodeId node);
  /// `is_leaving`: it was told to go, so that what it holds can be counted on.
  void expect_end(base::JobId holder, base::Time when, bool is_leaving);

  /// Nobody gets what it leaves of a GPU any more.
  void set_own_gpu(base::JobId holder);

  void set_node(const sched::NodeFacts& facts);
  void remove_node(base::NodeId node);
  void set_partition(const sched::PartitionFacts& facts);
  void remove_partition(const std::string& name);
  void set_network(const model::Network& network);

  /// The cluster with all its nodes up and empty, to try in what could run beside each other; whoever tries gives
  /// everything back. Kept until a node or partition changes.
  sched::Capacity& empty_cluster();

 private:
  base::Status take(const Placement& placement, bool forced);

  SchedulerFeed& feed_;
  sched::Capacity capacity_;
  std::optional<sched::Capacity> empty_;
};

}  // namespace gw::ctld
