// Feasible nodes: the nodes of a partition that could hold a part of a request, in groups that are alike for it, with
// what each of them could hold. Invariant: no node is in two groups; every group could hold at least one task.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "sched/ledger/node_index.h"
#include "sched/place/node_filter.h"
#include "sched/place/place.h"

namespace gw::sched {

struct FeasibleGroup {
  const NodeAccount* account = nullptr;  ///< One of the nodes; all are like it.
  const FreeResources* free = nullptr;
  const NodeBits* nodes = nullptr;  ///< Positions; null: only `position`.
  uint32_t position = 0;
  bool required = false;   ///< Named by -w.
  uint32_t max_tasks = 0;  ///< Most tasks that one node holds.
  uint32_t gpus = 0;       ///< Free ones of the right type.

  uint32_t count_in(uint32_t first, uint32_t last) const {
    return nodes != nullptr ? nodes->count_in(first, last) : position >= first && position < last;
  }
  /// Smallest position not below `from`; UINT32_MAX if none.
  uint32_t next(uint32_t from) const {
    return nodes != nullptr ? nodes->next(from) : (position >= from ? position : UINT32_MAX);
  }
};

/// Goes over a partition's nodes, group by group.
class FeasibleNodes {
 public:
  FeasibleNodes(const Capacity& capacity, const PartitionFacts& partition, const NodeFilter& filter,
                const PlacementOptions& options);

  const NodeIndex& index() const { return *index_; }
  /// each() gives nodes in the partition's order, none for another: its first ones are no better than its last.
  bool asks_each_node() const;
  /// Calls `visit` with nodes that may do, those alike together: lighter first, then with fewer free GPUs (`fullest`;
  /// else with more), until it returns false. max_tasks and gpus are not yet filled in.
  void each(bool fullest, const std::function<bool(FeasibleGroup)>& visit);
  /// All groups that could hold a task, with max_tasks and gpus; fills in the diagnosis.
  std::vector<FeasibleGroup> all(Diagnosis& diagnosis);
  /// Stop giving groups of this weight: a lighter one did.
  uint32_t stop_after_weight = UINT32_MAX;

 private:
  const Capacity& capacity_;
  const PartitionFacts& partition_;
  const NodeFilter& filter_;
  const PlacementOptions& options_;
  const NodeIndex* index_;
  std::unordered_set<std::string_view> named_, excluded_, inside_;  // of the request and of the look
  std::vector<NodeId> singled_;  // booked for others within the span: looked at one by one
  NodeBits singled_bits_;
  std::set<const NodeGroup*> thinned_;  // groups of the nodes singled out
  std::deque<FreeResources> free_;
  std::deque<NodeBits> bits_;

  std::optional<BlockerKind> ask_names(const NodeAccount& account) const;
  bool is_required(const NodeAccount& account) const;
  const FreeResources& free_on(const NodeAccount& account);
  const NodeBits* without_singled(const NodeGroup& group);
  bool visit_node(const NodeAccount& account, const std::function<bool(FeasibleGroup)>& visit);
  void each_group(bool fullest, const std::function<bool(FeasibleGroup)>& visit);
  void each_node(const std::function<bool(FeasibleGroup)>& visit);
  void count_out(const NodeAccount& account, BlockerKind requirement, uint32_t nodes, Diagnosis& diagnosis) const;
};

}  // namespace gw::sched
