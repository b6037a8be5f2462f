// A partition's nodes grouped by what is free on them, so that a request is held against each state once and not
// against each node. Source: design section 7, "nodes are kept in buckets by what is free". Invariants: every usable,
// registered node of the partition is in exactly one group; a group is never empty; nodes of one group are of one class
// and have the same free GPUs, number of free cores, free memory and generic resources. Positions number the
// partition's nodes so that neighbours in the network lie side by side: what is under a switch is a range.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "model/network.h"
#include "sched/ledger/capacity.h"
#include "sched/ledger/node_bits.h"

namespace gw::sched {

/// What nodes of one group have in common. Ordered: lighter first, then fewer free GPUs, fewer free cores, less memory.
struct NodeState {
  uint32_t weight = 1;
  uint32_t gpus = 0;
  uint32_t cores = 0;
  uint64_t mem_mb = 0;
  uint32_t node_class = 0;
  uint64_t gpu_word = 0;  ///< Free GPUs below 64.
  uint32_t solo = 0;      ///< Node id where a group of its own is needed (shared GPUs, over 64 GPUs); else 0.
  bool idle = false;
  model::Gres gres = {};
  auto tie() const { return std::tie(weight, gpus, cores, mem_mb, node_class, gpu_word, solo, idle, gres); }
  bool operator<(const NodeState& o) const { return tie() < o.tie(); }
};

/// Nodes in the same state.
struct NodeGroup {
  NodeBits nodes;
  const NodeAccount* sample = nullptr;  ///< One of them.
};

/// A switch as the index sees it: the nodes in [first, last) and what is free there.
struct Domain {
  uint32_t level = 0;  ///< 0: leaf.
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t parent = UINT32_MAX;
  uint64_t free_gpus = 0;
  uint64_t free_cores = 0;
};

class NodeIndex {
 public:
  using Groups = std::map<NodeState, NodeGroup>;

  /// `members` in the partition's order; positions follow the network where it names a node.
  NodeIndex(const std::vector<const NodeAccount*>& members, const model::Network& network);
  /// The account changed.
  void update(const NodeAccount& account);

  const Groups& groups() const { return groups_; }
  const std::vector<Domain>& domains() const { return domains_; }
  const NodeAccount& at(uint32_t position) const { return *accounts_[position]; }
  /// UINT32_MAX: not in this partition.
  uint32_t position(NodeId id) const { return id.value < positions_.size() ? positions_[id.value] : UINT32_MAX; }
  /// Index into domains() of the leaf above a position; UINT32_MAX: none.
  uint32_t leaf(uint32_t position) const { return leaves_[position]; }
  uint32_t size() const { return static_cast<uint32_t>(accounts_.size()); }
  /// Positions of the nodes that are in no group: not usable, or never registered.
  const NodeBits& unusable() const { return unusable_; }
  /// The group of a position; null: not usable, or never registered.
  const NodeGroup* group_of(uint32_t position) const {
    return where_[position].is_in ? &where_[position].group->second : nullptr;
  }
  /// Weights that usable nodes have, ascending.
  std::vector<uint32_t> weights() const;

 private:
  std::vector<const NodeAccount*> accounts_;  // by position
  std::vector<uint32_t> positions_;           // by node id
  std::vector<uint32_t> leaves_;              // by position
  struct Where {
    Groups::iterator group;
    uint64_t gpus = 0, cores = 0;  // as counted in the domains
    bool is_in = false;
  };
  std::vector<Where> where_;  // by position
  Groups groups_;
  std::vector<Domain> domains_;
  std::map<uint32_t, uint32_t> weights_;
  NodeBits unusable_;

  void take_out(uint32_t position);
  void put_in(uint32_t position);
  void count(uint32_t position, int64_t gpus, int64_t cores);
};

}  // namespace gw::sched
