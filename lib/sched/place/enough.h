// Is as much free as a gang asks for in all, wherever it may be? What tells a lack of resources from fragmentation:
// free GPUs that are of no use to a gang because no place has enough of them together. Source: Jeon et al., "Analysis
// of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads", USENIX ATC 2019, which tells fair-share delay
// from fragmentation delay.
#pragma once

#include <cstdint>

#include "model/request.h"
#include "sched/ledger/capacity.h"

namespace gw::sched {

enum class Enough : uint8_t {
  kNotThere,  ///< The nodes that are up have less, or are fewer, even if they are empty.
  kNotFree,   ///< Others have it.
  kFree,
};

/// Counts GPUs of the right kind, CPUs, memory, generic resources and idle nodes, as far as it asks for them, of the
/// nodes of a partition that could hold a part of the gang if they were empty.
/// Costs a step for each group of like nodes and each node that it names; `steps` counts them.
Enough enough_in_all(const Capacity& capacity, const PartitionFacts& partition, const model::Request& request,
                     uint64_t& steps);

}  // namespace gw::sched
