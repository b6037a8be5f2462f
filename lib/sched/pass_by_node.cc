// Victims node by node: where those whom rule 8 names in its order, as far as the rules let them go, make no room, the
// same order is followed on few nodes. A gang that needs nodes to itself must not spend what may be taken on the
// cheapest jobs of every node. Invariant: whoever goes may go by the rules; only where they run is chosen.
#include <algorithm>
#include <map>
#include <set>

#include "sched/node_index.h"
#include "sched/pass.h"

namespace gw::sched {

struct Pass::Clearing {
  NodeId node;
  uint64_t stays = 0;  ///< Thousandths of GPUs of those who may not be taken.
  uint64_t lost = 0;   ///< By those who may.
  std::vector<std::pair<uint32_t, const Candidate*>> candidates;  ///< By leaf.
  auto rank() const { return std::tuple(stays, lost, node); }
};

namespace {

uint64_t gpus_of(const base::IndexSet& gpus, uint32_t milli) { return uint64_t{gpus.size()} * milli; }

/// Free GPUs of a partition, in thousandths.
uint64_t free_gpus(const Capacity& capacity, const std::string& partition) {
  uint64_t sum = 0;
  for (NodeId id : capacity.partition_nodes(partition)) {
    const Room& room = capacity.node(id)->free;
    sum += gpus_of(room.gpus, model::kWholeGpu);
    for (const SharedGpu& shared : room.shared) sum += shared.left;
  }
  return sum;
}

void put_in_order(std::vector<Candidate>& list, const Candidate& c) {
  const auto before = [](const Candidate& a, const Candidate& b) { return a.rank() < b.rank(); };
  list.insert(std::upper_bound(list.begin(), list.end(), c, before), c);
}

}  // namespace

/// The nodes of which anybody could be taken now: first those where the least stays, then where the least is lost.
std::vector<Pass::Clearing> Pass::clearings(const PendingJob& job, const PartitionFacts& partition,
                                            const IsOfUse& is_of_use, Victims& rules) {
  const NodeIndex& index = *capacity().index(partition.name);
  const Need need(job.request, partition);
  std::map<NodeId, Clearing> found;
  std::set<NodeId> clearable;
  std::set<JobId> goes;
  for (uint32_t leaf = 0; leaf < candidates().size(); ++leaf) {
    for (const Candidate& c : candidates()[leaf]) {
      if (!is_of_use(c)) continue;
      const bool may_go = rules.may_go_first(leaf, c);
      std::set<NodeId> nodes;
      for (JobId part : parts_left(c.job)) {
        if (may_go) goes.insert(part);
        for (NodeId id : capacity().holdings().at(part).nodes) nodes.insert(id);
      }
      for (NodeId id : nodes) {
        const NodeAccount* node = capacity().node(id);
        if (node == nullptr || index.position(id) == UINT32_MAX || need.ask_static(node->facts, *node->make)) continue;
        Clearing& clearing = found[id];
        clearing.node = id;
        clearing.candidates.emplace_back(leaf, &c);
        if (!may_go) continue;
        clearing.lost += c.lost;
        clearable.insert(id);
      }
    }
  }
  std::vector<Clearing> out;
  for (NodeId id : clearable) {
    Clearing& clearing = out.emplace_back(std::move(found.at(id)));
    for (const Occupant& o : capacity().node(id)->occupants)
      if (!goes.contains(o.job)) clearing.stays += gpus_of(o.gpus, o.gpu_milli);
  }
  std::sort(out.begin(), out.end(), [](const Clearing& a, const Clearing& b) { return a.rank() < b.rank(); });
  return out;
}

/// Of the first node, of the first two, and so on, until the job fits; after many tries in ever larger steps.
std::vector<JobId> Pass::victims_by_node(const PendingJob& job, const PartitionFacts& partition, const Taker& taker,
                                         const IsOfUse& is_of_use, Victims& rules) {
  const std::vector<Clearing> nodes = clearings(job, partition, is_of_use, rules);
  Candidates listed(candidates().size());
  std::set<JobId> known;
  uint64_t room = free_gpus(capacity(), partition.name);
  constexpr size_t kExact = 32;
  size_t tries = 0;
  for (size_t count = 1, next = 1; count <= nodes.size(); ++count) {
    for (const auto& [leaf, c] : nodes[count - 1].candidates) {
      if (!known.insert(c->job).second) continue;
      put_in_order(listed[leaf], *c);
      room += c->amounts[0];
      // A gang goes with all of it, wherever its pieces are.
      if (c->gang || view_.pieces_of(c->job).empty()) continue;
      for (const Candidate& piece : candidates()[leaf]) {
        if (piece.gang != c->job || !known.insert(piece.job).second) continue;
        put_in_order(listed[leaf], piece);
        room += piece.amounts[0];
      }
    }
    if (room < taker.amounts[0] || (count < next && count < nodes.size())) continue;
    std::vector<JobId> found = victims_among(job, partition, taker, listed, rules);
    if (!found.empty()) return found;
    next = count + (++tries < kExact ? 1 : count / 8 + 1);
  }
  return {};
}

}  // namespace gw::sched
