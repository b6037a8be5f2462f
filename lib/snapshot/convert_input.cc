// The input of a pass as a message, and back.
#include <cmath>

#include "model/named_counts.h"
#include "snapshot/convert.h"
#include "wire/convert.h"

namespace gw::snapshot {
namespace {

using base::Result;
using base::Status;

template <typename Repeated>
void set_strings(Repeated* to, const std::vector<std::string>& from) {
  to->Assign(from.begin(), from.end());
}
template <typename Repeated>
std::vector<std::string> strings(const Repeated& from) {
  return {from.begin(), from.end()};
}

tl::unexpected<base::Error> damaged(const char* what) {
  return base::invalid(std::string("the snapshot is damaged: ") + what);
}

Result<model::Fit> fit_from(uint32_t fit) {
  if (fit > static_cast<uint32_t>(model::Fit::kSpread)) return damaged("an unknown fit");
  return static_cast<model::Fit>(fit);
}

// ---- Policy

using WireWeights = google::protobuf::RepeatedPtrField<wire::SnapshotWeight>;

void set_weights(WireWeights* to, const sched::Weights& weights) {
  for (const auto& [name, value] : weights) {
    wire::SnapshotWeight* weight = to->Add();
    weight->set_name(name);
    weight->set_value(value);
  }
}

Result<sched::Weights> weights_from(const WireWeights& from) {
  sched::Weights out;
  for (const wire::SnapshotWeight& weight : from) {
    if (!std::isfinite(weight.value())) return damaged("a weight is no number");
    out[weight.name()] = weight.value();
  }
  return out;
}

using WireOrders = google::protobuf::RepeatedPtrField<wire::SnapshotPoolOrder>;

void set_orders(WireOrders* to, const sched::PoolOrders& from) {
  for (const auto& [name, chosen] : from) {
    wire::SnapshotPoolOrder* pool = to->Add();
    pool->set_name(name);
    pool->set_order(chosen.name);
    pool->set_order_version(chosen.version);
    set_weights(pool->mutable_order_weights(), chosen.weights);
  }
}

Result<sched::PoolOrders> orders_from(const WireOrders& from) {
  sched::PoolOrders out;
  for (const wire::SnapshotPoolOrder& pool : from) {
    GW_TRY(own, weights_from(pool.order_weights()));
    out[pool.name()] = {pool.order(), std::move(own), pool.order_version()};
  }
  return out;
}

wire::SnapshotPolicy policy_to_wire(const sched::Policy& policy, const std::string& order_name) {
  const auto& [order, weights, version, pools, own_of_qos, services, quantum, fit, reservations, grace, reclaim, share,
               preempts, moves, candidates, fairness_over_time, patience, reclaim_delay_max, preemptions, licenses] =
      policy;
  wire::SnapshotPolicy w;
  w.set_order(order ? std::string(order->name()) : order_name);
  w.set_order_version(version);
  set_weights(w.mutable_order_weights(), weights);
  set_orders(w.mutable_pool_orders(), pools);
  set_orders(w.mutable_qos_orders(), own_of_qos);
  w.mutable_services()->Add(services.begin(), services.end());
  w.set_share(share.name);
  w.set_share_version(share.version);
  set_weights(w.mutable_share_weights(), share.weights);
  w.set_quantum_us(quantum.us);
  w.set_fit(static_cast<uint32_t>(fit));
  w.set_reservations(reservations);
  w.set_grace_us(grace.us);
  w.set_candidates(candidates);
  w.set_reclaim(static_cast<uint32_t>(reclaim));
  w.set_preempts(preempts);
  w.set_fairness_over_time(fairness_over_time);
  w.set_moves_per_hour(moves);
  w.set_patience_us(patience.us);
  w.set_reclaim_delay_max_us(reclaim_delay_max.us);
  w.set_preemptions_per_hour(preemptions);
  w.set_licenses(model::format_licenses(licenses));
  return w;
}

Result<sched::Policy> policy_from(const wire::SnapshotPolicy& w) {
  sched::Policy policy;
  policy.order_version = w.order_version();
  GW_TRY(weights, weights_from(w.order_weights()));
  policy.order_weights = std::move(weights);
  GW_TRY(pools, orders_from(w.pool_orders()));
  policy.pool_orders = std::move(pools);
  GW_TRY(own_of_qos, orders_from(w.qos_orders()));
  policy.qos_orders = std::move(own_of_qos);
  GW_TRY(share_weights, weights_from(w.share_weights()));
  policy.share = {w.share(), std::move(share_weights), w.share_version()};
  for (const double service : w.services()) {
    const bool ascends = policy.services.empty() || service >= policy.services.back();
    if (!std::isfinite(service) || service < 0 || !ascends)
      return damaged("what jobs had in all is no list of services");
    policy.services.push_back(service);
  }
  GW_TRY(quantum, duration_from(w.quantum_us()));
  policy.quantum = quantum;
  GW_TRY(fit, fit_from(w.fit()));
  policy.fit = fit;
  policy.max_planned_starts = w.reservations();
  GW_TRY(grace, duration_from(w.grace_us()));
  policy.grace = grace;
  policy.candidates = w.candidates();
  if (w.reclaim() > static_cast<uint32_t>(model::Reclaim::kFairShare)) return damaged("an unknown way to reclaim");
  policy.reclaim = static_cast<model::Reclaim>(w.reclaim());
  policy.preempts = w.preempts();
  if (!(w.fairness_over_time() >= 0 && w.fairness_over_time() <= sched::kMaxFairnessOverTime))
    return damaged("the weight of past use is out of range");
  policy.fairness_over_time = w.fairness_over_time();
  policy.moves_per_hour = w.moves_per_hour();
  GW_TRY(patience, duration_from(w.patience_us()));
  policy.patience = patience;
  GW_TRY(delay, duration_from(w.reclaim_delay_max_us()));
  policy.reclaim_delay_max = delay;
  policy.preemptions_per_hour = w.preemptions_per_hour();
  GW_TRY(licenses, model::parse_licenses(w.licenses()));
  policy.licenses = std::move(licenses);
  return policy;
}

// ---- Nodes, partitions, network

/// Equal machines are written once. What the scheduler never looks at, and what differs from node to node (serial
/// numbers, device files), is left out.
class Topologies {
 public:
  explicit Topologies(wire::SnapshotInput* to) : to_(to) {}
  uint32_t add(const std::shared_ptr<const model::NodeTopology>& topology) {
    if (!topology) return 0;
    uint32_t& by_address = by_address_[topology.get()];
    if (by_address != 0) return by_address;
    wire::NodeTopology message = wire::to_wire(*topology);
    for (wire::Gpu& gpu : *message.mutable_gpus()) {
      gpu.clear_uuid();
      gpu.clear_devices();
    }
    uint32_t& known = by_bytes_[message.SerializeAsString()];
    if (known == 0) {
      *to_->add_topologies() = std::move(message);
      known = static_cast<uint32_t>(to_->topologies_size());
    }
    return by_address = known;
  }

 private:
  wire::SnapshotInput* to_;
  std::map<const model::NodeTopology*, uint32_t> by_address_;
  std::map<std::string, uint32_t> by_bytes_;
};

void set_node(wire::SnapshotNode* w, const sched::NodeFacts& node, Topologies& topologies) {
  const auto& [id, name, topology, features, weight, cores, gpus, mem_mb, version, usable, unusable_why, gres, tmp_mb] =
      node;
  w->set_id(id.value);
  w->set_name(name);
  w->set_topology(topologies.add(topology));
  set_strings(w->mutable_features(), features);
  w->set_weight(weight);
  w->set_cores(cores.text());
  w->set_gpus(gpus.text());
  w->set_mem_mb(mem_mb);
  w->set_version(version);
  w->set_usable(usable);
  w->set_unusable_why(unusable_why);
  wire::set_gres(w->mutable_gres(), gres);
  w->set_tmp_mb(tmp_mb);
}

using TopologyList = std::vector<std::shared_ptr<const model::NodeTopology>>;

Result<TopologyList> topologies_from(const wire::SnapshotInput& w) {
  TopologyList out;
  for (const wire::NodeTopology& message : w.topologies()) {
    GW_TRY(topology, wire::from_wire(message));
    out.push_back(std::make_shared<const model::NodeTopology>(std::move(topology)));
  }
  return out;
}

Result<sched::NodeFacts> node_from(const wire::SnapshotNode& w, const TopologyList& topologies) {
  if (w.topology() > topologies.size()) return damaged("a node's machine is missing");
  sched::NodeFacts node;
  node.id = base::NodeId(w.id());
  node.name = w.name();
  if (w.topology() > 0) node.topology = topologies[w.topology() - 1];
  node.features = strings(w.features());
  node.weight = w.weight();
  GW_TRY(cores, base::IndexSet::parse(w.cores()));
  GW_TRY(gpus, base::IndexSet::parse(w.gpus()));
  node.cores = std::move(cores);
  node.gpus = std::move(gpus);
  node.mem_mb = w.mem_mb();
  node.version = w.version();
  node.usable = w.usable();
  node.unusable_why = w.unusable_why();
  GW_TRY(gres, wire::gres_from(w.gres()));
  node.gres = std::move(gres);
  node.tmp_mb = w.tmp_mb();
  return node;
}

void set_partition(wire::SnapshotPartition* w, const sched::PartitionFacts& partition) {
  const auto& [name, nodes, is_up, tier, max_nodes, max_time, exclusive, mem_per_cpu, mem_per_gpu, cpus_per_gpu,
               cores_kept, shared, min_shared_rate, shares_suspended, fit, consolidate, grace, quantum, filter] =
      partition;
  w->set_name(name);
  set_strings(w->mutable_nodes(), nodes);
  w->set_is_up(is_up);
  w->set_tier(tier);
  w->set_max_nodes(max_nodes);
  w->set_max_time_us(max_time.us);
  w->set_exclusive(exclusive);
  w->set_default_mem_per_cpu_mb(mem_per_cpu);
  w->set_default_mem_per_gpu_mb(mem_per_gpu);
  w->set_default_cpus_per_gpu(cpus_per_gpu);
  w->set_cores_per_gpu_kept(cores_kept);
  w->set_allow_shared_gpus(shared);
  w->set_min_shared_rate(min_shared_rate);
  w->set_share_suspended_gpus(shares_suspended);
  w->set_fit(static_cast<uint32_t>(fit));
  w->set_consolidate(static_cast<uint32_t>(consolidate));
  if (grace) w->set_grace_us(grace->us);
  if (quantum) w->set_quantum_us(quantum->us);
  w->set_filter(filter.name);
  w->set_filter_version(filter.version);
  set_weights(w->mutable_filter_weights(), filter.weights);
}

Result<sched::PartitionFacts> partition_from(const wire::SnapshotPartition& w) {
  sched::PartitionFacts p;
  p.name = w.name();
  p.nodes = strings(w.nodes());
  p.is_up = w.is_up();
  p.tier = w.tier();
  p.max_nodes = w.max_nodes();
  GW_TRY(max_time, duration_from(w.max_time_us()));
  p.max_time = max_time;
  p.exclusive = w.exclusive();
  p.default_mem_per_cpu_mb = w.default_mem_per_cpu_mb();
  p.default_mem_per_gpu_mb = w.default_mem_per_gpu_mb();
  p.default_cpus_per_gpu = w.default_cpus_per_gpu();
  p.cores_per_gpu_kept = w.cores_per_gpu_kept();
  p.allow_shared_gpus = w.allow_shared_gpus();
  p.min_shared_rate = w.min_shared_rate();
  p.share_suspended_gpus = w.share_suspended_gpus();
  GW_TRY(fit, fit_from(w.fit()));
  p.fit = fit;
  if (w.consolidate() > static_cast<uint32_t>(model::Consolidate::kDryRun))
    return damaged("an unknown way to consolidate");
  p.consolidate = static_cast<model::Consolidate>(w.consolidate());
  if (w.has_grace_us()) {
    GW_TRY(grace, duration_from(w.grace_us()));
    p.grace = grace;
  }
  if (w.has_quantum_us()) {
    GW_TRY(quantum, duration_from(w.quantum_us()));
    p.quantum = quantum;
  }
  GW_TRY(filter_weights, weights_from(w.filter_weights()));
  p.filter = {w.filter(), std::move(filter_weights), w.filter_version()};
  return p;
}

void set_network(wire::SnapshotNetwork* w, const model::Network& network) {
  for (const model::Switch& from : network.switches) {
    const auto& [name, parent, level, first, last] = from;
    wire::SnapshotSwitch* to = w->add_switches();
    to->set_name(name);
    to->set_parent(parent);
    to->set_level(level);
    to->set_first(first);
    to->set_last(last);
  }
  set_strings(w->mutable_order(), network.order);
}

model::Network network_from(const wire::SnapshotNetwork& w) {
  model::Network out;
  for (const wire::SnapshotSwitch& s : w.switches())
    out.switches.push_back({s.name(), s.parent(), s.level(), s.first(), s.last()});
  out.order = strings(w.order());
  return out;
}

// ---- Jobs

void set_request(wire::SnapshotRequest* w, const model::Request& r) {
  *w->mutable_base() = wire::to_wire(r);
  w->set_mem_none(r.mem_none);
  w->set_mem_per_task_mb(r.mem_per_task_mb);
  w->set_least_version(r.least_version);
  w->set_own_gpu(r.own_gpu);
  for (const model::NodeShare& share : r.exactly) set_share(w->add_exactly(), share);
}

Result<model::Request> request_from(const wire::SnapshotRequest& w) {
  GW_TRY(r, wire::from_wire(w.base()));
  r.mem_none = w.mem_none();
  r.mem_per_task_mb = w.mem_per_task_mb();
  r.least_version = w.least_version();
  r.own_gpu = w.own_gpu();
  for (const wire::SnapshotShare& s : w.exactly()) {
    GW_TRY(share, share_from(s));
    r.exactly.push_back(std::move(share));
  }
  for (const model::LocalityStep& step : r.locality) GW_TRY_STATUS(duration_from(step.wait.us));
  GW_TRY_STATUS(duration_from(r.switches_wait.us));
  return std::move(r);
}

void set_job(wire::SnapshotJob* w, const sched::PendingJob& job) {
  const auto& [id, request, partitions, qos, uid, priority, nice, qos_priority, submitted, eligible, saved, time_limit,
               time_min, deadline, remaining, overruns, attained, counted_at, reservation, preemptible, may_move,
               components, whole, most_tasks, grows_by_node, scaling, gang, preemptions, suspends, between_turns,
               saves_work, suspended, licenses] = job;
  w->set_id(id.value);
  set_request(w->mutable_request(), request);
  set_strings(w->mutable_partitions(), partitions);
  w->set_qos(qos);
  w->set_uid(uid);
  w->set_priority(priority);
  w->set_nice(nice);
  w->set_qos_priority(qos_priority);
  w->set_submitted_us(submitted.us);
  w->set_eligible_us(eligible.us);
  w->set_saved_us(saved.us);
  w->set_time_limit_us(time_limit.us);
  w->set_time_min_us(time_min.us);
  w->set_deadline_us(deadline.us);
  w->set_remaining_us(remaining.us);
  w->set_overruns_us(overruns.us);
  w->set_attained_us(attained.us);
  w->set_counted_at_us(counted_at.us);
  w->set_reservation(reservation);
  w->set_preemptible(preemptible);
  w->set_may_move(may_move);
  w->set_whole(whole.value);
  w->set_most_tasks(most_tasks);
  w->set_grows_by_node(grows_by_node);
  w->set_scaling(scaling);
  w->set_gang(gang.value);
  w->set_preemptions(preemptions);
  w->set_suspends(static_cast<uint32_t>(suspends));
  w->set_between_turns(static_cast<uint32_t>(between_turns));
  w->set_saves_work(saves_work);
  w->set_suspended(suspended.value);
  w->set_licenses(model::format_licenses(licenses));
  for (const sched::Component& from : components) {
    const auto& [part_id, part_request, part_partitions, part_licenses] = from;
    wire::SnapshotComponent* to = w->add_components();
    to->set_id(part_id.value);
    set_request(to->mutable_request(), part_request);
    set_strings(to->mutable_partitions(), part_partitions);
    to->set_licenses(model::format_licenses(part_licenses));
  }
}

Status read_times(const wire::SnapshotJob& w, sched::PendingJob& job) {
  GW_TRY(submitted, time_from(w.submitted_us()));
  GW_TRY(eligible, time_from(w.eligible_us()));
  GW_TRY(saved, time_from(w.saved_us()));
  GW_TRY(deadline, time_from(w.deadline_us()));
  GW_TRY(time_limit, duration_from(w.time_limit_us()));
  GW_TRY(time_min, duration_from(w.time_min_us()));
  GW_TRY(remaining, duration_from(w.remaining_us()));
  job.submitted = submitted;
  job.eligible = eligible;
  job.saved = saved;
  job.deadline = deadline;
  job.time_limit = time_limit;
  job.time_min = time_min;
  job.remaining = remaining;
  GW_TRY(overruns, time_from(w.overruns_us()));
  job.overruns = overruns;
  GW_TRY(counted_at, time_from(w.counted_at_us()));
  job.counted_at = counted_at;
  if (w.attained_us() < 0) return damaged("a job has attained less than no service");
  job.attained = base::microseconds(w.attained_us());  // GPUs multiply it: it may be longer than any time
  return {};
}

Result<sched::PendingJob> job_from(const wire::SnapshotJob& w) {
  constexpr int64_t kFar = int64_t{1} << 52;  // so that sums stay exact as doubles
  for (const int64_t n : {w.priority(), w.nice(), w.qos_priority()})
    if (n > kFar || n < -kFar) return damaged("a priority is out of range");
  sched::PendingJob job;
  job.id = base::JobId(w.id());
  GW_TRY(request, request_from(w.request()));
  job.request = std::move(request);
  job.partitions = strings(w.partitions());
  job.qos = w.qos();
  job.uid = w.uid();
  job.priority = w.priority();
  job.nice = w.nice();
  job.qos_priority = w.qos_priority();
  GW_TRY_STATUS(read_times(w, job));
  job.reservation = w.reservation();
  job.preemptible = w.preemptible();
  job.may_move = w.may_move();
  job.whole = base::JobId(w.whole());
  job.most_tasks = w.most_tasks();
  job.grows_by_node = w.grows_by_node();
  if (w.scaling() > 100) return damaged("a gang scales by more than its size");
  if (w.has_scaling()) job.scaling = w.scaling();
  job.gang = base::JobId(w.gang());
  job.preemptions = w.preemptions();
  if (std::max(w.suspends(), w.between_turns()) > static_cast<uint32_t>(sched::Suspends::kAfterGrace))
    return damaged("an unknown way to suspend");
  job.suspends = static_cast<sched::Suspends>(w.suspends());
  job.between_turns = static_cast<sched::Suspends>(w.between_turns());
  job.saves_work = w.saves_work();
  job.suspended = base::JobId(w.suspended());
  GW_TRY(licenses, model::parse_licenses(w.licenses()));
  job.licenses = std::move(licenses);
  for (const wire::SnapshotComponent& c : w.components()) {
    GW_TRY(part, request_from(c.request()));
    GW_TRY(taken, model::parse_licenses(c.licenses()));
    job.components.push_back({base::JobId(c.id()), std::move(part), strings(c.partitions()), std::move(taken)});
  }
  return job;
}

void set_running(wire::SnapshotRunning* w, const sched::RunningJob& running) {
  const auto& [id, partition, allocation, started, expected_end, job, is_leaving] = running;
  w->set_id(id.value);
  w->set_partition(partition);
  for (const model::NodeShare& share : allocation.shares) set_share(w->add_shares(), share);
  w->set_started_us(started.us);
  w->set_expected_end_us(expected_end.us);
  w->set_is_leaving(is_leaving);
  if (job) set_job(w->mutable_job(), *job);
}

Result<sched::RunningJob> running_from(const wire::SnapshotRunning& w) {
  sched::RunningJob out;
  out.id = base::JobId(w.id());
  out.partition = w.partition();
  for (const wire::SnapshotShare& s : w.shares()) {
    GW_TRY(share, share_from(s));
    out.allocation.shares.push_back(std::move(share));
  }
  GW_TRY(started, time_from(w.started_us()));
  GW_TRY(expected_end, time_from(w.expected_end_us()));
  out.started = started;
  out.expected_end = expected_end;
  out.is_leaving = w.is_leaving();
  if (!w.has_job()) return out;
  GW_TRY(job, job_from(w.job()));
  out.job = std::make_shared<const sched::PendingJob>(std::move(job));
  return out;
}

// ---- The rest

void set_reservation(wire::SnapshotReservation* w, const sched::AdvanceReservation& r) {
  const auto& [name, nodes, start, end, users, maintenance, every] = r;
  w->set_name(name);
  set_strings(w->mutable_nodes(), nodes);
  w->set_start_us(start.us);
  w->set_end_us(end.us);
  w->mutable_users()->Assign(users.begin(), users.end());
  w->set_maintenance(maintenance);
  w->set_every_us(every.us);
}

Result<sched::AdvanceReservation> reservation_from(const wire::SnapshotReservation& w) {
  GW_TRY(start, time_from(w.start_us()));
  GW_TRY(end, time_from(w.end_us()));
  GW_TRY(every, duration_from(w.every_us()));
  if (end < start || (every.us > 0 && (end == base::Time::never() || every < end - start)))
    return damaged("an advance reservation ends before it begins, or overlaps itself");
  sched::AdvanceReservation r;
  r.name = w.name();
  r.nodes = strings(w.nodes());
  r.start = start;
  r.end = end;
  r.users = {w.users().begin(), w.users().end()};
  r.maintenance = w.maintenance();
  r.every = every;
  return r;
}

void set_shape(wire::SnapshotShape* w, const sched::Workload::Entry& entry) {
  const auto& [gpus, gpu_milli, cpus, mem_mb, gpu_type] = entry.shape;
  w->set_gpus(gpus);
  w->set_gpu_milli(gpu_milli);
  w->set_cpus(cpus);
  w->set_mem_mb(mem_mb);
  w->set_gpu_type(gpu_type);
  w->set_count(entry.count);
}

Result<model::Qos> qos_from(const wire::Qos& w) {
  constexpr uint32_t kMostWeight = 1'000'000;
  if (w.weight() > kMostWeight) return damaged("the weight of a QOS is out of range");
  GW_TRY_STATUS(duration_from(w.min_runtime_us()));
  GW_TRY_STATUS(duration_from(w.grace_us()));
  return wire::from_wire(w);
}

template <typename List, typename Read, typename Out>
Status read_list(const List& from, const Read& read, Out& out) {
  out.reserve(static_cast<size_t>(from.size()));
  for (const auto& message : from) {
    GW_TRY(value, read(message));
    out.push_back(std::move(value));
  }
  return {};
}

Status read_usage(const wire::SnapshotInput& w, sched::PassInput& out) {
  const auto is_amount = [](double used) { return used >= 0 && used <= 1e18; };
  for (const wire::SnapshotUsage& u : w.usage()) {
    if (!is_amount(u.used())) return damaged("a user's use is no amount");
    out.usage[u.uid()] = u.used();
  }
  for (const wire::SnapshotQosUsage& u : w.qos_usage()) {
    if (!is_amount(u.used())) return damaged("the use of a QOS is no amount");
    out.qos_usage[u.qos()] = u.used();
  }
  return {};
}

}  // namespace

namespace {

void set_preemptions(wire::SnapshotPreemptions* to, const std::string& qos, const std::deque<sched::Preempted>& all) {
  to->set_qos(qos);
  for (const sched::Preempted& what : all) {
    to->add_times_us(what.when.us);
    to->add_gpu_milli(what.gpu_milli);
  }
}

base::Status read_preemptions(const wire::SnapshotInput& w, sched::PassInput& out) {
  for (const wire::SnapshotPreemptions& of_qos : w.preemptions()) {
    if (of_qos.times_us_size() != of_qos.gpu_milli_size()) return damaged("a preemption took nothing");
    for (int i = 0; i < of_qos.times_us_size(); ++i) {
      GW_TRY(at, time_from(of_qos.times_us(i)));
      out.preemptions[of_qos.qos()].push_back({at, of_qos.gpu_milli(i)});
    }
  }
  return {};
}

}  // namespace

wire::SnapshotInput to_wire(const sched::PassInput& input) {
  const auto& [now, budget, epoch, nodes, partitions, network, policy, order, queue, running, reservations, usage,
               qos_usage, workload, qos, nominations, moves, preemptions, has_run_out, put_off, passed, limited,
               next_change] = input;
  wire::SnapshotInput w;
  w.set_now_us(now.us);
  w.set_placements(budget.placements);
  w.set_starts(budget.starts);
  w.set_per_user(budget.per_user);
  w.set_epoch(epoch);
  *w.mutable_policy() = policy_to_wire(policy, order);
  Topologies topologies(&w);
  for (const sched::NodeFacts& node : nodes) set_node(w.add_nodes(), node, topologies);
  for (const sched::PartitionFacts& partition : partitions) set_partition(w.add_partitions(), partition);
  set_network(w.mutable_network(), network);
  for (const sched::PendingJob& job : queue) set_job(w.add_queue(), job);
  for (const sched::RunningJob& job : running) set_running(w.add_running(), job);
  for (const sched::AdvanceReservation& r : reservations) set_reservation(w.add_reservations(), r);
  for (const auto& [uid, used] : usage) {
    wire::SnapshotUsage* to = w.add_usage();
    to->set_uid(uid);
    to->set_used(used);
  }
  for (const auto& [name, used] : qos_usage) {
    wire::SnapshotQosUsage* to = w.add_qos_usage();
    to->set_qos(name);
    to->set_used(used);
  }
  for (const sched::Workload::Entry& entry : workload) set_shape(w.add_workload(), entry);
  for (const model::Qos& q : qos) *w.add_qos() = wire::to_wire(q);
  for (const sched::Nomination& nomination : nominations) set_nomination(w.add_nominations(), nomination);
  for (const base::Time at : moves) w.add_moves_us(at.us);
  for (const auto& [name, all] : preemptions) set_preemptions(w.add_preemptions(), name, all);
  w.set_has_run_out(has_run_out);
  for (const uint32_t uid : put_off) w.add_put_off(uid);
  for (const base::JobId id : passed) w.add_passed(id.value);
  for (const base::JobId id : limited) w.add_limited(id.value);
  w.set_next_change_us(next_change.us);
  return w;
}

Result<sched::PassInput> from_wire(const wire::SnapshotInput& w) {
  sched::PassInput out;
  GW_TRY(now, time_from(w.now_us()));
  if (now == base::Time::never()) return damaged("it was taken at no time");
  out.now = now;
  out.budget = {w.placements(), w.starts(), w.per_user()};
  out.epoch = w.epoch();
  GW_TRY(policy, policy_from(w.policy()));
  out.policy = std::move(policy);
  out.order = w.policy().order();
  GW_TRY(topologies, topologies_from(w));
  GW_TRY_STATUS(read_list(
      w.nodes(), [&](const wire::SnapshotNode& n) { return node_from(n, topologies); }, out.nodes));
  GW_TRY_STATUS(read_list(w.partitions(), partition_from, out.partitions));
  out.network = network_from(w.network());
  GW_TRY_STATUS(read_list(w.queue(), job_from, out.queue));
  GW_TRY_STATUS(read_list(w.running(), running_from, out.running));
  GW_TRY_STATUS(read_list(w.reservations(), reservation_from, out.reservations));
  GW_TRY_STATUS(read_usage(w, out));
  for (const wire::SnapshotShape& s : w.workload())
    out.workload.push_back({{s.gpus(), s.gpu_milli(), s.cpus(), s.mem_mb(), s.gpu_type()}, s.count()});
  GW_TRY_STATUS(read_list(w.qos(), qos_from, out.qos));
  GW_TRY_STATUS(read_list(w.nominations(), nomination_from, out.nominations));
  for (const int64_t us : w.moves_us()) {
    GW_TRY(at, time_from(us));
    out.moves.push_back(at);
  }
  GW_TRY_STATUS(read_preemptions(w, out));
  out.has_run_out = w.has_run_out();
  out.put_off = {w.put_off().begin(), w.put_off().end()};
  for (const uint32_t id : w.passed()) out.passed.emplace_back(id);
  for (const uint32_t id : w.limited()) out.limited.emplace_back(id);
  GW_TRY(next_change, time_from(w.next_change_us()));
  out.next_change = next_change;
  return out;
}

}  // namespace gw::snapshot
