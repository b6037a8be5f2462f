// See cluster.h.
#include "sim/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace gw::sim {
namespace {

using base::Result;
using config::ScenarioNode;
using model::NodeTopology;

base::Error at(const config::Place& place, base::Error error) {
  error.what = place.says(error.what);
  return error;
}

/// Extends a machine by `more` cores, dealt to its NUMA nodes in turn; they are near the GPUs that are there.
void add_cores(NodeTopology& t, uint32_t more) {
  const uint32_t threads = t.threads_per_core();
  uint32_t next_pu = 0;
  for (const model::Core& core : t.cores)
    for (uint32_t pu : core.pus) next_pu = std::max(next_pu, pu + 1);
  for (uint32_t i = 0; i < more; ++i) {
    const auto numa = static_cast<uint32_t>(i % t.numa_nodes.size());
    const auto index = static_cast<uint32_t>(t.cores.size());
    model::Core core{t.numa_nodes[numa].socket, numa, 0, {}};
    for (const model::Core& other : t.cores)
      if (other.numa == numa) core.l3 = other.l3;
    for (uint32_t thread = 0; thread < threads; ++thread) core.pus.push_back(next_pu++);
    t.cores.push_back(std::move(core));
    for (model::Gpu& gpu : t.gpus)
      if (gpu.numa == numa) gpu.near_cores.push_back(index);
  }
}

/// `count` of the machine's cores, evenly over its NUMA nodes.
base::IndexSet spread_cores(const NodeTopology& t, uint32_t count) {
  std::vector<std::vector<uint32_t>> by_numa(t.numa_nodes.size());
  for (uint32_t i = 0; i < t.cores.size(); ++i) by_numa[t.cores[i].numa].push_back(i);
  base::IndexSet chosen;
  for (size_t round = 0; chosen.size() < count; ++round)
    for (const auto& cores : by_numa)
      if (round < cores.size() && chosen.size() < count) chosen.insert(cores[round]);
  return chosen;
}

Result<NodeTopology> topology_of(const ScenarioNode& node, const LoadTopology& load) {
  const std::string type = node.gpu_type.empty() ? "gpu" : node.gpu_type;
  if (node.topology.empty())
    return model::flat_topology(node.cpus.value_or(kPlentyOfCpus), node.mem_mb.value_or(kPlentyOfMemoryMb),
                                node.gpus.value_or(0), type);
  auto loaded = load(node.topology);
  if (!loaded) return tl::unexpected(at(node.place, loaded.error()));
  NodeTopology t = std::move(*loaded);
  if (node.gpus.value_or(0) > t.gpus.size())
    return base::invalid(node.place.says(fmt::format("{} GPUs on node {}, but topology {} has {}", *node.gpus,
                                                     node.name, node.topology, t.gpus.size())),
                         "leave topology out for GPUs all alike");
  if (!node.gpu_type.empty())
    for (model::Gpu& gpu : t.gpus) gpu.type = node.gpu_type;
  const uint32_t cores = node.cpus.value_or(t.cpu_count()) / t.threads_per_core();
  if (cores > t.cores.size()) add_cores(t, cores - static_cast<uint32_t>(t.cores.size()));
  return t;
}

sched::NodeFacts facts_of(const ScenarioNode& node, std::shared_ptr<const NodeTopology> t) {
  sched::NodeFacts facts;
  facts.features = node.features;
  facts.weight = node.weight;
  facts.cores = spread_cores(*t, node.cpus.value_or(t->cpu_count()) / t->threads_per_core());
  facts.gpus = base::IndexSet::first(node.gpus.value_or(static_cast<uint32_t>(t->gpus.size())));
  facts.mem_mb = node.mem_mb.value_or(t->memory_mb);
  facts.usable = true;
  facts.topology = std::move(t);
  return facts;
}

/// Nodes of one line share a topology, so that the scheduler sees that they are of one make.
base::Status add_nodes(const config::ScenarioCluster& written, const LoadTopology& load, Cluster& cluster) {
  const ScenarioNode* before = nullptr;
  for (const ScenarioNode& node : written.nodes) {
    if (before == nullptr || before->place.line != node.place.line || before->place.column != node.place.column) {
      GW_TRY(topology, topology_of(node, load));
      cluster.nodes.push_back(facts_of(node, std::make_shared<const NodeTopology>(std::move(topology))));
    } else {
      cluster.nodes.push_back(cluster.nodes.back());
    }
    cluster.nodes.back().id = base::NodeId(static_cast<uint32_t>(cluster.nodes.size()));
    cluster.nodes.back().name = node.name;
    before = &node;
  }
  return {};
}

base::Status set_policy(const config::ScenarioPolicy& written, const Makers& makers, Cluster& cluster) {
  sched::Policy& policy = cluster.policy;
  if (written.share || !written.share_weights.empty()) {
    const std::string name = written.share.value_or("by_weight");
    auto share = makers.share(name, written.share_weights);
    if (!share) return tl::unexpected(at(written.share_place, share.error()));
    policy.share = {name, written.share_weights, {}, std::move(*share)};
  }
  if (written.rate_model) {
    auto model = makers.rate(*written.rate_model, {});
    if (!model) return tl::unexpected(at(written.rate_place, model.error()));
    cluster.rate_model = std::move(*model);
  }
  if (written.order || !written.order_weights.empty()) {
    auto order = makers.order(written.order.value_or("fifo_skip"), written.order_weights);
    if (!order) return tl::unexpected(at(written.order_place, order.error()));
    policy.order = std::move(*order);
    policy.order_weights = written.order_weights;
  }
  policy.quantum = written.quantum.value_or(policy.quantum);
  if (written.fit != model::Fit::kDefault) policy.fit = written.fit;
  policy.max_planned_starts = written.reservations.value_or(policy.max_planned_starts);
  policy.candidates = written.candidates.value_or(policy.candidates);
  policy.grace = written.grace.value_or(Duration{});
  policy.reclaim = written.reclaim.value_or(policy.reclaim);
  policy.preempts = written.preempt.value_or(policy.preempts);
  policy.reclaim_delay_max = written.reclaim_delay_max.value_or(policy.reclaim_delay_max);
  policy.preemptions_per_hour = written.preemptions_per_hour.value_or(policy.preemptions_per_hour);
  policy.patience = written.patience.value_or(policy.patience);
  policy.fairness_over_time = written.fairness_over_time.value_or(policy.fairness_over_time);
  return {};
}

base::Result<sched::ChosenOrder> chosen(const sched::MakeOrder& make_order, const std::string& name,
                                        const sched::Weights& weights) {
  GW_TRY(order, make_order(name, weights));
  return sched::ChosenOrder{name, weights, {}, std::move(order)};
}

/// What all nodes have together, for the guarantees of the uppermost QOS.
model::Amounts everything(const std::vector<sched::NodeFacts>& nodes, const std::vector<model::Qos>& tree) {
  const sched::QuotaTree counted(tree);
  sched::Quantities sum = counted.none();
  for (const sched::NodeFacts& node : nodes) sched::add_to(sum, counted.count(node));
  model::Amounts out;
  for (size_t r = 0; r < sum.size(); ++r) out[counted.resources()[r]] = sum[r];
  return out;
}

}  // namespace

uint32_t Users::id(const std::string& name) {
  constexpr uint32_t kFirst = 1000;
  return ids_.emplace(name, kFirst + static_cast<uint32_t>(ids_.size())).first->second;
}

Result<Cluster> build_cluster(const config::ScenarioCluster& written, const LoadTopology& load, Users& users,
                              const Makers& makers) {
  Cluster cluster;
  const sched::MakeOrder& make_order = makers.order;
  GW_TRY_STATUS(set_policy(written.policy, makers, cluster));
  GW_TRY(pools, sched::choose_pool_orders(
                    written.partitions, written.policy.order.value_or("fifo_skip"),
                    [&](const auto& name, const auto& weights) { return chosen(make_order, name, weights); }));
  cluster.policy.pool_orders = std::move(pools);
  for (const config::ScenarioQos& q : written.qos) {
    if (q.order.empty()) continue;
    auto own = sched::choose_qos_order(q.name, q.order, q.order_weights, [&](const auto& name, const auto& weights) {
      return chosen(make_order, name, weights);
    });
    if (!own) return tl::unexpected(at(q.place, own.error()));
    cluster.policy.qos_orders[q.name] = std::move(*own);
  }
  GW_TRY_STATUS(add_nodes(written, load, cluster));
  cluster.network = written.network;
  cluster.qos = {written.qos.begin(), written.qos.end()};
  std::vector<model::Qos> uppermost = cluster.qos;
  std::erase_if(uppermost, [](const model::Qos& q) { return !q.parent.empty(); });
  if (const auto fault = model::check_guarantees(uppermost, everything(cluster.nodes, cluster.qos)))
    cluster.warnings.push_back(fault->error.what);
  cluster.usage_half_life = written.policy.usage_half_life;
  using Filter = base::Result<sched::ChosenFilter>;
  GW_TRY(filters, sched::choose_filters(written.partitions, [&](const auto& name, const auto& weights) -> Filter {
           GW_TRY(policy, makers.filter(name, weights));
           return sched::ChosenFilter{name, weights, {}, std::move(policy)};
         }));
  for (const model::Partition& p : written.partitions) {
    cluster.partitions.push_back(sched::facts_of(p));
    if (const auto filter = filters.find(p.name); filter != filters.end())
      cluster.partitions.back().filter = filter->second;
    model::Consolidate& consolidate = cluster.partitions.back().consolidate;
    const bool is_said = p.consolidate != model::Consolidate::kDefault;
    if (!is_said && written.policy.consolidate.value_or(false)) consolidate = model::Consolidate::kOn;
  }
  for (const config::ScenarioReservation& r : written.reservations) {
    sched::AdvanceReservation reservation{r.name, r.nodes,       kStart + r.start, kStart + r.end,
                                          {},     r.maintenance, r.every};
    for (const std::string& user : r.users) reservation.users.insert(users.id(user));
    cluster.reservations.push_back(std::move(reservation));
  }
  return cluster;
}

}  // namespace gw::sim
