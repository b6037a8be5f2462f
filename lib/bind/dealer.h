// Deals the cores of a step out to its tasks on one node, near to the GPUs that each task has.
// Invariants: pure; see places.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bitset.h"
#include "wire/cluster.pb.h"

namespace gw::bind {

class Dealer {
 public:
  /// `cores` and `gpus` are what the step has; indices of the node, ascending.
  Dealer(const wire::NodeTopology& node, std::vector<uint32_t> cores, std::vector<uint32_t> gpus)
      : node_(node), cores_(std::move(cores)), gpus_(std::move(gpus)) {}

  /// Sets of `each` GPUs that lie together, in order of their first; with fewer GPUs than that one set of all.
  std::vector<base::IndexSet> gpu_groups(uint32_t each) const;
  /// The cores of each task, whole ones while there are enough and `whole` is wanted, as processor numbers.
  std::vector<base::IndexSet> deal_cores(const std::vector<base::IndexSet>& gpus_of_tasks, uint32_t cpus_per_task,
                                         bool whole) const;
  /// All cores, in parts as equal as can be. A task with GPUs has cores of their NUMA nodes alone where there are any
  /// for it, else of their sockets, else any.
  std::vector<base::IndexSet> share_out(const std::vector<base::IndexSet>& gpus_of_tasks) const;
  /// Likewise in the order of the tasks, wherever their GPUs are; from the first again where there are too few.
  std::vector<base::IndexSet> deal_in_order(size_t tasks, uint32_t cpus_per_task) const;

  const std::vector<uint32_t>& cores() const { return cores_; }
  const std::vector<uint32_t>& gpus() const { return gpus_; }
  const wire::Core& core(uint32_t i) const { return node_.cores(static_cast<int>(i)); }
  const wire::Gpu& gpu(uint32_t i) const { return node_.gpus(static_cast<int>(i)); }
  base::IndexSet pus_of(uint32_t core) const;
  base::IndexSet all_pus() const;
  /// Processors of a core, the most that one has.
  uint32_t threads() const;

 private:
  const wire::NodeTopology& node_;
  std::vector<uint32_t> cores_, gpus_;
};

}  // namespace gw::bind
