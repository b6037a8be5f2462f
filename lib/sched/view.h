// What the scheduler sees (ClusterView) and the deltas that keep it true. The controller emits a delta with each
// change; the scheduler's thread applies them in order. No full copy is ever made after the start. Invariant: a view
// that got every delta up to an epoch equals the controller's state at that epoch.
#pragma once

#include <cstdint>
#include <variant>

#include "sched/capacity.h"
#include "sched/queue.h"

namespace gw::sched {

struct NodeSet {
  NodeFacts facts;
};
struct NodeRemoved {
  NodeId id;
};
struct PartitionSet {
  PartitionFacts facts;
};
struct PartitionRemoved {
  std::string name;
};
struct JobQueued {
  PendingJob job;
};
struct JobUnqueued {
  JobId id;
};
/// A decision was committed, or a running job was recovered.
struct JobPlaced {
  JobId id;
  std::string partition;
  model::Allocation allocation;
  base::Time started;
  base::Time expected_end;
};
struct ShareReleased {
  JobId id;
  NodeId node;
};

using DeltaKind = std::variant<NodeSet, NodeRemoved, PartitionSet, PartitionRemoved, JobQueued, JobUnqueued, JobPlaced,
                               ShareReleased>;
/// One change, numbered by the controller from 1 on without gaps.
struct Delta {
  uint64_t epoch = 0;
  DeltaKind kind;
};

class ClusterView {
 public:
  /// Applies one delta; epochs must follow each other.
  void apply(const Delta& delta);
  const Capacity& capacity() const { return capacity_; }
  Capacity& capacity() { return capacity_; }
  const Queue& queue() const { return queue_; }
  Queue& queue() { return queue_; }
  uint64_t epoch() const { return epoch_; }

 private:
  Capacity capacity_;
  Queue queue_;
  uint64_t epoch_ = 0;
};

}  // namespace gw::sched
