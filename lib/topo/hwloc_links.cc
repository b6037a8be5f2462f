// The GPU link matrix (NVLink, xGMI) from hwloc's distance matrices.
#include <algorithm>

#include "topo/hwloc_build.h"

namespace gw::topo {
namespace {

using model::NodeTopology;

constexpr uint32_t kNone = UINT32_MAX;

class Distances {
 public:
  Distances(hwloc_topology_t topology, const char* name) : topology_(topology) {
    unsigned count = 1;
    if (hwloc_distances_get_by_name(topology, name, &count, &matrix_, 0) != 0 || count < 1) matrix_ = nullptr;
  }
  ~Distances() {
    if (matrix_ != nullptr) hwloc_distances_release(topology_, matrix_);
  }
  Distances(const Distances&) = delete;
  Distances& operator=(const Distances&) = delete;

  bool found() const { return matrix_ != nullptr; }
  const hwloc_distances_s& operator*() const { return *matrix_; }

  // GPUs behind NVSwitches: only switch ports are their neighbours. Merged into one switch, the closure gives each pair
  // the bandwidth through it. Without a switch the closure would wipe direct links: then leave all as it is.
  void cross_switches() {
    if ((matrix_->kind & HWLOC_DISTANCES_KIND_HETEROGENEOUS_TYPES) == 0) return;
    if (hwloc_distances_transform(topology_, matrix_, HWLOC_DISTANCES_TRANSFORM_MERGE_SWITCH_PORTS, nullptr, 0) != 0) {
      return;
    }
    hwloc_distances_transform(topology_, matrix_, HWLOC_DISTANCES_TRANSFORM_TRANSITIVE_CLOSURE, nullptr, 0);
  }

 private:
  hwloc_topology_t topology_;
  hwloc_distances_s* matrix_ = nullptr;
};

uint32_t gpu_of(const BuildIndex& index, hwloc_obj_t obj) {
  const auto it = obj != nullptr ? index.gpu_of_device.find(obj) : index.gpu_of_device.end();
  return it != index.gpu_of_device.end() ? it->second : kNone;
}

// Both directions of a link count as the better of the two: a driver may fail to tell one side.
bool fill(NodeTopology& node, const BuildIndex& index, const hwloc_distances_s& m) {
  const size_t n = node.gpus.size();
  std::vector<std::vector<uint64_t>> links(n, std::vector<uint64_t>(n, 0));
  bool any = false;
  for (size_t i = 0; i < m.nbobjs; ++i) {
    for (size_t j = 0; j < m.nbobjs; ++j) {
      const auto a = gpu_of(index, m.objs[i]), b = gpu_of(index, m.objs[j]);
      const uint64_t mbps = m.values[i * m.nbobjs + j];
      if (a == kNone || b == kNone || a == b || mbps == 0) continue;
      links[a][b] = links[b][a] = std::max(links[a][b], mbps);
      any = true;
    }
  }
  if (any) node.gpu_links = std::move(links);
  return any;
}

}  // namespace

void build_links(hwloc_topology_t topology, NodeTopology& node, const BuildIndex& index) {
  if (node.gpus.size() < 2) return;
  for (const auto& [matrix, name] : {std::pair{"NVLinkBandwidth", "NVLink"}, {"XGMIBandwidth", "xGMI"}}) {
    Distances distances(topology, matrix);
    if (!distances.found()) continue;
    distances.cross_switches();
    if (!fill(node, index, *distances)) continue;
    node.link_name = name;
    return;
  }
}

}  // namespace gw::topo
