// Sockets, NUMA nodes, cores and memory from an hwloc topology.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "topo/hwloc_build.h"

namespace gw::topo {
namespace {

using model::Core;
using model::NodeTopology;
using model::NumaNode;

constexpr int kMaxCores = 65'536;
constexpr uint32_t kMaxPu = 65'535;

uint32_t socket_of(hwloc_topology_t topology, hwloc_obj_t obj) {
  const auto package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, obj);
  return package != nullptr ? package->logical_index : 0;
}

// Memory of a GPU that the kernel shows as a NUMA node (POWER9, Grace Hopper) is not the node's to give away.
bool is_gpu_memory(hwloc_obj_t numa) { return numa->subtype != nullptr && std::string(numa->subtype) == "GPUMemory"; }

void build_numa(hwloc_topology_t topology, NodeTopology& node, BuildIndex& index) {
  for (hwloc_obj_t obj = nullptr; (obj = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, obj)) != nullptr;) {
    if (is_gpu_memory(obj)) continue;
    const uint64_t memory_mb = obj->attr != nullptr ? obj->attr->numanode.local_memory >> 20 : 0;
    node.numa_nodes.push_back({.os_index = obj->os_index, .socket = socket_of(topology, obj), .memory_mb = memory_mb});
    node.memory_mb += memory_mb;
    index.numa_objs.push_back(obj);
  }
}

uint32_t numa_of(hwloc_obj_t obj, const BuildIndex& index) {
  for (uint32_t i = 0; obj->nodeset != nullptr && i < index.numa_objs.size(); ++i) {
    if (hwloc_bitmap_isset(obj->nodeset, index.numa_objs[i]->os_index)) return i;
  }
  return 0;
}

// Numbers caches densely in the order in which cores meet them.
class CacheNumbers {
 public:
  uint32_t of(hwloc_obj_t core, uint32_t numa) {
    hwloc_obj_t last = nullptr;
    for (auto obj = core->parent; obj != nullptr; obj = obj->parent) {
      if (hwloc_obj_type_is_dcache(obj->type) && obj->type >= HWLOC_OBJ_L3CACHE) last = obj;
    }
    // Without an L3, cores of one NUMA node count as neighbours.
    const auto key = last != nullptr ? std::pair{uint64_t{last->gp_index}, true} : std::pair{uint64_t{numa}, false};
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::pair<uint64_t, bool>, uint32_t> numbers_;
};

std::vector<uint32_t> pus_of(hwloc_topology_t topology, hwloc_obj_t core) {
  std::vector<uint32_t> pus;
  if (core->type == HWLOC_OBJ_PU) return {core->os_index};
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_inside_cpuset_by_type(topology, core->cpuset, HWLOC_OBJ_PU, pu)) != nullptr;) {
    pus.push_back(pu->os_index);
  }
  return pus;
}

base::Status build_cores(hwloc_topology_t topology, NodeTopology& node, BuildIndex& index) {
  // Some virtual machines show processors without cores: each then counts as a core.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const auto type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  if (hwloc_get_nbobjs_by_type(topology, type) > kMaxCores) return base::invalid("the topology has over 65536 cores");
  CacheNumbers caches;
  for (hwloc_obj_t obj = nullptr; (obj = hwloc_get_next_obj_by_type(topology, type, obj)) != nullptr;) {
    Core core;
    core.socket = socket_of(topology, obj);
    core.numa = numa_of(obj, index);
    core.l3 = caches.of(obj, core.numa);
    core.pus = pus_of(topology, obj);
    if (core.pus.empty()) continue;
    if (*std::max_element(core.pus.begin(), core.pus.end()) > kMaxPu) {
      return base::invalid("the topology has a processor numbered above 65535");
    }
    node.cores.push_back(std::move(core));
    index.core_objs.push_back(obj);
  }
  if (node.cores.empty()) return base::invalid("the topology has no processors");
  return {};
}

std::string product_of(hwloc_obj_t root) {
  for (const char* key : {"DMIProductName", "PlatformModel"}) {
    if (auto name = info_of(root, key); !name.empty()) return name;
  }
  return {};
}

}  // namespace

std::string info_of(hwloc_obj_t obj, const char* key) {
  const char* value = hwloc_obj_get_info_by_name(obj, key);
  return value != nullptr ? base::printable(base::trim(value), 96) : std::string();
}

base::Status build_cpus(hwloc_topology_t topology, NodeTopology& node, BuildIndex& index) {
  node.product = product_of(hwloc_get_root_obj(topology));
  node.sockets = static_cast<uint32_t>(std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE)));
  build_numa(topology, node, index);
  if (node.numa_nodes.empty()) return base::invalid("the topology has no NUMA node: it tells no memory");
  return build_cores(topology, node, index);
}

}  // namespace gw::topo
