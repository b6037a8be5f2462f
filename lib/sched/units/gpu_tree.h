// A node's GPUs as a tree of groups, for machines on which one exists: then the best GPUs are found exactly in time
// polynomial in their number.
// Invariants: the leaves are the classes of interchangeable GPUs; every group is a vertex; the pairs of GPUs that first
// meet in a vertex all have the same link and the same distance.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bitset.h"
#include "sched/units/gpu_groups.h"

namespace gw::sched {

class GpuTree {
 public:
  /// nullopt if groups overlap without one holding the other, or links run across them (a hybrid cube mesh).
  static std::optional<GpuTree> build(const GpuGroups& groups);

  /// The best `count` of the `free` GPUs that lie in groups()[group]; kAllGpus: anywhere. There must be so many.
  static constexpr uint32_t kAllGpus = UINT32_MAX;
  GpuPick best(const GpuGroups& groups, uint32_t group, const base::IndexSet& free, uint32_t count) const;

 private:
  struct Vertex {
    base::IndexSet gpus;
    uint32_t parent = UINT32_MAX;
    std::vector<uint32_t> children;
    std::vector<uint32_t> groups;  // those that are this set
    GpuGroups::Pair pair;          // of GPUs in different children; in a leaf, of any two
  };

  std::vector<Vertex> vertices_;  // largest first; the first is all GPUs
  std::vector<uint32_t> vertex_of_group_;

  bool hang(const GpuGroups& groups);
  bool measure_pairs(const GpuGroups& groups);
  std::vector<GpuPick> solve(const GpuGroups& groups, uint32_t vertex, const base::IndexSet& free,
                             uint32_t count) const;
  std::vector<GpuPick> solve_leaf(const Vertex& leaf, const base::IndexSet& free, uint32_t count) const;
};

}  // namespace gw::sched
