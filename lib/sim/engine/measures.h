// What is measured of the cluster as a whole: what is held and what is of no use, from one instant to the next.
// Invariant: what is given and released is counted once each; a node's share of the fragmentation is worked out anew
// only after something of the node has changed.
#pragma once

#include <vector>

#include "sched/place/fragmentation.h"
#include "sched/view/view.h"
#include "sim/cluster.h"

namespace gw::sim {

/// The state of the cluster from one instant to the next.
struct Sample {
  Time at;
  uint64_t busy_gpu_milli = 0;
  uint64_t busy_cpus = 0;
  double fragmented_gpu_milli = 0;  ///< Free, but of no use to a job drawn from those of this simulation.
  uint32_t pending = 0;
  uint32_t running = 0;
};

struct Measures {
  uint64_t gpu_milli = 0, cpus = 0;  ///< Of the cluster.
  std::vector<Sample> samples;
  Sample current;
  uint64_t left = 0;      ///< Jobs that have ended, or could never run.
  double contention = 0;  ///< Job-seconds in the system so far.
  sched::Workload workload;
  std::vector<double> fragmented;     ///< By node id.
  std::vector<base::NodeId> touched;  ///< Nodes whose share of the fragmentation is to be worked out again.
};

void add_nodes(Measures& measures, const std::vector<sched::NodeFacts>& nodes);
/// An allocation is given, or released.
void count(Measures& measures, const model::Allocation& allocation, bool is_given);
/// So much time passes in which nothing changes.
void let_pass(Measures& measures, Duration time);
/// At one instant the last sample holds.
void sample(Measures& measures, const sched::ClusterView& view, Time now);

}  // namespace gw::sim
