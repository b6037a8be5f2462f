// Applies deltas to the scheduler's view.
#include "sched/view.h"

#include "base/check.h"

namespace gw::sched {
namespace {

struct Applier {
  Capacity& capacity;
  Queue& queue;

  void operator()(const NodeSet& d) const { capacity.set_node(d.facts); }
  void operator()(const NodeRemoved& d) const { capacity.remove_node(d.id); }
  void operator()(const PartitionSet& d) const { capacity.set_partition(d.facts); }
  void operator()(const PartitionRemoved& d) const { capacity.remove_partition(d.name); }
  void operator()(const JobQueued& d) const { queue.put(d.job); }
  void operator()(const JobUnqueued& d) const { queue.remove(d.id); }
  void operator()(const JobPlaced& d) const {
    queue.remove(d.id);
    const auto placed = capacity.allocate(d.id, d.partition, d.allocation, d.started, d.expected_end, /*forced=*/true);
    GW_CHECK(placed.has_value());
  }
  void operator()(const ShareReleased& d) const { capacity.release(d.id, d.node); }
};

}  // namespace

void ClusterView::apply(const Delta& delta) {
  GW_CHECK(delta.epoch == epoch_ + 1);
  epoch_ = delta.epoch;
  std::visit(Applier{capacity_, queue_}, delta.kind);
}

}  // namespace gw::sched
