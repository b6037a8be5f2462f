// GPUs and NICs from the PCI part of an hwloc topology: which they are, and where they hang.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "topo/gpu_names.h"
#include "topo/hwloc_build.h"

namespace gw::topo {
namespace {

using model::Gpu;
using model::Nic;
using model::NodeTopology;

constexpr size_t kMaxGpus = 1024;
constexpr size_t kMaxNics = 1024;

const auto& pci(hwloc_obj_t dev) { return dev->attr->pcidev; }

auto pci_key(hwloc_obj_t dev) {
  const auto& p = pci(dev);
  return std::tuple(uint32_t{p.domain}, uint32_t{p.bus}, uint32_t{p.dev}, uint32_t{p.func});
}
// A card: what shares domain, bus and device number. Functions of one card are no neighbours of each other.
uint64_t slot_of(hwloc_obj_t dev) {
  const auto& p = pci(dev);
  return uint64_t{p.domain} << 16 | uint64_t{p.bus} << 8 | p.dev;
}
std::string pci_text(hwloc_obj_t dev) {
  const auto& p = pci(dev);
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", p.domain, p.bus, p.dev, p.func);
}

std::vector<hwloc_obj_t> os_devices(hwloc_obj_t dev) {
  std::vector<hwloc_obj_t> out;
  for (auto child = dev->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type == HWLOC_OBJ_OS_DEVICE && child->name != nullptr) out.push_back(child);
  }
  return out;
}

// Gives dense numbers to PCIe switches and host bridges in the order in which devices meet them. A device without one
// gets a number of its own, by its card.
class Places {
 public:
  void place(hwloc_obj_t dev, uint32_t& pcie_switch, uint32_t& host_bridge) {
    std::vector<hwloc_obj_t> chain;  // PCI bridges above the device, nearest first, root port last
    hwloc_obj_t host = nullptr;
    for (auto obj = dev->parent; obj != nullptr && obj->type == HWLOC_OBJ_BRIDGE; obj = obj->parent) {
      if (obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
        host = obj;
      } else {
        chain.push_back(obj);
      }
    }
    pcie_switch = number(switches_, nearest_switch(chain), dev);
    host_bridge = number(hosts_, host, dev);
  }

 private:
  using Key = std::pair<uint64_t, bool>;
  std::map<Key, uint32_t> switches_;
  std::map<Key, uint32_t> hosts_;

  static uint32_t number(std::map<Key, uint32_t>& numbers, hwloc_obj_t bridge, hwloc_obj_t dev) {
    const Key key = bridge != nullptr ? Key{bridge->gp_index, true} : Key{slot_of(dev), false};
    return numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second;
  }

  // A switch is an upstream port: it has a downstream port below it and a root port above it. One that carries a single
  // card is inside that card (AMD's MI50 has one): the next one up counts.
  static hwloc_obj_t nearest_switch(const std::vector<hwloc_obj_t>& chain) {
    for (size_t i = 1; i + 1 < chain.size(); ++i) {
      std::set<uint64_t> cards;
      collect_cards(chain[i], cards);
      if (cards.size() > 1) return chain[i];
    }
    return nullptr;
  }

  static void collect_cards(hwloc_obj_t bridge, std::set<uint64_t>& cards) {
    for (auto child = bridge->io_first_child; child != nullptr && cards.size() < 2; child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_PCI_DEVICE) cards.insert(slot_of(child));
      if (child->type == HWLOC_OBJ_BRIDGE) collect_cards(child, cards);
    }
  }
};

struct Builder {
  hwloc_topology_t topology;
  NodeTopology& node;
  BuildIndex& index;
  Places places;

  std::vector<hwloc_obj_t> pci_devices() const {
    std::vector<hwloc_obj_t> devices;
    for (hwloc_obj_t d = nullptr; (d = hwloc_get_next_pcidev(topology, d)) != nullptr;) devices.push_back(d);
    std::stable_sort(devices.begin(), devices.end(), [](auto a, auto b) { return pci_key(a) < pci_key(b); });
    return devices;
  }

  // The processors next to a device: its ancestor outside I/O is a package, a group (sub-NUMA clusters) or an L3.
  hwloc_obj_t home_of(hwloc_obj_t dev) const {
    const auto home = hwloc_get_non_io_ancestor_obj(topology, dev);
    return home != nullptr ? home : hwloc_get_root_obj(topology);
  }
  uint32_t numa_of(hwloc_obj_t home) const {
    for (uint32_t i = 0; home->nodeset != nullptr && i < index.numa_objs.size(); ++i) {
      if (hwloc_bitmap_isset(home->nodeset, index.numa_objs[i]->os_index)) return i;
    }
    return 0;
  }
  uint32_t socket_of(hwloc_obj_t home, uint32_t numa) const {
    const auto package =
        home->type == HWLOC_OBJ_PACKAGE ? home : hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, home);
    return package != nullptr ? package->logical_index : node.numa_nodes[numa].socket;
  }
  std::vector<uint32_t> cores_of(hwloc_obj_t home) const {
    std::vector<uint32_t> cores;
    for (uint32_t i = 0; home->cpuset != nullptr && i < index.core_objs.size(); ++i) {
      if (hwloc_bitmap_intersects(index.core_objs[i]->cpuset, home->cpuset)) cores.push_back(i);
    }
    return cores;
  }

  void add_gpu(hwloc_obj_t dev);
  void add_nic(hwloc_obj_t dev);
};

// rsmi12 after rsmi2.
bool natural_less(hwloc_obj_t a, hwloc_obj_t b) {
  const std::string x = a->name, y = b->name;
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

bool is_backend(hwloc_obj_t os_device, std::string_view prefix) {
  return std::string_view(os_device->name).starts_with(prefix);
}

std::vector<hwloc_obj_t> partitions_of(const std::vector<hwloc_obj_t>& os_devs) {
  std::vector<hwloc_obj_t> parts;
  std::copy_if(os_devs.begin(), os_devs.end(), std::back_inserter(parts), [](auto d) { return is_backend(d, "rsmi"); });
  std::sort(parts.begin(), parts.end(), natural_less);
  return parts;
}

// First non-empty value over the OS devices, the vendor's own libraries before OpenCL.
std::string first_info(const std::vector<hwloc_obj_t>& os_devs, const char* key) {
  for (const char* prefix : {"nvml", "cuda", "rsmi", "ze", "opencl", ""}) {
    for (const auto dev : os_devs) {
      if (!is_backend(dev, prefix)) continue;
      if (auto value = info_of(dev, key); !value.empty()) return value;
    }
  }
  return {};
}

uint64_t memory_mb(const std::vector<hwloc_obj_t>& os_devs, const std::string& model) {
  for (const char* key : {"CUDAGlobalMemorySize", "RSMIVRAMSize", "LevelZeroHBMSize", "OpenCLGlobalMemorySize"}) {
    const auto text = first_info(os_devs, key);
    uint64_t kib = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kib);
    if (error == std::errc() && end == text.data() + text.size() && kib > 0) return kib / 1024;
  }
  return memory_from_model(model);
}

std::string uuid_of(const std::vector<hwloc_obj_t>& os_devs) {
  if (auto id = clean_uuid(first_info(os_devs, "NVIDIAUUID")); !id.empty()) return id;
  return amd_uuid(first_info(os_devs, "AMDUUID"));
}

// Device files that containment must open for this GPU. NVIDIA's minor numbers only NVML knows.
std::vector<std::string> device_files(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& os_devs,
                                      uint16_t vendor) {
  std::vector<std::string> files;
  if (hwloc_topology_is_thissystem(topology) != 1 || vendor == kPciNvidia) return files;
  if (vendor == kPciAmd) files.emplace_back("/dev/kfd");
  for (const auto dev : os_devs) {
    if (is_backend(dev, "renderD")) files.push_back(std::string("/dev/dri/") + base::printable(dev->name, 64));
  }
  return files;
}

std::string model_of(const std::vector<hwloc_obj_t>& os_devs, const std::string& pci_name) {
  auto model = first_info(os_devs, "GPUModel");
  if (model.starts_with("deon ")) model = "Ra" + model;  // old ROCm SMI cut the first letters of "Radeon" off
  return model.empty() ? pci_name : model;
}

void Builder::add_gpu(hwloc_obj_t dev) {
  const auto os_devs = os_devices(dev);
  const auto parts = partitions_of(os_devs);
  const auto& p = pci(dev);
  const auto pci_name = info_of(dev, "PCIDevice");
  Gpu gpu;
  gpu.model = model_of(os_devs, pci_name);
  gpu.type = gpu_type(gpu.model, pci_name, p.vendor_id, p.device_id);
  gpu.vendor = vendor_name(p.vendor_id);
  gpu.pci = pci_text(dev);
  const auto home = home_of(dev);
  gpu.numa = numa_of(home);
  gpu.socket = socket_of(home, gpu.numa);
  gpu.near_cores = cores_of(home);
  gpu.devices = device_files(topology, os_devs, p.vendor_id);
  places.place(dev, gpu.pcie_switch, gpu.host_bridge);

  const auto first = static_cast<uint32_t>(node.gpus.size());
  for (const auto d : os_devs) index.gpu_of_device[d] = first;
  const auto count = std::max<size_t>(1, parts.size());
  for (uint32_t i = 0; i < count; ++i) {
    // Of several partitions each tells its own memory and id; one alone is the whole device.
    const auto& sources = count > 1 ? std::vector<hwloc_obj_t>{parts[i]} : os_devs;
    gpu.partition = i;
    gpu.uuid = uuid_of(sources);
    gpu.memory_mb = memory_mb(sources, count > 1 ? std::string() : gpu.model);
    if (i < parts.size()) index.gpu_of_device[parts[i]] = first + i;
    node.gpus.push_back(gpu);
  }
}

hwloc_obj_t first_of_type(const std::vector<hwloc_obj_t>& os_devs, hwloc_obj_osdev_type_t type) {
  hwloc_obj_t best = nullptr;
  for (const auto d : os_devs) {
    if (d->attr->osdev.type == type && (best == nullptr || natural_less(d, best))) best = d;
  }
  return best;
}

// One adapter port: its verbs device (mlx5_0, rdmap197s0) and its network interface are the same NIC. Programs choose
// by the verbs name, so that one wins.
void Builder::add_nic(hwloc_obj_t dev) {
  const auto os_devs = os_devices(dev);
  const auto verbs = first_of_type(os_devs, HWLOC_OBJ_OSDEV_OPENFABRICS);
  const auto net = first_of_type(os_devs, HWLOC_OBJ_OSDEV_NETWORK);
  if (verbs == nullptr && net == nullptr) return;
  Nic nic;
  nic.name = base::printable((verbs != nullptr ? verbs : net)->name, 64);
  nic.pci = pci_text(dev);
  nic.kind = pci(dev).class_id == 0x0207 ? "infiniband" : "ethernet";
  const auto home = home_of(dev);
  nic.numa = numa_of(home);
  nic.socket = socket_of(home, nic.numa);
  places.place(dev, nic.pcie_switch, nic.host_bridge);
  node.nics.push_back(std::move(nic));
}

}  // namespace

base::Status build_devices(hwloc_topology_t topology, NodeTopology& node, BuildIndex& index) {
  Builder builder{topology, node, index, {}};
  const auto devices = builder.pci_devices();
  for (const auto dev : devices) {
    const auto& p = pci(dev);
    if (is_compute_gpu(p.class_id, p.vendor_id, p.device_id)) builder.add_gpu(dev);
    if (node.gpus.size() > kMaxGpus) return base::invalid("the topology has over 1024 GPUs");
  }
  for (const auto dev : devices) {
    if (pci(dev).class_id >> 8 == 0x02) builder.add_nic(dev);
    if (node.nics.size() > kMaxNics) return base::invalid("the topology has over 1024 network adapters");
  }
  return {};
}

}  // namespace gw::topo
