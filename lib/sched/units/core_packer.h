// Which cores of a node go with which GPUs. Built once per make of node; a pick is a few dozen integer operations on
// leaves of equal cores (one last-level cache, one NUMA node, the same near GPUs), then one pass over the words.
// Invariant: a leaf lies within one pool and a pool within one NUMA node; every core is in exactly one leaf.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bitset.h"
#include "model/topology.h"

namespace gw::sched {

class CorePacker {
 public:
  explicit CorePacker(const model::NodeTopology& topology);

  /// UnitTable::cores() tells what is picked.
  base::IndexSet pick(const base::IndexSet& free, uint32_t count, const base::IndexSet& gpus,
                      const base::IndexSet& free_gpus);

 private:
  /// Cores alike in everything the choice looks at: `words` masks from masks_[first_mask], for words from first_word.
  struct Leaf {
    uint32_t first_word = 0;
    uint32_t words = 0;
    uint32_t first_mask = 0;
  };
  /// The leaves of one NUMA node that are near the same GPUs.
  struct Pool {
    uint32_t numa = 0;
    uint32_t socket = 0;
    uint32_t first_leaf = 0;
    uint32_t leaves = 0;
    uint32_t cores = 0;
    base::IndexSet near;
    base::IndexSet on_numa;    // GPUs
    base::IndexSet on_socket;  // GPUs
  };
  /// A part among which cores are dealt. `spare` of its `free` cores can go without touching a free GPU's fair share.
  struct Part {
    uint32_t id = 0;
    uint32_t free = 0;
    uint32_t spare = 0;
    uint32_t take = 0;
  };

  std::vector<Leaf> leaves_;  // grouped by pool
  std::vector<Pool> pools_;   // ascending by NUMA node, then by first core
  std::vector<uint64_t> masks_;
  std::vector<uint32_t> near_class_;                // by GPU: GPUs near the same pools have the same class
  std::vector<std::vector<uint32_t>> class_pools_;  // by class, ascending
  uint32_t words_ = 0;

  // Scratch of one pick, kept to allocate nothing.
  std::vector<uint32_t> leaf_free_, leaf_take_, pool_free_, pool_reserve_, pool_rank_, class_quota_, stage_;
  std::vector<Part> numa_parts_, pool_parts_, leaf_parts_;
  std::vector<uint64_t> out_;

  void build_pools(const model::NodeTopology& topology);
  void build_leaves(const model::NodeTopology& topology, const std::vector<uint32_t>& pool_of_core);
  void build_classes(const model::NodeTopology& topology);
  uint32_t load(const base::IndexSet& free);
  void reserve(const base::IndexSet& free_gpus, const base::IndexSet& gpus);
  uint32_t near_shares(uint32_t count, const base::IndexSet& gpus);
  void nearest_pools(uint32_t need, const base::IndexSet& gpus);
  uint32_t fill(std::span<const uint32_t> pools, uint32_t need);
  void fill_pools(std::span<const uint32_t> pools, uint32_t need);
  void fill_pool(uint32_t pool, uint32_t need);
  static void deal(std::span<Part> parts, uint32_t need);
  base::IndexSet collect(const base::IndexSet& free);
};

}  // namespace gw::sched
