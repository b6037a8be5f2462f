// Applies deltas to the scheduler's view.
#include "sched/view.h"

#include "base/check.h"

namespace gw::sched {

struct ClusterView::Applier {
  ClusterView& view;

  void operator()(const NodeSet& d) const { view.capacity_.set_node(d.facts); }
  void operator()(const NodeRemoved& d) const { view.capacity_.remove_node(d.id); }
  void operator()(const PartitionSet& d) const { view.capacity_.set_partition(d.facts); }
  void operator()(const PartitionRemoved& d) const { view.capacity_.remove_partition(d.name); }
  void operator()(const NetworkSet& d) const { view.capacity_.set_network(d.network); }
  void operator()(const PolicySet& d) const { view.set_policy(d.policy); }
  void operator()(const JobQueued& d) const {
    if (view.queue_.find(d.job.id) == nullptr) view.workload_.add(Workload::shape_of(d.job.request));
    view.queue_.put(d.job);
  }
  void operator()(const JobUnqueued& d) const { view.queue_.remove(d.id); }
  void operator()(const JobPlaced& d) const {
    view.queue_.remove(d.id);
    const auto placed =
        view.capacity_.allocate(d.id, d.partition, d.allocation, d.started, d.expected_end, /*forced=*/true);
    GW_CHECK(placed.has_value());
    if (d.job) view.running_[d.id] = d.job;
  }
  void operator()(const EndExpected& d) const { view.capacity_.set_expected_end(d.id, d.when); }
  void operator()(const ShareReleased& d) const {
    view.capacity_.release(d.id, d.node);
    if (!view.capacity_.holdings().contains(d.id)) view.running_.erase(d.id);
  }
  void operator()(const ReservationSet& d) const { view.reservations_[d.reservation.name] = d.reservation; }
  void operator()(const ReservationRemoved& d) const { view.reservations_.erase(d.name); }
  void operator()(const UsageSet& d) const { view.usage_ = d.usage; }
};

ClusterView::ClusterView() { set_policy({}); }

void ClusterView::set_policy(const Policy& policy) {
  policy_ = policy;
  if (!policy_.order) policy_.order = *make_order("fifo_skip");
  queue_.set_order(policy_.order);
}

void ClusterView::apply(const Delta& delta) {
  GW_CHECK(delta.epoch == epoch_ + 1);
  epoch_ = delta.epoch;
  std::visit(Applier{*this}, delta.kind);
}

}  // namespace gw::sched
