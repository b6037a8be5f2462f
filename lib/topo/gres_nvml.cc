// NVIDIA GPUs through NVML. The prototypes below are the stable C interface of libnvidia-ml.so.1, as far as it is used.
#include <fmt/format.h>

#include <array>
#include <map>

#include "base/text.h"
#include "topo/gpu_names.h"
#include "topo/gres_internal.h"

namespace gw::topo {
namespace {

using model::Gpu;
using model::NodeTopology;

struct NvmlDevice;  // opaque
struct NvmlPciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr int kOk = 0;
constexpr unsigned kMaxLinks = 36;
constexpr unsigned kRemoteGpu = 0;
constexpr unsigned kRemoteSwitch = 2;

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, NvmlDevice**) = nullptr;
  int (*pci_info)(NvmlDevice*, NvmlPciInfo*) = nullptr;
  int (*uuid)(NvmlDevice*, char*, unsigned) = nullptr;
  int (*name)(NvmlDevice*, char*, unsigned) = nullptr;
  int (*memory)(NvmlDevice*, NvmlMemory*) = nullptr;
  int (*minor)(NvmlDevice*, unsigned*) = nullptr;
  // Missing in old drivers:
  int (*link_state)(NvmlDevice*, unsigned, unsigned*) = nullptr;
  int (*link_version)(NvmlDevice*, unsigned, unsigned*) = nullptr;
  int (*link_remote)(NvmlDevice*, unsigned, NvmlPciInfo*) = nullptr;
  int (*link_remote_type)(NvmlDevice*, unsigned, unsigned*) = nullptr;

  bool bind(const Library& lib) {
    lib.find(error_string, "nvmlErrorString");
    lib.find(link_state, "nvmlDeviceGetNvLinkState");
    lib.find(link_version, "nvmlDeviceGetNvLinkVersion");
    lib.find(link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
    if (!lib.find(link_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2")) link_state = nullptr;
    return lib.find(init, "nvmlInit_v2") && lib.find(shutdown, "nvmlShutdown") &&
           lib.find(count, "nvmlDeviceGetCount_v2") && lib.find(handle, "nvmlDeviceGetHandleByIndex_v2") &&
           lib.find(pci_info, "nvmlDeviceGetPciInfo_v3") && lib.find(uuid, "nvmlDeviceGetUUID") &&
           lib.find(name, "nvmlDeviceGetName") && lib.find(memory, "nvmlDeviceGetMemoryInfo") &&
           lib.find(minor, "nvmlDeviceGetMinorNumber");
  }
  std::string text(int code) const {
    const char* t = error_string != nullptr ? error_string(code) : nullptr;
    return t != nullptr ? base::printable(t, 96) : fmt::format("error {}", code);
  }
};

class NvmlReader {
 public:
  NvmlReader(const Nvml& nvml, NodeTopology& node, GresReport& report) : nvml_(nvml), node_(node), report_(report) {}

  void run() {
    unsigned count = 0;
    if (const int rc = nvml_.count(&count); rc != kOk) {
      report_.warnings.push_back("NVML cannot count the GPUs: " + nvml_.text(rc));
      return;
    }
    report_.nvml = true;
    for (unsigned i = 0; i < std::min(count, 1024U); ++i) add_device(i);
    for (uint32_t g = 0; g < node_.gpus.size(); ++g) {
      if (node_.gpus[g].vendor == "nvidia" && !devices_.contains(g)) {
        report_.warnings.push_back(
            fmt::format("GPU {} at {} is on the PCI bus, but the NVIDIA driver does not see it", g, node_.gpus[g].pci));
      }
    }
    add_links();
  }

 private:
  const Nvml& nvml_;
  NodeTopology& node_;
  GresReport& report_;
  std::map<uint32_t, NvmlDevice*> devices_;  // by GPU index

  // Index of the GPU in that PCI slot, or of none.
  uint32_t gpu_at(const NvmlPciInfo& pci) const {
    const auto slot = pci_slot(uint64_t{pci.domain}, uint64_t{pci.bus}, uint64_t{pci.device});
    for (uint32_t g = 0; g < node_.gpus.size(); ++g) {
      if (pci_slot(node_.gpus[g].pci) == slot) return g;
    }
    return UINT32_MAX;
  }

  void add_device(unsigned index) {
    NvmlDevice* device = nullptr;
    NvmlPciInfo pci{};
    int rc = nvml_.handle(index, &device);
    if (rc == kOk) rc = nvml_.pci_info(device, &pci);
    if (rc != kOk) {
      report_.warnings.push_back(fmt::format("NVML cannot read its GPU {}: {}", index, nvml_.text(rc)));
      return;
    }
    const auto g = gpu_at(pci);
    if (g == UINT32_MAX) {
      report_.warnings.push_back(fmt::format("NVML shows a GPU at {:04x}:{:02x}:{:02x}.0 that is not on the PCI bus",
                                             pci.domain, pci.bus, pci.device));
      return;
    }
    devices_[g] = device;
    describe(node_.gpus[g], device);
  }

  void describe(Gpu& gpu, NvmlDevice* device) const {
    std::array<char, 128> text{};
    if (nvml_.uuid(device, text.data(), text.size() - 1) == kOk) gpu.uuid = clean_uuid(text.data());
    text.fill(0);
    if (nvml_.name(device, text.data(), text.size() - 1) == kOk && text[0] != 0) {
      gpu.model = base::printable(text.data(), 96);
      if (auto type = type_from_model(gpu.model); !type.empty()) gpu.type = type;
    }
    NvmlMemory memory{};
    if (nvml_.memory(device, &memory) == kOk && memory.total > 0) gpu.memory_mb = memory.total >> 20;
    unsigned minor = 0;
    if (nvml_.minor(device, &minor) == kOk) gpu.devices = {fmt::format("/dev/nvidia{}", minor)};
  }

  uint64_t link_mbps(NvmlDevice* device, unsigned link) const {
    unsigned version = 0;
    if (nvml_.link_version == nullptr || nvml_.link_version(device, link, &version) != kOk) return 25'000;
    // NVML counts NVLink versions 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0 from 1 on.
    if (version <= 1) return 20'000;
    return version >= 7 ? 50'000 : 25'000;
  }

  // NVLinks lead to another GPU or to a switch; two GPUs with links to switches reach each other through them.
  void add_links() {
    if (nvml_.link_state == nullptr) return;
    const size_t n = node_.gpus.size();
    LinkMatrix links(n, std::vector<uint64_t>(n, 0));
    std::vector<uint64_t> to_switch(n, 0);
    for (const auto& [g, device] : devices_) {
      for (unsigned link = 0; link < kMaxLinks; ++link) add_link(g, device, link, links, to_switch);
    }
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) links[i][j] += std::min(to_switch[i], to_switch[j]);
    }
    set_links(node_, std::move(links), "NVLink");
  }

  void add_link(uint32_t g, NvmlDevice* device, unsigned link, LinkMatrix& links,
                std::vector<uint64_t>& to_switch) const {
    unsigned active = 0;
    if (nvml_.link_state(device, link, &active) != kOk || active == 0) return;
    unsigned kind = UINT32_MAX;
    if (nvml_.link_remote_type != nullptr && nvml_.link_remote_type(device, link, &kind) != kOk) kind = UINT32_MAX;
    if (kind == kRemoteSwitch) {
      to_switch[g] += link_mbps(device, link);
      return;
    }
    NvmlPciInfo remote{};
    if (kind != kRemoteGpu && kind != UINT32_MAX) return;  // a link to the processor
    if (nvml_.link_remote(device, link, &remote) != kOk) return;
    const auto other = gpu_at(remote);
    if (other != UINT32_MAX && other != g) {
      links[g][other] += link_mbps(device, link);
    } else if (kind == UINT32_MAX && is_nvswitch(remote)) {
      to_switch[g] += link_mbps(device, link);
    }
  }

  // Old drivers tell no kind: V100's, A100's and H100's switches by PCI id (device in the high half).
  static bool is_nvswitch(const NvmlPciInfo& pci) {
    return pci.pci_device_id == 0x1ac210de || pci.pci_device_id == 0x1af110de || pci.pci_device_id == 0x22a310de;
  }
};

}  // namespace

void add_nvml(NodeTopology& node, const Library& library, GresReport& report) {
  Nvml nvml;
  if (!nvml.bind(library)) {
    report.warnings.emplace_back("the NVML library is too old: it lacks functions that are needed");
    return;
  }
  if (const int rc = nvml.init(); rc != kOk) {
    report.warnings.push_back("NVML does not start: " + nvml.text(rc));
    return;
  }
  NvmlReader(nvml, node, report).run();
  nvml.shutdown();
}

}  // namespace gw::topo
