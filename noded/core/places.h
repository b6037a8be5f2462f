// Where the tasks of a step go on one node: to each its GPUs, the cores nearest to them, and their NUMA memory.
// Invariants: pure; as many places as tasks; a core or GPU of one place is not in another unless there are too few.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bitset.h"
#include "wire/cluster.pb.h"
#include "wire/job.pb.h"

namespace gw::noded {

struct Place {
  base::IndexSet pus;   ///< Processor numbers of the operating system.
  base::IndexSet mems;  ///< NUMA nodes, as the operating system numbers them: of its cores and GPUs.
  base::IndexSet gpus;  ///< Indices of the node; empty where tasks have none of their own.
};

/// In whole cores while there are enough; then in processors; then all tasks share all cores. With fewer GPUs than the
/// tasks ask for they share them in turn. The share's cores and GPUs must exist.
std::vector<Place> make_places(const wire::NodeTopology& node, const wire::NodeShare& share, uint32_t cpus_per_task,
                               uint32_t gpus_per_task);

}  // namespace gw::noded
