// Shows a node's topology to people (a drawing) and to programs (JSON). Pure functions over model::NodeTopology: no
// hwloc, no terminal; the caller says how wide and whether in colour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/topology.h"

namespace gw::topo {

/// Who has a GPU of the node. A GPU shared by several jobs has several uses.
struct GpuUse {
  uint32_t gpu = 0;      ///< Index into NodeTopology::gpus; others are ignored.
  base::JobId job;       ///< The job that has it; none if it is only offline.
  std::string label;     ///< Shown after the job id: its user, or why the GPU is offline. May be empty.
  bool offline = false;  ///< Taken out of service.
};

/// A drawing of sockets, NUMA nodes, PCIe switches, GPUs, NICs and the link matrix, as lines of at most `width` columns
/// (60 at least), each ended by a newline. Free GPUs are marked as such only if `uses` is not empty. `unicode` off
/// draws with ASCII lines.
std::string draw(const model::NodeTopology& node, const std::vector<GpuUse>& uses, int width, bool colour,
                 bool unicode = true);

/// How GPU `a` reaches GPU `b`, as `nvidia-smi topo -m` words it: X (itself), NV<n> (n NVLinks), XGMI, PIX (same PCIe
/// switch), PHB (same host bridge), NODE (same NUMA node), PKG (same socket), SYS.
std::string link_word(const model::NodeTopology& node, uint32_t a, uint32_t b);
/// The same from GPU `gpu` to NIC `nic`.
std::string nic_word(const model::NodeTopology& node, uint32_t gpu, uint32_t nic);

/// {"schema_version": 1, "node": {"gpus": [...], "cores": N, ...}}, indented; the fields are described in the user
/// guide.
std::string to_json(const model::NodeTopology& node, const std::vector<GpuUse>& uses);

}  // namespace gw::topo
