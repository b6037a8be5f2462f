// Applies deltas to the scheduler's view.
#include "sched/view/view.h"

#include "base/check.h"

namespace gw::sched {

std::vector<std::string> Nomination::node_names() const {
  std::vector<std::string> out = allocation.node_names();
  for (const model::KeptPlace& part : components)
    for (std::string& name : part.allocation.node_names()) out.push_back(std::move(name));
  return out;
}

Quantities Nomination::amounts(const QuotaTree& tree, const Capacity& capacity) const {
  Quantities out = tree.count(allocation, capacity);
  for (const model::KeptPlace& part : components) add_to(out, tree.count(part.allocation, capacity));
  return out;
}

Quantities Nomination::amounts(const QuotaTree& tree, const Capacity& capacity, const PendingJob& whole) const {
  Quantities out = amounts(tree, capacity);
  add_to(out, tree.count_licenses(whole));
  return out;
}

struct ClusterView::Applier {
  ClusterView& view;

  void operator()(const NodeSet& d) const {
    uncount(d.facts.id);
    view.capacity_.set_node(d.facts);
    view.quota_.add_capacity(view.quota_.tree().count(d.facts));
  }
  void operator()(const NodeRemoved& d) const {
    uncount(d.id);
    view.capacity_.remove_node(d.id);
  }
  void uncount(NodeId id) const {
    if (const NodeAccount* before = view.capacity_.node(id))
      view.quota_.remove_capacity(view.quota_.tree().count(before->facts));
  }
  void operator()(const PartitionSet& d) const { view.capacity_.set_partition(d.facts); }
  void operator()(const PartitionRemoved& d) const { view.capacity_.remove_partition(d.name); }
  void operator()(const NetworkSet& d) const { view.capacity_.set_network(d.network); }
  void operator()(const PolicySet& d) const { view.set_policy(d.policy); }
  void operator()(const JobQueued& d) const {
    if (const PendingJob* before = view.queue_.find(d.job.id)) {
      view.quota_.remove_waiting(*before);
      if (class_key(*before) != class_key(d.job)) view.drop_nomination(d.job.id);  // it was for what it asked before
    } else {
      view.workload_.add(Workload::shape_of(d.job.request));
    }
    view.queue_.put(d.job);
    view.quota_.add_waiting(d.job);
  }
  void operator()(const JobUnqueued& d) const { view.unqueue(d.id); }
  void operator()(const QosSet& d) const { view.set_tree(d.tree); }
  void operator()(const NominationSet& d) const {
    // One that moves still runs where it was.
    if (view.queue_.find(d.nomination.job) != nullptr || view.running_.contains(d.nomination.job))
      view.nominations_[view.nomination_of_.try_emplace(d.nomination.job, view.epoch_).first->second] = d.nomination;
  }
  void operator()(const JobPlaced& d) const {
    view.unqueue(d.id);
    const auto placed =
        view.capacity_.allocate(d.id, d.partition, d.allocation, d.started, d.expected_end, /*forced=*/true);
    GW_CHECK(placed.has_value());
    if (d.job) view.add_running(d.id, d.job);
    if (d.job && d.job->request.own_gpu) view.set_own_gpu(d.id);
    view.hold(d.id, d.allocation);
    if (d.job) view.count_growth(d.job->gang ? d.job->gang : d.id);
  }
  void operator()(const JobPreempted& d) const {
    std::deque<Preempted>& all = view.preemptions_[d.qos];
    while (!all.empty() && all.front().when + base::hours(1) <= d.what.when) all.pop_front();
    all.push_back(d.what);
  }
  void operator()(const JobMoved& d) const {
    std::erase_if(view.moves_, [&](Time t) { return t + base::hours(1) <= d.when; });
    view.moves_.push_back(d.when);
  }
  void operator()(const RunningChanged& d) const {
    if (!view.capacity_.holdings().contains(d.id)) return;
    const QuotaLedger::Holder* before = view.quota_.holder(d.id);
    const bool is_leaving = before != nullptr && before->is_leaving;
    view.add_running(d.id, d.job);
    view.quota_.forget(d.id);
    view.hold(d.id, view.capacity_.allocation_of(d.id));
    if (is_leaving) view.quota_.set_leaving(d.id);
    if (d.job->most_tasks > 0) view.count_growth(d.id);
  }
  void operator()(const EndExpected& d) const {
    view.capacity_.set_expected_end(d.id, d.when);
    for (JobId extension : view.extensions_of(d.id)) {
      const QuotaLedger::Holder* holder = view.quota_.holder(extension);
      const bool leaves = holder != nullptr && holder->is_leaving;  // then it has an end of its own
      if (!d.is_leaving && !leaves) view.capacity_.set_expected_end(extension, d.when);
    }
    if (d.is_leaving) view.set_leaving(d.id);
  }
  void operator()(const GpuOwned& d) const {
    const auto running = view.running_.find(d.id);
    if (running == view.running_.end()) return;
    auto job = std::make_shared<PendingJob>(*running->second);
    job->request.own_gpu = true;
    running->second = std::move(job);
    view.set_own_gpu(d.id);
  }
  void operator()(const ShareReleased& d) const {
    if (const auto share = view.capacity_.share_of(d.id, d.node))
      view.quota_.release(d.id, view.quota_.tree().count(*share, view.capacity_));
    view.capacity_.release(d.id, d.node);
    if (view.capacity_.holdings().contains(d.id)) return;
    const auto job = view.running_.find(d.id);
    const JobId gang = job == view.running_.end() || !job->second->gang ? d.id : job->second->gang;
    view.gpu_owners_.erase(d.id);
    view.remove_running(d.id);
    view.quota_.forget(d.id);
    view.count_growth(gang);
  }
  void operator()(const ReservationSet& d) const { view.reservations_[d.reservation.name] = d.reservation; }
  void operator()(const ReservationRemoved& d) const { view.reservations_.erase(d.name); }
  void operator()(const UsageSet& d) const {
    view.usage_ = d.usage;
    view.qos_usage_ = d.qos;
    view.set_past();
  }
};

ClusterView::ClusterView() { set_policy({}); }

void ClusterView::set_policy(const Policy& policy) {
  const bool has_same_licenses = policy.licenses == policy_.licenses;
  policy_ = policy;
  orders_ = std::make_shared<const Orders>(policy_.order, policy_.pool_orders, policy_.order_weights, policy_.services,
                                           policy_.qos_orders);
  if (!policy_.order) policy_.order = *make_order("fifo_skip");
  quota_.set_share_policy(policy_.share.policy);
  queue_.set_orders(orders_, splits_by_user());
  set_past();
  if (!has_same_licenses) set_tree(std::vector<model::Qos>(quota_.tree().list()));
}

void ClusterView::unqueue(JobId id) {
  if (const PendingJob* job = queue_.find(id)) quota_.remove_waiting(*job);
  queue_.remove(id);
  drop_nomination(id);
}

void ClusterView::drop_nomination(JobId id) {
  const auto made = nomination_of_.extract(id);
  if (made) nominations_.erase(made.mapped());
}

void ClusterView::hold(JobId id, const model::Allocation& allocation) {
  const auto job = running_.find(id);
  const QuotaTree& tree = quota_.tree();
  if (job == running_.end()) return quota_.hold(id, {}, 0, false, tree.count(allocation, capacity_));
  const PendingJob& known = *job->second;
  Quantities amounts;
  if (known.suspended)
    amounts = tree.count_kept(allocation, capacity_);
  else if (known.gang)
    amounts = tree.count_extension(allocation, capacity_);
  else
    amounts = tree.count(allocation, capacity_);
  if (!known.suspended && !known.gang) add_to(amounts, tree.count(known.licenses));
  quota_.hold(id, known.qos, known.uid, known.preemptible, amounts);
}

const std::set<JobId>& ClusterView::extensions_of(JobId gang) const {
  static const std::set<JobId> kNone;
  const auto it = gangs_.find(gang);
  return it == gangs_.end() ? kNone : it->second;
}

uint32_t ClusterView::present_tasks(JobId gang) const {
  uint32_t tasks = running_.at(gang)->request.tasks;
  for (JobId extension : extensions_of(gang))
    if (const QuotaLedger::Holder* holder = quota_.holder(extension); holder != nullptr && !holder->is_leaving)
      tasks += running_.at(extension)->request.tasks;
  return tasks;
}

void ClusterView::set_leaving(JobId id) {
  quota_.set_leaving(id);
  const auto job = running_.find(id);
  if (job != running_.end()) count_growth(job->second->gang ? job->second->gang : id);
}

/// What a gang could still grow by is demand (rule 2).
void ClusterView::count_growth(JobId gang) {
  const auto job = running_.find(gang);
  const QuotaLedger::Holder* holder = quota_.holder(gang);
  if (job == running_.end() || job->second->most_tasks == 0 || holder == nullptr || holder->is_leaving)
    return quota_.set_growth(gang, {}, {});
  const uint32_t present = present_tasks(gang), most = job->second->most_tasks;
  quota_.set_growth(gang, job->second->qos,
                    quota_.tree().count_growth(job->second->request, most - std::min(most, present)));
}

void ClusterView::set_own_gpu(JobId id) {
  capacity_.set_own_gpu(id);
  gpu_owners_.insert(id);
}

void ClusterView::add_running(JobId id, std::shared_ptr<const PendingJob> job) {
  remove_running(id);
  if (job->preemptible) ++running_priorities_[job->priority];
  if (job->most_tasks > 0) gangs_.try_emplace(id);
  if (job->gang) gangs_[job->gang].insert(id);
  // What stays of a suspended job has its number from the same ones.
  if (id.value >= kFirstHoldingId) next_extension_ = std::max(next_extension_, JobId(id.value + 1));
  running_[id] = std::move(job);
}

void ClusterView::remove_running(JobId id) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  if (it->second->preemptible) {
    const auto count = running_priorities_.find(it->second->priority);
    if (--count->second == 0) running_priorities_.erase(count);
  }
  if (const JobId gang = it->second->gang) {
    std::set<JobId>& extensions = gangs_[gang];
    extensions.erase(id);
    if (extensions.empty() && !running_.contains(gang)) gangs_.erase(gang);
  } else if (const auto own = gangs_.find(id); own != gangs_.end() && own->second.empty()) {
    gangs_.erase(own);
  }
  running_.erase(it);
}

/// Everything is counted anew.
void ClusterView::set_tree(const std::vector<model::Qos>& list) {
  std::set<JobId> leaving;
  for (const auto& [id, holder] : quota_.holders())
    if (holder.is_leaving) leaving.insert(id);
  const bool did_split = splits_by_user();
  quota_.set_tree(QuotaTree(list, policy_.licenses));
  if (splits_by_user() != did_split) queue_.set_orders(orders_, splits_by_user());
  for (uint32_t id = 1; id < capacity_.versions().size(); ++id)
    if (const NodeAccount* account = capacity_.node(NodeId(id)))
      quota_.add_capacity(quota_.tree().count(account->facts));
  for (const auto& [key, job_class] : queue_.classes())
    for (const auto& [rank, job] : job_class.members) quota_.add_waiting(job);
  for (const auto& [id, holding] : capacity_.holdings()) hold(id, capacity_.allocation_of(id));
  for (JobId id : leaving) quota_.set_leaving(id);
  for (const auto& [gang, extensions] : gangs_) count_growth(gang);
  set_past();
  queue_.forget();
}

void ClusterView::apply(const Delta& delta) {
  GW_CHECK(delta.epoch == epoch_ + 1);
  epoch_ = delta.epoch;
  std::visit(Applier{*this}, delta.kind);
}

}  // namespace gw::sched
