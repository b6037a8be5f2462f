// GPUs, cores, NICs and memory inside one node, chosen as one unit. One table serves all nodes of a make.
// Invariants: answers depend on the topology and the arguments alone, not on what was asked before; caches and scratch
// inside make a table the business of one thread at a time (a copy is independent).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bitset.h"
#include "model/request.h"
#include "model/sockets.h"
#include "model/topology.h"
#include "sched/units/core_packer.h"
#include "sched/units/gpu_search.h"

namespace gw::sched {

class UnitTable {
 public:
  explicit UnitTable(std::shared_ptr<const model::NodeTopology> topology);

  const model::NodeTopology& topology() const { return *topology_; }

  /// The best `count` of the `free` GPUs (already restricted to the wanted type and to those online) as GpuSearch
  /// defines it: tightest level, highest link bandwidth, least damage, least spread, lowest indices. Computed once per
  /// `free` and `count`, then a look-up. nullptr if `count` is 0, there are too few, or none is as tight as `at_most`
  /// (levels wider than a node exclude nothing). Valid until the next call of gpus() or level().
  const GpuChoice* gpus(const base::IndexSet& free, uint32_t count, model::Locality at_most = model::Locality::kNode);

  /// The tightest level at which `count` of `free` can be had; nullopt if there are too few or `count` is 0.
  std::optional<model::Locality> level(const base::IndexSet& free, uint32_t count);

  /// `count` of the `free` cores; empty if there are too few.
  /// With `gpus`: each GPU gets an equal share (the first ones one more) out of the cores near it; what is then missing
  /// comes from cores near any of them, on their NUMA nodes, on their sockets, elsewhere, in this order.
  /// Without: if they can be had without touching the fair share of any of `free_gpus` in the cores near it (14 of 56
  /// for one of four), then so, on as few NUMA nodes as that takes; else on one NUMA node that holds all, touching the
  /// least. `free_gpus` are spared likewise in each of the steps above.
  /// Among equals the fullest NUMA node, then the fullest last-level cache that holds what is taken there; in it the
  /// lowest cores.
  base::IndexSet cores(const base::IndexSet& free, uint32_t count, const base::IndexSet& gpus,
                       const base::IndexSet& free_gpus);

  /// Likewise for `tasks` tasks that are dealt to sockets as model/sockets.h says, those of the GPUs first; cores
  /// beyond theirs from wherever they are. Empty if the tasks find no room so.
  base::IndexSet cores_of_sockets(const base::IndexSet& free, uint32_t count, uint32_t tasks,
                                  model::SocketLayout layout, const base::IndexSet& gpus,
                                  const base::IndexSet& free_gpus);
  const model::SocketCores& sockets() const { return sockets_; }

  /// Indices of the NICs nearest to the GPUs, one each: same PCIe switch, host bridge, NUMA node, socket, any. Equally
  /// near ones are given out in turn by GPU index, whether or not the other GPUs are in `gpus`, so that two jobs on a
  /// switch use two adapters. Where a node has InfiniBand, only that counts. Ascending, no duplicates; empty without
  /// GPUs or NICs.
  std::vector<uint32_t> nics(const base::IndexSet& gpus) const;

  /// NUMA nodes (indices into NodeTopology::numa_nodes) of the GPUs and cores: where to put the memory.
  base::IndexSet numa(const base::IndexSet& gpus, const base::IndexSet& cores) const;

 private:
  struct Key {
    base::IndexSet free;
    uint32_t count = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  std::shared_ptr<const model::NodeTopology> topology_;
  GpuSearch search_;
  CorePacker packer_;
  base::IndexSet all_gpus_;
  std::vector<GpuChoice> small_;  // up to 8 GPUs: by free word and count; an empty choice is not computed yet
  std::unordered_map<Key, GpuChoice, KeyHash> large_;
  std::vector<uint32_t> nic_of_gpu_;        // UINT32_MAX: none
  std::vector<base::IndexSet> numa_cores_;  // by NUMA node
  model::SocketCores sockets_;

  const GpuChoice& look_up_small(uint64_t free, uint32_t count);
  const GpuChoice& look_up_large(const base::IndexSet& free, uint32_t count);
  void assign_nics();
};

}  // namespace gw::sched
