// Placement of one gang: which nodes, and on each which tasks, GPUs, cores and memory. Pure: the ledger is only read.
// Source: design section 7; a gang takes the fullest nodes that hold it, so that what stays free stays whole.
// Invariants: the result fits into what is free, holds the whole gang or nothing, and depends on the ledger's contents
// alone; ties break by node id.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/request.h"
#include "sched/capacity.h"

namespace gw::sched {

/// Why a node cannot serve a request, in the order in which the clauses are asked.
enum class Clause {
  kNodeList,
  kExcluded,
  kFeatures,
  kGpuType,
  kUnregistered,
  kUnusable,
  kGpus,
  kCores,
  kMemory,
  kExclusive,
  kNodes,
};
constexpr int kClauseCount = 11;

/// How many nodes each clause ruled out; the basis of every explanation.
struct Census {
  uint32_t nodes = 0;    ///< Looked at.
  uint32_t fitting = 0;  ///< Could hold at least one task.
  std::map<Clause, uint32_t> ruled_out;
  std::map<std::string, uint32_t> unusable_why;
  uint32_t needed_nodes = 1;
};

/// Against which state of the nodes a request is held.
enum class Against {
  kFreeNow,  ///< What is free and usable now.
  kEmpty,    ///< All nodes idle and up: could it ever run?
};

struct Placement {
  std::optional<model::Allocation> allocation;
  Census census;
};

/// Places `request` on the nodes of `partition`.
Placement place(const Capacity& capacity, const PartitionFacts& partition, const model::Request& request,
                Against against = Against::kFreeNow);

/// Can `request` ever run in `partition`? The error names the tightest clause and the best offer: "8 GPUs on one node
/// asked; the largest node in partition small has 4". Nodes that have not registered yet may turn out to hold anything.
base::Status could_ever_run(const Capacity& capacity, const PartitionFacts& partition, const model::Request& request);

/// For people: "waits for 2 nodes: of 4 in partition main 3 have too few free GPUs, 1 is drained: disk".
std::string explain(const Census& census, const std::string& partition);

/// `count` of the GPUs in `free`, as close to each other as they come; then the lowest indices. Empty if there are too
/// few.
base::IndexSet choose_gpus(const model::NodeTopology& topology, const base::IndexSet& free, uint32_t count,
                           const std::string& type);
/// `count` of the cores in `free`: nearest to `gpus` first, then packed by NUMA node.
base::IndexSet choose_cores(const model::NodeTopology& topology, const base::IndexSet& free, uint32_t count,
                            const base::IndexSet& gpus);

}  // namespace gw::sched
