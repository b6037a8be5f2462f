// Input of a plan taken from a view, and a view made from it. See snapshot.h.
#include "sched/cycle/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace gw::sched {
namespace {

/// Node ids are positions in tables: a larger one than this would take memory for nothing.
constexpr uint32_t kMaxNodeId = 1'000'000;

void take_nodes(const Capacity& capacity, PassInput& out) {
  std::vector<const NodeAccount*> accounts;
  for (uint32_t id = 1; id < capacity.versions().size(); ++id)
    if (const NodeAccount* account = capacity.node(NodeId(id))) accounts.push_back(account);
  std::stable_sort(accounts.begin(), accounts.end(),
                   [](const NodeAccount* a, const NodeAccount* b) { return a->node_class->id < b->node_class->id; });
  for (const NodeAccount* account : accounts) out.nodes.push_back(account->facts);
}

void take_running(const ClusterView& view, PassInput& out) {
  for (const auto& [id, holding] : view.capacity().holdings()) {
    const auto job = view.running().find(id);
    const QuotaLedger::Holder* holder = view.quota().holder(id);
    out.running.push_back({id, holding.partition, view.capacity().allocation_of(id), holding.started,
                           holding.expected_end, job == view.running().end() ? nullptr : job->second,
                           holder != nullptr && holder->is_leaving});
  }
  std::sort(out.running.begin(), out.running.end(), [](const RunningJob& a, const RunningJob& b) {
    return std::tie(a.started, a.id) < std::tie(b.started, b.id);
  });
}

void take_queue(const Queue& queue, PassInput& out) {
  out.queue.reserve(queue.size());
  for (const auto& [key, job_class] : queue.classes())
    for (const auto& [rank, job] : job_class.members) out.queue.push_back(job);
  std::sort(out.queue.begin(), out.queue.end(), [](const PendingJob& a, const PendingJob& b) { return a.id < b.id; });
}

/// Of each class as many as of the others, best first; those for whom others leave, and those that are suspended.
void take_some(const ClusterView& view, size_t most, PassInput& out) {
  struct Place {
    const Rank* rank = nullptr;
    const PendingJob* job = nullptr;
  };
  const auto& classes = view.queue().classes();
  const size_t of_each = std::max<size_t>(most / std::max<size_t>(classes.size(), 1), 1);
  std::vector<Place> places;
  for (const auto& [key, job_class] : classes) {
    size_t of_class = 0;
    for (auto at = job_class.members.begin(); at != job_class.members.end() && of_class < of_each; ++at, ++of_class)
      places.push_back({&at->first, &at->second});
  }
  const auto last = places.begin() + static_cast<std::ptrdiff_t>(std::min(most, places.size()));
  std::nth_element(places.begin(), last, places.end(),
                   [](const Place& a, const Place& b) { return *a.rank < *b.rank; });
  std::set<JobId> taken;
  const auto take = [&](const PendingJob* job) {
    if (job != nullptr && taken.insert(job->id).second) out.queue.push_back(*job);
  };
  for (auto at = places.begin(); at != last; ++at) take(at->job);
  for (const auto& [made, nomination] : view.nominations()) take(view.queue().find(nomination.job));
  for (const auto& [id, job] : view.running())
    if (job->suspended) take(view.queue().find(job->suspended));
  std::sort(out.queue.begin(), out.queue.end(), [](const PendingJob& a, const PendingJob& b) { return a.id < b.id; });
}

void take_cursor(const ClusterView& view, PassInput& out) {
  out.has_run_out = view.cursor().has_run_out();
  out.put_off = view.cursor().users();
  out.next_change = view.cursor().next_change();
  for (const auto& [key, job_class] : view.queue().classes()) {
    if (!view.cursor().is_passed(job_class)) continue;
    out.passed.push_back(job_class.shape().id);
    if (job_class.was_limited) out.limited.push_back(job_class.shape().id);
  }
  std::sort(out.passed.begin(), out.passed.end());
  std::sort(out.limited.begin(), out.limited.end());
}

/// Once the queue is as it was at that time.
void restore_cursor(const PassInput& input, ClusterView& view) {
  view.queue().advance_to(input.now);
  view.cursor().restore(input.has_run_out, input.put_off, input.next_change, view.epoch());
  for (const JobId id : input.passed)
    if (JobClass* job_class = view.queue().class_of(id)) view.cursor().pass_by(*job_class, false);
  for (const JobId id : input.limited)
    if (JobClass* job_class = view.queue().class_of(id)) view.cursor().pass_by(*job_class, true);
}

base::Status check_node(const NodeFacts& node) {
  if (!node.id || node.id.value > kMaxNodeId) return base::invalid("a node has the number " + node.id.text());
  if (node.name.empty()) return base::invalid("a node has no name");
  const auto cores = node.topology ? static_cast<uint32_t>(node.topology->cores.size()) : 0;
  const auto gpus = node.topology ? static_cast<uint32_t>(node.topology->gpus.size()) : 0;
  if (!node.cores.is_subset_of(base::IndexSet::first(cores)) || !node.gpus.is_subset_of(base::IndexSet::first(gpus)))
    return base::invalid("a node offers more cores or GPUs than its machine has");
  return {};
}

base::Status check_nodes(const PassInput& input) {
  std::set<NodeId> ids;
  std::set<std::string> names;
  for (const NodeFacts& node : input.nodes) {
    GW_TRY_STATUS(check_node(node));
    if (!ids.insert(node.id).second || !names.insert(node.name).second) return base::invalid("a node is there twice");
  }
  std::set<std::string> partitions;
  for (const PartitionFacts& p : input.partitions) {
    if (p.name.empty() || !partitions.insert(p.name).second) return base::invalid("a partition is there twice");
    if (std::set<std::string>(p.nodes.begin(), p.nodes.end()).size() != p.nodes.size())
      return base::invalid("a partition has a node twice");
  }
  return {};
}

/// Ranges and parents as build_network() makes them: nothing points outside, no loop.
base::Status check_network(const model::Network& network) {
  if (std::set<std::string>(network.order.begin(), network.order.end()).size() != network.order.size())
    return base::invalid("a node is under two leaf switches");
  for (size_t i = 0; i < network.switches.size(); ++i) {
    const model::Switch& s = network.switches[i];
    const bool has_parent = s.parent != UINT32_MAX;
    if (s.first > s.last || s.last > network.order.size() ||
        (has_parent && (s.parent <= i || s.parent >= network.switches.size())))
      return base::invalid("the network is no tree of switches");
  }
  return {};
}

base::Status check_request(const model::Request& r) {
  constexpr uint32_t kMany = 1'000'000;
  if (r.min_nodes == 0 || r.tasks == 0 || r.max_nodes < r.min_nodes || r.max_nodes > kMany || r.tasks > kMany ||
      r.tasks_per_node > kMany || r.cpus_per_task > kMany || r.gpus > kMany || r.cpus_per_gpu > kMany ||
      r.min_cpus > kMany)
    return base::invalid("a job asks for what no job can ask for");
  if (r.gpu_milli == 0 || r.gpu_milli > model::kWholeGpu) return base::invalid("a job asks for no part of a GPU");
  return {};
}

base::Status check_job(const PendingJob& job) {
  if (!job.id) return base::invalid("a job has no number");
  GW_TRY_STATUS(check_request(job.request));
  for (const Component& c : job.components) {
    if (!c.id) return base::invalid("a component has no number");
    GW_TRY_STATUS(check_request(c.request));
  }
  return {};
}

base::Status check_jobs(const PassInput& input) {
  std::set<JobId> ids;
  for (const PendingJob& job : input.queue) {
    GW_TRY_STATUS(check_job(job));
    bool is_new = ids.insert(job.id).second;
    for (const Component& c : job.components) is_new &= ids.insert(c.id).second;
    if (!is_new) return base::invalid("a job is there twice");
  }
  for (const RunningJob& r : input.running) {
    if (!r.id || !ids.insert(r.id).second) return base::invalid("a job is there twice");
    if (r.job) GW_TRY_STATUS(check_job(*r.job));
  }
  for (const Workload::Entry& e : input.workload)
    if (e.shape.gpu_milli == 0 || e.shape.gpu_milli > model::kWholeGpu || e.count > Workload::kWindow)
      return base::invalid("the count of recent jobs is damaged");
  if (input.workload.size() > Workload::kShapes) return base::invalid("the count of recent jobs is damaged");
  return {};
}

base::Status check_quotas(const PassInput& input) {
  if (const auto fault = model::check_qos_tree(input.qos)) return tl::unexpected(fault->error);
  constexpr uint64_t kMany = uint64_t{1} << 50;
  for (const model::Qos& q : input.qos)
    for (const model::Amounts* amounts : {&q.guaranteed, &q.limit})
      for (const auto& [resource, amount] : *amounts)
        if (amount > kMany || !model::parse_resource(resource))
          return base::invalid(fmt::format("QOS {} has an amount that no QOS can have", q.name));
  for (const Nomination& nomination : input.nominations)
    if (!nomination.job) return base::invalid("a nomination is for no job");
  return {};
}

base::Status check_shares(const ClusterView& view, const RunningJob& running) {
  std::set<NodeId> seen;
  for (const model::NodeShare& share : running.allocation.shares) {
    if (view.capacity().node(share.node) == nullptr || !seen.insert(share.node).second)
      return base::invalid(fmt::format("job {} holds a share of a node that is not there, or twice", running.id.value));
    if (share.gpu_milli == 0 || share.gpu_milli > model::kWholeGpu)
      return base::invalid(fmt::format("job {} holds no part of a GPU", running.id.value));
  }
  return {};
}

}  // namespace

PassInput take_input(const ClusterView& view, Time now, const Budget& budget, size_t most_waiting) {
  PassInput out;
  out.now = now;
  out.budget = budget;
  out.epoch = view.epoch();
  take_nodes(view.capacity(), out);
  for (const auto& [name, partition] : view.capacity().partitions()) out.partitions.push_back(partition);
  out.network = view.capacity().network();
  out.policy = view.policy();
  out.order = view.orders().cluster().name();
  const bool is_whole = view.queue().size() <= most_waiting;
  is_whole ? take_queue(view.queue(), out) : take_some(view, most_waiting, out);
  take_running(view, out);
  for (const auto& [name, reservation] : view.reservations()) out.reservations.push_back(reservation);
  out.usage = view.usage();
  out.qos_usage = view.qos_usage();
  out.workload = view.workload().entries();
  out.qos = view.quota().tree().list();
  for (const auto& [made, nomination] : view.nominations()) out.nominations.push_back(nomination);
  out.moves = view.moves();
  out.preemptions = view.preemptions();
  if (is_whole) take_cursor(view, out);
  return out;
}

base::Result<std::unique_ptr<ClusterView>> restore_view(const PassInput& input) {
  GW_TRY_STATUS(check_nodes(input));
  GW_TRY_STATUS(check_network(input.network));
  GW_TRY_STATUS(check_jobs(input));
  GW_TRY_STATUS(check_quotas(input));
  auto view = std::make_unique<ClusterView>();
  const auto apply = [&](DeltaKind kind) { view->apply(Delta{view->epoch() + 1, std::move(kind)}); };
  apply(PolicySet{input.policy});
  for (const NodeFacts& node : input.nodes) apply(NodeSet{node});
  for (const PartitionFacts& partition : input.partitions) apply(PartitionSet{partition});
  apply(NetworkSet{input.network});
  apply(QosSet{input.qos});
  for (const AdvanceReservation& r : input.reservations) apply(ReservationSet{r});
  for (const RunningJob& r : input.running) {
    GW_TRY_STATUS(check_shares(*view, r));
    apply(JobPlaced{r.id, r.partition, r.allocation, r.started, r.expected_end, r.job});
    if (r.is_leaving) apply(EndExpected{r.id, r.expected_end, true});
  }
  GW_TRY_STATUS(view->capacity().audit());
  for (const PendingJob& job : input.queue) apply(JobQueued{job});
  for (const Nomination& nomination : input.nominations) apply(NominationSet{nomination});
  for (const Time at : input.moves) apply(JobMoved{{}, at});
  for (const auto& [qos, all] : input.preemptions)
    for (const Preempted& what : all) apply(JobPreempted{qos, what});
  apply(UsageSet{input.usage, input.qos_usage});
  view->workload() = Workload::exact(input.workload);
  restore_cursor(input, *view);
  return view;
}

}  // namespace gw::sched
