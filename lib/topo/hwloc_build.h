// Inside of the reader: from a loaded hwloc topology to the parts of model::NodeTopology.
// Invariant: hwloc objects live as long as the topology handle; nothing here keeps them.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/topology.h"

namespace gw::topo {

/// What links hwloc objects to our indices while the parts are built.
struct BuildIndex {
  std::vector<hwloc_obj_t> numa_objs;                       // index = NodeTopology::numa_nodes
  std::vector<hwloc_obj_t> core_objs;                       // index = NodeTopology::cores
  std::unordered_map<hwloc_obj_t, uint32_t> gpu_of_device;  // OS device (nvml0, rsmi3, ...) -> GPU index
};

/// A printable info value of an object; empty if it has none.
std::string info_of(hwloc_obj_t obj, const char* key);

/// Sockets, NUMA nodes, cores, memory, product name.
base::Status build_cpus(hwloc_topology_t topology, model::NodeTopology& node, BuildIndex& index);
/// GPUs and NICs, in PCI order. Needs build_cpus() first.
base::Status build_devices(hwloc_topology_t topology, model::NodeTopology& node, BuildIndex& index);
/// The GPU link matrix. Needs build_devices() first.
void build_links(hwloc_topology_t topology, model::NodeTopology& node, const BuildIndex& index);

}  // namespace gw::topo
