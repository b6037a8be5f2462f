// See victims_by_node() in preempt.h. Invariant: whoever goes may go by the rules; only where they run is chosen.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sched/cycle/preempt.h"
#include "sched/ledger/node_index.h"
#include "sched/place/node_filter.h"

namespace gw::sched {
namespace {

/// A node that others could leave, and who is on it.
struct Clearing {
  NodeId node;
  uint64_t stays = 0;  ///< Thousandths of GPUs of those who may not be taken.
  uint64_t lost = 0;   ///< By those who may.
  std::vector<std::pair<uint32_t, const Candidate*>> candidates;  ///< By leaf.
  auto rank() const { return std::tuple(stays, lost, node); }
};

uint64_t gpus_of(const base::IndexSet& gpus, uint32_t milli) { return uint64_t{gpus.size()} * milli; }

/// Free GPUs of a partition, in thousandths.
uint64_t free_gpus(const Capacity& capacity, const std::string& partition) {
  uint64_t sum = 0;
  for (NodeId id : capacity.partition_nodes(partition)) {
    const FreeResources& room = capacity.node(id)->free;
    sum += gpus_of(room.gpus, model::kWholeGpu);
    for (const SharedGpu& shared : room.shared) sum += shared.left;
  }
  return sum;
}

void put_in_order(std::vector<Candidate>& list, const Candidate& c) {
  const auto before = [](const Candidate& a, const Candidate& b) { return a.rank() < b.rank(); };
  list.insert(std::upper_bound(list.begin(), list.end(), c, before), c);
}

/// The nodes of which anybody could be taken now, while they are listed.
struct Clearings {
  std::map<NodeId, Clearing> found;
  std::set<NodeId> clearable;
  std::set<JobId> goes;
};

/// Whether the served job could use a node at all.
bool is_usable(const Session& session, const NodeFilter& filter, const PartitionFacts& partition, NodeId id) {
  const NodeAccount* node = session.capacity().node(id);
  return node != nullptr && session.capacity().index(partition.name)->position(id) != UINT32_MAX &&
         !filter.failed_static_filter(node->facts, *node->node_class);
}

void add_candidate(const Session& session, const NodeFilter& filter, const PartitionFacts& partition, uint32_t leaf,
                   const Candidate& c, bool may_go, Clearings& clearings) {
  std::set<NodeId> nodes;
  for (JobId part : session.trial.parts_left(c.job)) {
    if (may_go) clearings.goes.insert(part);
    for (NodeId id : session.capacity().holdings().at(part).nodes) nodes.insert(id);
  }
  for (NodeId id : nodes) {
    if (!is_usable(session, filter, partition, id)) continue;
    Clearing& clearing = clearings.found[id];
    clearing.node = id;
    clearing.candidates.emplace_back(leaf, &c);
    if (!may_go) continue;
    clearing.lost += c.lost;
    clearings.clearable.insert(id);
  }
}

/// First those where the least stays, then where the least is lost.
std::vector<Clearing> clearings_of(Session& session, const Served& served, const PartitionFacts& partition,
                                   const std::optional<Binding>& limited, Victims& rules) {
  const NodeFilter filter(served.job.request, partition);
  const Candidates& candidates = session.victims.candidates(session);
  Clearings clearings;
  for (uint32_t leaf = 0; leaf < candidates.size(); ++leaf)
    for (const Candidate& c : candidates[leaf])
      if (is_of_use(session, served, c, partition, limited))
        add_candidate(session, filter, partition, leaf, c, rules.may_go_first(leaf, c), clearings);
  std::vector<Clearing> out;
  for (NodeId id : clearings.clearable) {
    Clearing& clearing = out.emplace_back(std::move(clearings.found.at(id)));
    for (const Occupant& o : session.capacity().node(id)->occupants)
      if (!clearings.goes.contains(o.job)) clearing.stays += gpus_of(o.gpus, o.gpu_milli);
  }
  std::sort(out.begin(), out.end(), [](const Clearing& a, const Clearing& b) { return a.rank() < b.rank(); });
  return out;
}

}  // namespace

/// Of the first node, of the first two, and so on, until the job fits; after many tries in ever larger steps.
std::vector<JobId> victims_by_node(Session& session, const Served& served, const PartitionFacts& partition,
                                   const Preemptor& preemptor, const std::optional<Binding>& limited, Victims& rules) {
  const std::vector<Clearing> nodes = clearings_of(session, served, partition, limited, rules);
  const Candidates& candidates = session.victims.candidates(session);
  Candidates listed(candidates.size());
  std::set<JobId> known;
  uint64_t gpus = free_gpus(session.capacity(), partition.name);
  const auto list = [&](uint32_t leaf, const Candidate& c) {
    if (!known.insert(c.job).second) return false;
    put_in_order(listed[leaf], c);
    gpus += c.amounts[kGpu];
    return true;
  };
  constexpr size_t kExact = 32;
  size_t tries = 0;
  for (size_t count = 1, next = 1; count <= nodes.size(); ++count) {
    for (const auto& [leaf, c] : nodes[count - 1].candidates) {
      // A gang goes with all of it, wherever its pieces are.
      if (!list(leaf, *c) || c->gang || session.view.extensions_of(c->job).empty()) continue;
      for (const Candidate& piece : candidates[leaf])
        if (piece.gang == c->job) list(leaf, piece);
    }
    if (gpus < preemptor.amounts[kGpu] || (count < next && count < nodes.size())) continue;
    std::vector<JobId> found = victims_among(session, served, partition, preemptor, listed, rules);
    if (!found.empty()) return found;
    next = count + (++tries < kExact ? 1 : count / 8 + 1);
  }
  return {};
}

}  // namespace gw::sched
