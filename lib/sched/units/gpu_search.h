// The best GPUs out of the free ones of a node, by exact search.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bitset.h"
#include "model/request.h"
#include "sched/units/gpu_groups.h"
#include "sched/units/gpu_tree.h"

namespace gw::sched {

/// Some GPUs of one node and how good they are together.
struct GpuChoice {
  base::IndexSet gpus;
  /// Tightest that holds: one GPU, all pairs linked, one PCIe switch, one NUMA node, one node.
  model::Locality level = model::Locality::kNode;
  uint64_t bandwidth_mbps = 0;  ///< Sum over the pairs' links.
  /// What the free GPUs lose in worth to later jobs, GpuGroups::value(free) - GpuGroups::value(free without gpus).
  /// Most significant first: whole groups broken (linked, switches, NUMA nodes, sockets), then jobs of 2, 4, 8, ...
  /// GPUs, then jobs of any size that the groups could hold before and cannot any more. Numbers of different nodes of a
  /// cluster compare as well: a node that is whole loses more than one that is in pieces.
  uint64_t damage = 0;
  uint32_t spread = 0;  ///< Sum over the pairs' PCIe distances: 0 same switch, 1 NUMA node, 2 socket, 3 elsewhere.
  bool operator==(const GpuChoice&) const = default;
};

/// On a machine whose groups do not form a tree (GpuTree) the search gives up after so many steps, tens of
/// milliseconds, with the best choice so far. Up to 16 GPUs never need so many.
constexpr uint32_t kMaxSearchSteps = uint32_t{1} << 18;

class GpuSearch {
 public:
  explicit GpuSearch(const model::NodeTopology& topology);

  const GpuGroups& groups() const { return groups_; }
  uint32_t gpu_count() const { return groups_.gpu_count(); }
  /// The best `count` of the `free` GPUs: tightest level, then highest bandwidth, then least damage, then least spread,
  /// then the set with the lowest index that the other has not. `gpus` is empty if there are too few or `count` is 0.
  GpuChoice best(const base::IndexSet& free, uint32_t count) const;

 private:
  GpuGroups groups_;
  std::optional<GpuTree> tree_;
};

}  // namespace gw::sched
