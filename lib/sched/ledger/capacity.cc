// The ledger of node resources; see the header for its invariants.
#include "sched/ledger/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "model/find_on.h"
#include "sched/ledger/node_index.h"
#include "sched/units/unit_table.h"

namespace gw::sched {

PartitionFacts facts_of(const model::Partition& p) {
  PartitionFacts facts;
  facts.name = p.name;
  facts.nodes = p.nodes;
  facts.is_up = p.state == model::PartitionState::kUp || p.state == model::PartitionState::kDrain;
  facts.tier = p.tier;
  facts.max_nodes = p.max_nodes;
  facts.max_time = p.max_time;
  facts.exclusive = p.exclusive;
  facts.default_mem_per_cpu_mb = p.default_mem_per_cpu_mb;
  facts.default_mem_per_gpu_mb = p.default_mem_per_gpu_mb;
  facts.default_cpus_per_gpu = p.default_cpus_per_gpu;
  facts.cores_per_gpu_kept = p.cores_per_gpu_kept;
  facts.allow_shared_gpus = p.allow_shared_gpus;
  facts.min_shared_rate = p.min_shared_rate;
  facts.share_suspended_gpus = p.share_suspended_gpus;
  facts.fit = p.fit;
  facts.consolidate = p.consolidate;
  facts.grace = p.grace;
  facts.quantum = p.quantum;
  return facts;
}

Capacity::Capacity() = default;
Capacity::~Capacity() = default;
Capacity::Capacity(Capacity&&) noexcept = default;
Capacity& Capacity::operator=(Capacity&&) noexcept = default;

Capacity Capacity::copy() const {
  Capacity out;
  for (const auto& account : nodes_) out.nodes_.push_back(account ? std::make_unique<NodeAccount>(*account) : nullptr);
  out.ids_ = ids_;
  out.partitions_ = partitions_;
  out.classes_ = classes_;
  out.holdings_ = holdings_;
  out.network_ = network_;
  out.size_ = size_;
  out.jobs_with_end_ = jobs_with_end_;
  out.versions_ = versions_;
  out.version_ = version_;
  out.gains_ = gains_;
  out.next_class_ = next_class_;
  out.indexes_of_.resize(nodes_.size());
  for (const auto& [name, partition] : partitions_) out.rebuild_members(name);
  return out;
}

namespace {

/// The very topology, and as much of it on offer.
bool offers_the_same(const NodeFacts& a, const NodeFacts& b) {
  return a.topology == b.topology && a.cores == b.cores && a.gpus == b.gpus && a.mem_mb == b.mem_mb &&
         a.features == b.features && a.version == b.version && a.tmp_mb == b.tmp_mb;
}

}  // namespace

std::shared_ptr<const NodeClass> Capacity::class_of(const NodeFacts& facts) {
  std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}", facts.topology ? model::make_hash(*facts.topology) : 0,
                                facts.cores.text(), facts.gpus.text(), facts.mem_mb, facts.version,
                                model::format_gres(facts.gres), facts.tmp_mb, facts.features.size());
  for (const std::string& f : facts.features) key += "|" + f;
  std::shared_ptr<const NodeClass>& known = classes_[key];
  if (known) return known;
  NodeClass node_class;
  node_class.id = ++next_class_;
  node_class.cores = facts.cores.size();
  node_class.gpus = facts.gpus.size();
  if (facts.topology) {
    node_class.units = std::make_shared<UnitTable>(facts.topology);
    node_class.threads = facts.topology->threads_per_core();
    node_class.all_gpus = static_cast<uint32_t>(facts.topology->gpus.size());
    for (uint32_t g = 0; g < node_class.all_gpus; ++g) node_class.gpus_by_type[facts.topology->gpus[g].type].insert(g);
  }
  known = std::make_shared<const NodeClass>(std::move(node_class));
  return known;
}

void Capacity::set_node(const NodeFacts& facts) {
  GW_CHECK(facts.id);
  if (facts.id.value >= nodes_.size()) {
    nodes_.resize(facts.id.value + 1);
    indexes_of_.resize(facts.id.value + 1);
    versions_.resize(facts.id.value + 1);
  }
  std::unique_ptr<NodeAccount>& account = nodes_[facts.id.value];
  const bool is_new = !account || account->facts.name != facts.name;
  if (!account) account = std::make_unique<NodeAccount>();
  if (account->node_class) count_size(*account, -1);
  if (!account->node_class || !offers_the_same(account->facts, facts)) account->node_class = class_of(facts);
  account->facts = facts;
  count_size(*account, 1);
  gains_.add(facts.id);
  ids_[facts.name] = facts.id;
  recount(*account);
  if (!is_new) return;
  for (const auto& [name, partition] : partitions_)
    if (std::find(partition.nodes.begin(), partition.nodes.end(), facts.name) != partition.nodes.end())
      rebuild_members(name);
}

void Capacity::count_size(const NodeAccount& account, int64_t sign) {
  size_.nodes += static_cast<uint64_t>(sign);
  size_.gpus += static_cast<uint64_t>(sign * int64_t{account.node_class->gpus});
  size_.cpus += static_cast<uint64_t>(sign * int64_t{account.node_class->cores} * account.node_class->threads);
}

void Capacity::remove_node(NodeId id) {
  const NodeAccount* account = node(id);
  if (account == nullptr) return;
  ids_.erase(account->facts.name);
  count_size(*account, -1);
  const std::unique_ptr<NodeAccount> gone = std::move(nodes_[id.value]);
  versions_[id.value] = ++version_;
  for (const auto& [name, partition] : partitions_)
    if (std::find(members_[name].begin(), members_[name].end(), id) != members_[name].end()) rebuild_members(name);
}

void Capacity::set_partition(const PartitionFacts& facts) {
  const auto old = partitions_.find(facts.name);
  const bool same_nodes = old != partitions_.end() && old->second.nodes == facts.nodes;
  partitions_[facts.name] = facts;
  gains_.add_anywhere();
  if (!same_nodes) rebuild_members(facts.name);
}

void Capacity::remove_partition(const std::string& name) {
  partitions_.erase(name);
  members_.erase(name);
  for (auto& list : indexes_of_) std::erase(list, indexes_[name].get());
  indexes_.erase(name);
}

void Capacity::set_network(const model::Network& network) {
  network_ = network;
  gains_.add_anywhere();
  for (const auto& [name, partition] : partitions_) rebuild_members(name);
}

void Capacity::rebuild_members(const std::string& partition) {
  std::vector<NodeId>& members = members_[partition];
  members.clear();
  std::vector<const NodeAccount*> accounts;
  for (const std::string& name : partitions_[partition].nodes) {
    const auto it = ids_.find(name);
    if (it == ids_.end()) continue;
    members.push_back(it->second);
    accounts.push_back(nodes_[it->second.value].get());
  }
  std::unique_ptr<NodeIndex>& index = indexes_[partition];
  if (index)
    for (auto& list : indexes_of_) std::erase(list, index.get());
  index = std::make_unique<NodeIndex>(accounts, network_);
  for (NodeId id : members) indexes_of_[id.value].push_back(index.get());
}

namespace {

/// Thousandths held of each GPU that is shared.
std::map<uint32_t, uint32_t> shared_use(const std::vector<Occupant>& occupants) {
  std::map<uint32_t, uint32_t> use;
  for (const Occupant& o : occupants)
    if (o.gpu_milli < model::kWholeGpu)
      for (uint32_t g = o.gpus.next(0); g != UINT32_MAX; g = o.gpus.next(g + 1)) use[g] += o.gpu_milli;
  return use;
}

/// GPUs of which nobody gets what is left.
base::IndexSet owned_gpus(const std::vector<Occupant>& occupants) {
  base::IndexSet out;
  for (const Occupant& o : occupants)
    if (o.own_gpu) out |= o.gpus;
  return out;
}

uint64_t memory_held(const std::vector<Occupant>& occupants) {
  uint64_t held = 0;
  for (const Occupant& o : occupants) held += o.mem_mb;
  return held;
}

/// What is left of a node beside these.
FreeResources free_beside(const std::vector<Occupant>& occupants, const NodeFacts& facts) {
  FreeResources room;
  room.cores = facts.cores;
  room.gpus = facts.gpus;
  room.idle = occupants.empty();
  room.gres = facts.gres;
  for (const Occupant& o : occupants) {
    room.cores -= o.cores;
    room.gpus -= o.gpus;
    room.gres.take(o.gres);
  }
  const base::IndexSet owned = owned_gpus(occupants);
  for (const auto& [gpu, used] : shared_use(occupants))
    if (facts.gpus.contains(gpu) && used < model::kWholeGpu && !owned.contains(gpu))
      room.shared.push_back({gpu, model::kWholeGpu - used});
  const uint64_t held = memory_held(occupants);
  room.mem_mb = facts.mem_mb > held ? facts.mem_mb - held : 0;
  return room;
}

base::Status check_fits(const FreeResources& room, const model::NodeShare& share) {
  if (!share.cores.is_subset_of(room.cores)) return base::invalid("cores of node " + share.name + " are not free");
  if (share.mem_mb > room.mem_mb) return base::invalid("memory of node " + share.name + " is not free");
  if (!room.gres.covers(share.gres)) return base::invalid("generic resources of node " + share.name + " are not free");
  if (share.gpus.is_subset_of(room.gpus)) return {};
  if (share.gpu_milli == model::kWholeGpu) return base::invalid("GPUs of node " + share.name + " are not free");
  for (uint32_t g = share.gpus.next(0); g != UINT32_MAX; g = share.gpus.next(g + 1)) {
    const auto it = std::find_if(room.shared.begin(), room.shared.end(),
                                 [&](const SharedGpu& s) { return s.gpu == g && s.left >= share.gpu_milli; });
    if (it == room.shared.end() && !room.gpus.contains(g))
      return base::invalid(fmt::format("GPU {} of node {} has not so much left", g, share.name));
  }
  return {};
}

}  // namespace

void Capacity::recount(NodeAccount& account) {
  account.held_mem_mb = memory_held(account.occupants);
  account.free = free_beside(account.occupants, account.facts);
  versions_[account.facts.id.value] = ++version_;
  for (NodeIndex* index : indexes_of_[account.facts.id.value]) index->update(account);
}

base::Status Capacity::check_free(const model::NodeShare& share) const {
  const NodeAccount* account = node(share.node);
  if (account == nullptr) return base::invalid("node " + share.name + " does not exist");
  return check_fits(account->free, share);
}

FreeResources Capacity::free_without(const NodeAccount& account, const std::function<bool(JobId)>& leaves) {
  std::vector<Occupant> staying = account.occupants;
  std::erase_if(staying, [&](const Occupant& o) { return leaves(o.job); });
  return free_beside(staying, account.facts);
}

base::Status Capacity::check_free_without(const model::NodeShare& share, const std::function<bool(JobId)>& leaves,
                                          bool wholly) const {
  const NodeAccount* account = node(share.node);
  if (account == nullptr) return base::invalid("node " + share.name + " does not exist");
  const FreeResources room = free_without(*account, leaves);
  if (wholly && !room.idle) return base::invalid("node " + share.name + " is not empty");
  return check_fits(room, share);
}

base::Status Capacity::allocate(JobId job, const std::string& partition, const model::Allocation& allocation,
                                base::Time started, base::Time expected_end, bool forced) {
  if (holdings_.contains(job)) return base::invalid("job " + job.text() + " holds resources already");
  for (const model::NodeShare& share : allocation.shares) {
    if (node(share.node) == nullptr) return base::invalid("node " + share.name + " does not exist");
    if (!forced) GW_TRY_STATUS(check_free(share));
  }
  Holding holding{partition, {}, started, expected_end};
  for (const model::NodeShare& share : allocation.shares) {
    NodeAccount& account = *find(share.node);
    account.occupants.push_back(
        {job, expected_end, share.cores, share.gpus, share.gpu_milli, share.mem_mb, share.gres});
    recount(account);
    holding.nodes.push_back(share.node);
  }
  jobs_with_end_ += expected_end != base::Time::never();
  holdings_[job] = std::move(holding);
  return {};
}

void Capacity::set_own_gpu(JobId job) {
  const auto it = holdings_.find(job);
  if (it == holdings_.end()) return;
  it->second.own_gpu = true;
  for (NodeId id : it->second.nodes) {
    NodeAccount* account = find(id);
    if (account == nullptr) continue;
    for (Occupant& o : account->occupants) o.own_gpu |= o.job == job;
    recount(*account);
  }
}

void Capacity::release(JobId job, NodeId node) {
  const auto it = holdings_.find(job);
  if (it == holdings_.end()) return;
  std::vector<NodeId>& nodes = it->second.nodes;
  const auto at = model::find_on(nodes, node, [](NodeId id) { return id; });
  if (at == nodes.end()) return;
  nodes.erase(at);
  gains_.add(node);
  if (nodes.empty()) {
    jobs_with_end_ -= it->second.expected_end != base::Time::never();
    holdings_.erase(it);
  }
  NodeAccount* account = find(node);
  if (account == nullptr) return;
  std::erase_if(account->occupants, [&](const Occupant& o) { return o.job == job; });
  recount(*account);
}

void Capacity::release_all(JobId job) {
  const auto it = holdings_.find(job);
  if (it == holdings_.end()) return;
  const std::vector<NodeId> nodes = it->second.nodes;
  for (NodeId id : nodes) release(job, id);
}

void Capacity::set_expected_end(JobId job, base::Time when) {
  const auto it = holdings_.find(job);
  if (it == holdings_.end()) return;
  jobs_with_end_ -= it->second.expected_end != base::Time::never();
  jobs_with_end_ += when != base::Time::never();
  it->second.expected_end = when;
  for (NodeId id : it->second.nodes) {
    NodeAccount* account = find(id);
    if (account == nullptr) continue;
    for (Occupant& o : account->occupants)
      if (o.job == job) o.end = when;
    versions_[id.value] = ++version_;
  }
}

std::optional<model::NodeShare> Capacity::share_of(JobId job, NodeId id) const {
  const NodeAccount* account = node(id);
  if (account == nullptr) return std::nullopt;
  for (const Occupant& o : account->occupants)
    if (o.job == job)
      return model::NodeShare{id, account->facts.name, 0, 0, o.cores, o.gpus, o.gpu_milli, o.mem_mb, o.gres};
  return std::nullopt;
}

model::Allocation Capacity::allocation_of(JobId job) const {
  model::Allocation out;
  const auto it = holdings_.find(job);
  if (it == holdings_.end()) return out;
  for (NodeId id : it->second.nodes)
    if (auto share = share_of(job, id)) out.shares.push_back(std::move(*share));
  return out;
}

NodeAccount* Capacity::find(NodeId id) { return id.value < nodes_.size() ? nodes_[id.value].get() : nullptr; }

const NodeAccount* Capacity::node(NodeId id) const {
  return id.value < nodes_.size() ? nodes_[id.value].get() : nullptr;
}

const NodeAccount* Capacity::node(const std::string& name) const { return node(id_of(name)); }

NodeId Capacity::id_of(const std::string& name) const {
  const auto it = ids_.find(name);
  return it == ids_.end() ? NodeId() : it->second;
}

const PartitionFacts* Capacity::partition(const std::string& name) const {
  const auto it = partitions_.find(name);
  return it == partitions_.end() ? nullptr : &it->second;
}

const std::vector<NodeId>& Capacity::partition_nodes(const std::string& name) const {
  static const std::vector<NodeId> kNobody;
  const auto it = members_.find(name);
  return it == members_.end() ? kNobody : it->second;
}

const NodeIndex* Capacity::index(const std::string& partition) const {
  const auto it = indexes_.find(partition);
  return it == indexes_.end() ? nullptr : it->second.get();
}

namespace {

base::Status audit_node(const NodeAccount& account) {
  base::IndexSet cores, whole, parts;
  std::map<uint32_t, uint32_t> use = shared_use(account.occupants);
  for (const Occupant& o : account.occupants) {
    if (cores.intersects(o.cores)) return base::invalid("a core of " + account.facts.name + " is held twice");
    cores |= o.cores;
    base::IndexSet& kind = o.gpu_milli == model::kWholeGpu ? whole : parts;
    if (whole.intersects(o.gpus) || (o.gpu_milli == model::kWholeGpu && parts.intersects(o.gpus)))
      return base::invalid("a GPU of " + account.facts.name + " is held twice");
    kind |= o.gpus;
  }
  for (const auto& [gpu, used] : use)
    if (used > model::kWholeGpu)
      return base::invalid("a GPU of " + account.facts.name + " is given away over its size");
  return {};
}

}  // namespace

base::Status Capacity::audit() const {
  std::set<std::pair<JobId, NodeId>> held_shares;
  for (const auto& [job, holding] : holdings_)
    for (NodeId id : holding.nodes)
      if (!held_shares.emplace(job, id).second)
        return base::invalid("the holding of job " + job.text() + " does not add up");
  for (const std::unique_ptr<NodeAccount>& account : nodes_) {
    if (!account) continue;
    GW_TRY_STATUS(audit_node(*account));
    for (const Occupant& o : account->occupants) {
      if (!held_shares.contains({o.job, account->facts.id}))
        return base::invalid("the account of " + account->facts.name + " does not add up");
    }
    base::IndexSet free = account->facts.cores;
    uint64_t held = 0;
    for (const Occupant& o : account->occupants) {
      free -= o.cores;
      held += o.mem_mb;
    }
    model::Gres gres = account->facts.gres;
    for (const Occupant& o : account->occupants) gres.take(o.gres);
    if (!(free == account->free.cores) || held != account->held_mem_mb || !(gres == account->free.gres))
      return base::invalid("the account of " + account->facts.name + " does not add up");
  }
  return {};
}

}  // namespace gw::sched
