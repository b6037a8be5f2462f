// Where the tasks of a step go on one node: to each its GPUs, the cores nearest to them, and their NUMA memory and NIC.
// Invariants: pure; as many places as tasks; a core or GPU of one place is not in another unless there are too few, or
// the words of the binding say so. Node daemon and commands ask here, so that what is shown is what is done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bitset.h"
#include "bind/words.h"
#include "wire/cluster.pb.h"
#include "wire/job.pb.h"

namespace gw::bind {

struct Place {
  base::IndexSet pus;          ///< Processor numbers of the operating system.
  base::IndexSet mems;         ///< NUMA nodes, as the operating system numbers them.
  base::IndexSet gpus;         ///< Indices of the node; empty where tasks have none of their own.
  std::vector<uint32_t> nics;  ///< Indices of the node: the nearest, the fast ones if there are any.
  std::string problem;         ///< Of a binding that cannot be; empty: none.
};

/// How the tasks of a step are placed on a node.
struct Binding {
  std::vector<Place> places;    ///< By local task number.
  bool binds_cpus = false;      ///< Else `pus` are all that the step has, or those of a place that are not enforced.
  bool binds_memory = false;    ///< Else `mems` says what is near.
  bool binds_gpus = false;      ///< Else all tasks see all GPUs of the step.
  uint32_t unclaimed_cpus = 0;  ///< Processors that the step may use beside those that it has claimed.
  CpuWords cpu;
  GpuWords gpu;
  MemWords mem;
};

/// The cores and GPUs of the share, which are those that the step has claimed, must exist. `unclaimed_cores`: what its
/// tasks may run on besides, as step_cores.h says; where it is not said how many CPUs a task gets all of these are
/// shared out. Without words: in whole cores while there are enough; then in processors; then all tasks share all
/// cores. Where the step says how many tasks a socket takes no task has cores of two (model/sockets.h), as far as there
/// is room for that. With fewer GPUs than the tasks ask for they share them in turn. Words that cannot be read, or that
/// name what the step has not got, are a problem of the places; once the tasks run (`is_begun`) what is left of the
/// cores that they name holds, and if nothing is what the step has claimed.
Binding bind_tasks(const wire::NodeTopology& node, const wire::NodeShare& share, const wire::StepRequest& request,
                   const base::IndexSet& unclaimed_cores = {}, bool is_begun = false);

}  // namespace gw::bind
