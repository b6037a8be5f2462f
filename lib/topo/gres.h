// What hwloc cannot see of GPUs: UUIDs, memory, device files, NVLink and xGMI links. Asked of the vendors' libraries,
// which are opened at run time when they are there; their absence is normal.
// Invariants: the topology passes model::validate() before and after; a library that fails changes nothing but adds a
// warning; nothing of a vendor's header is needed to build.
#pragma once

#include <string>
#include <vector>

#include "model/topology.h"

namespace gw::topo {

/// Where the libraries are looked for: the first of each list that opens is used.
struct GresLibraries {
  std::vector<std::string> nvml{"libnvidia-ml.so.1"};
  std::vector<std::string> rocm_smi{"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                                    "/opt/rocm/lib/librocm_smi64.so"};
};

/// What came of it.
struct GresReport {
  bool nvml = false;                  ///< NVML was there and answered.
  bool rocm_smi = false;              ///< ROCm SMI was there and answered.
  std::vector<std::string> warnings;  ///< One sentence each: a library that failed, a GPU that the driver does not see.
};

/// Completes a topology from read_live(). Libraries are opened only for vendors that the topology has GPUs of.
GresReport add_live_gres(model::NodeTopology& node, const GresLibraries& libraries = {});

}  // namespace gw::topo
