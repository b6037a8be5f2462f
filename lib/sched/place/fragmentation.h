// How much of the free GPUs the jobs that usually come could not use. Source: Weng et al., "Beware of Fragmentation:
// Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023: the fragmentation of a node
// is the expected amount of free GPU that a task drawn from the workload cannot use; a task goes where that grows
// least.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/request.h"
#include "sched/ledger/capacity.h"

namespace gw::sched {

/// What one node's part of a usual job asks for.
struct TaskShape {
  uint32_t gpus = 0;
  uint32_t gpu_milli = model::kWholeGpu;
  uint32_t cpus = 0;  ///< Hardware threads.
  uint64_t mem_mb = 0;
  std::string gpu_type;
  bool operator==(const TaskShape&) const = default;
};

/// What asks for GPUs, and how often: counts of recent submissions, halved from time to time so that old ones fade.
class Workload {
 public:
  /// Most shapes kept; the rarest goes first.
  static constexpr size_t kShapes = 16;
  static constexpr uint32_t kWindow = 4096;

  struct Entry {
    TaskShape shape;
    uint32_t count = 0;
  };
  /// What a request asks of one node.
  static TaskShape shape_of(const model::Request& request);
  void add(const TaskShape& shape, uint32_t count = 1);
  const std::vector<Entry>& entries() const { return entries_; }
  uint32_t total() const { return total_; }
  /// Without limit on the number of shapes, for measuring; such a workload never fades.
  static Workload exact(std::vector<Entry> entries);

 private:
  std::vector<Entry> entries_;
  uint32_t total_ = 0;
};

/// What is free on a node as far as fragmentation is concerned.
struct Leftover {
  uint32_t whole = 0;  ///< Wholly free GPUs.
  const SharedGpu* shared = nullptr;
  size_t shared_count = 0;
  uint32_t cpus = 0;
  uint64_t mem_mb = 0;
};

/// Expected thousandths of GPUs on a node that a task drawn from the workload cannot use.
double fragmented_milli(const Workload& workload, const NodeAccount& node, const Leftover& left);
double fragmented_milli(const Workload& workload, const NodeAccount& node, const FreeResources& room);
/// Expected thousandths of GPUs on a node that would be left over if it were filled with tasks of one shape, drawn from
/// those of the workload that ask for GPUs. Unlike the measure above it sees that two cores are not enough for the
/// tasks of eight free GPUs.
double stranded_milli(const Workload& workload, const NodeAccount& node, const Leftover& left);
/// A room as a leftover; refers to it.
Leftover leftover_of(const NodeAccount& node, const FreeResources& room);

/// Of all usable nodes of a partition: for `ginfo --fragmentation`.
struct Fragmentation {
  uint64_t gpus = 0;  ///< In usable nodes.
  double free_gpus = 0;
  double fragmented_gpus = 0;  ///< Of the free ones.
  uint32_t largest_gang = 0;   ///< GPUs of the largest gang of whole nodes startable now, with a core for each GPU.
  bool operator==(const Fragmentation&) const = default;
};
Fragmentation fragmentation(const Capacity& capacity, const std::string& partition, const Workload& workload);

/// A line of `ginfo --fragmentation`.
struct PartitionFragmentation {
  std::string partition;
  std::string gpu_type;  ///< Empty: all of the partition. Nodes with several types: "a100+h100".
  Fragmentation figures;
  uint32_t workload = 0;  ///< Tasks that the figures were drawn from; 0: nothing was submitted yet.
  bool operator==(const PartitionFragmentation&) const = default;
};
/// Of every partition, and of its types of GPUs where it has several. Costs a step for each group of like nodes and
/// each shape of the workload, of which there are at most Workload::kShapes.
std::vector<PartitionFragmentation> fragmentation(const Capacity& capacity, const Workload& workload);

}  // namespace gw::sched
