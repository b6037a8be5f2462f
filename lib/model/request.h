// What a job asks for (Request) and what it was given (Allocation): the scheduler's currency.
// Invariant: a Request that passed normalise() has min_nodes >= 1, min_nodes <= max_nodes, tasks >= 1 and exactly one
// way of counting GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/result.h"

namespace gw::model {

/// How the number of GPUs in a request is meant.
enum class GpuCounting { kNone, kPerJob, kPerNode, kPerTask };

/// One alternative of a feature expression: all of these features.
using FeatureSet = std::vector<std::string>;

/// The resources of one job. Zero in an optional number means "not given".
struct Request {
  uint32_t min_nodes = 1;
  uint32_t max_nodes = 1;
  uint32_t tasks = 1;
  uint32_t tasks_per_node = 0;   ///< At most (with -n) or exactly (without -n) so many tasks on a node.
  uint32_t cpus_per_task = 1;    ///< Hardware threads; whole cores are given.
  uint64_t mem_per_node_mb = 0;  ///< --mem; 0 with mem_all means all memory of the node.
  uint64_t mem_per_cpu_mb = 0;
  bool mem_all = false;  ///< --mem=0
  GpuCounting gpu_counting = GpuCounting::kNone;
  uint32_t gpus = 0;                  ///< Counted as gpu_counting says.
  std::string gpu_type;               ///< Empty: any type.
  std::vector<FeatureSet> features;   ///< Any of these sets; empty: no constraint.
  std::vector<std::string> nodelist;  ///< Must include these nodes (-w).
  std::vector<std::string> exclude;   ///< Must not use these nodes (-x).
  bool exclusive = false;
  bool nodes_given = false;  ///< -N was given: the gang is exactly that many nodes, not as few as hold the tasks.
  bool tasks_given = false;  ///< -n was given.
  bool operator==(const Request&) const = default;
};

/// Reads `ib&nvlink|pcie` (& binds tighter than |, parentheses as in `(a|b)&c` too) into alternatives. Errors: syntax.
base::Result<std::vector<FeatureSet>> parse_features(const std::string& text);
std::string format_features(const std::vector<FeatureSet>& features);
/// Derives what follows from what was given (tasks from nodes x tasks_per_node, nodes from tasks / tasks_per_node, ...)
/// and refuses contradictions, naming the options.
base::Status normalise(Request& r);
/// GPUs that the whole job gets when it runs on `nodes` nodes.
uint32_t total_gpus(const Request& r, uint32_t nodes);

/// One node's share of an allocation.
struct NodeShare {
  base::NodeId node;
  std::string name;
  uint32_t tasks = 0;
  uint32_t cpus = 0;  ///< Hardware threads in `cores`.
  base::IndexSet cores;
  base::IndexSet gpus;
  uint64_t mem_mb = 0;
  bool operator==(const NodeShare&) const = default;
};

/// What a gang holds. The first share is where the batch script runs.
struct Allocation {
  std::vector<NodeShare> shares;
  bool operator==(const Allocation&) const = default;
  uint32_t total_cpus() const;
  uint32_t total_gpus() const;
  std::vector<std::string> node_names() const;
};

}  // namespace gw::model
