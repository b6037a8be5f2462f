// The ledger of node resources; see the header for its invariants.
#include "sched/capacity.h"

#include <algorithm>

#include "base/check.h"

namespace gw::sched {

void Capacity::set_node(const NodeFacts& facts) {
  GW_CHECK(facts.id);
  NodeAccount& account = nodes_[facts.id];
  const bool is_new = account.facts.name != facts.name;
  account.facts = facts;
  ids_[facts.name] = facts.id;
  recount(account);
  if (!is_new) return;
  for (const auto& [name, partition] : partitions_)
    if (std::find(partition.nodes.begin(), partition.nodes.end(), facts.name) != partition.nodes.end())
      rebuild_members(name);
}

void Capacity::remove_node(NodeId id) {
  auto it = nodes_.find(id);
  if (it == nodes_.end()) return;
  ids_.erase(it->second.facts.name);
  nodes_.erase(it);
  for (auto& [name, members] : members_) std::erase(members, id);
}

void Capacity::set_partition(const PartitionFacts& facts) {
  partitions_[facts.name] = facts;
  rebuild_members(facts.name);
}

void Capacity::remove_partition(const std::string& name) {
  partitions_.erase(name);
  members_.erase(name);
}

void Capacity::rebuild_members(const std::string& partition) {
  std::vector<NodeId>& members = members_[partition];
  members.clear();
  for (const std::string& name : partitions_[partition].nodes)
    if (auto it = ids_.find(name); it != ids_.end()) members.push_back(it->second);
}

void Capacity::recount(NodeAccount& account) {
  account.free_cores = account.facts.cores;
  account.free_gpus = account.facts.gpus;
  account.jobs = 0;
  account.held_mem_mb = 0;
  for (const auto& [job, holding] : holdings_) {
    for (const model::NodeShare& share : holding.allocation.shares) {
      if (share.node != account.facts.id) continue;
      account.free_cores -= share.cores;
      account.free_gpus -= share.gpus;
      account.held_mem_mb += share.mem_mb;
      ++account.jobs;
    }
  }
}

base::Status Capacity::allocate(JobId job, const std::string& partition, const model::Allocation& allocation,
                                base::Time started, base::Time expected_end, bool forced) {
  if (holdings_.contains(job)) return base::invalid("job " + job.text() + " holds resources already");
  for (const model::NodeShare& share : allocation.shares) {
    const NodeAccount* account = node(share.node);
    if (account == nullptr) return base::invalid("node " + share.name + " does not exist");
    if (forced) continue;
    if (!share.cores.is_subset_of(account->free_cores))
      return base::invalid("cores of node " + share.name + " are not free");
    if (!share.gpus.is_subset_of(account->free_gpus))
      return base::invalid("GPUs of node " + share.name + " are not free");
    if (share.mem_mb > account->free_mem_mb()) return base::invalid("memory of node " + share.name + " is not free");
  }
  for (const model::NodeShare& share : allocation.shares) {
    NodeAccount& account = nodes_.at(share.node);
    account.free_cores -= share.cores;
    account.free_gpus -= share.gpus;
    account.held_mem_mb += share.mem_mb;
    ++account.jobs;
  }
  holdings_[job] = Holding{partition, allocation, started, expected_end};
  return {};
}

void Capacity::release(JobId job, NodeId node) {
  auto it = holdings_.find(job);
  if (it == holdings_.end()) return;
  auto& shares = it->second.allocation.shares;
  const auto share = std::find_if(shares.begin(), shares.end(), [&](const auto& s) { return s.node == node; });
  if (share == shares.end()) return;
  const model::NodeShare released = *share;
  shares.erase(share);
  if (shares.empty()) holdings_.erase(it);
  const auto account = nodes_.find(node);
  if (account == nodes_.end()) return;
  base::IndexSet cores = released.cores;
  cores &= account->second.facts.cores;
  base::IndexSet gpus = released.gpus;
  gpus &= account->second.facts.gpus;
  account->second.free_cores |= cores;
  account->second.free_gpus |= gpus;
  account->second.held_mem_mb -= released.mem_mb;
  --account->second.jobs;
}

void Capacity::release_all(JobId job) {
  const auto it = holdings_.find(job);
  if (it == holdings_.end()) return;
  const std::vector<model::NodeShare> shares = it->second.allocation.shares;
  for (const model::NodeShare& share : shares) release(job, share.node);
}

const NodeAccount* Capacity::node(NodeId id) const {
  const auto it = nodes_.find(id);
  return it == nodes_.end() ? nullptr : &it->second;
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

base::Status Capacity::audit() const {
  struct Held {
    base::IndexSet cores, gpus;
    uint64_t mem_mb = 0;
    uint32_t jobs = 0;
  };
  std::map<NodeId, Held> held;
  for (const auto& [job, holding] : holdings_) {
    for (const model::NodeShare& share : holding.allocation.shares) {
      Held& h = held[share.node];
      if (h.cores.intersects(share.cores)) return base::invalid("a core of " + share.name + " is held twice");
      if (h.gpus.intersects(share.gpus)) return base::invalid("a GPU of " + share.name + " is held twice");
      h.cores |= share.cores;
      h.gpus |= share.gpus;
      h.mem_mb += share.mem_mb;
      ++h.jobs;
    }
  }
  for (const auto& [id, account] : nodes_) {
    const Held& h = held[id];
    base::IndexSet cores = account.facts.cores, gpus = account.facts.gpus;
    cores -= h.cores;
    gpus -= h.gpus;
    if (!(cores == account.free_cores) || !(gpus == account.free_gpus) || h.mem_mb != account.held_mem_mb ||
        h.jobs != account.jobs)
      return base::invalid("the account of " + account.facts.name + " does not add up");
  }
  return {};
}

}  // namespace gw::sched
