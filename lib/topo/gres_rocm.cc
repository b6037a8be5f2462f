// AMD GPUs through ROCm SMI. The prototypes below are the C interface of librocm_smi64, as far as it is used.
#include <fmt/format.h>

#include <array>
#include <map>
#include <span>

#include "base/text.h"
#include "topo/gpu_names.h"
#include "topo/gres_internal.h"

namespace gw::topo {
namespace {

using model::Gpu;
using model::NodeTopology;

constexpr int kOk = 0;
constexpr int kVram = 0;
constexpr int kLinkXgmi = 2;
constexpr uint64_t kDefaultXgmiMbps = 100'000;
constexpr uint32_t kMaxDevices = 1024;

struct RocmSmi {
  int (*init)(uint64_t) = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(uint32_t*) = nullptr;
  int (*pci_id)(uint32_t, uint64_t*) = nullptr;
  // Missing in some releases:
  int (*unique_id)(uint32_t, uint64_t*) = nullptr;
  int (*name)(uint32_t, char*, size_t) = nullptr;
  int (*memory)(uint32_t, int, uint64_t*) = nullptr;
  int (*render_minor)(uint32_t, uint32_t*) = nullptr;
  int (*link_type)(uint32_t, uint32_t, uint64_t*, int*) = nullptr;
  int (*bandwidth)(uint32_t, uint32_t, uint64_t*, uint64_t*) = nullptr;

  bool bind(const Library& lib) {
    lib.find(unique_id, "rsmi_dev_unique_id_get");
    lib.find(name, "rsmi_dev_name_get");
    lib.find(memory, "rsmi_dev_memory_total_get");
    lib.find(render_minor, "rsmi_dev_drm_render_minor_get");
    lib.find(link_type, "rsmi_topo_get_link_type");
    lib.find(bandwidth, "rsmi_minmax_bandwidth_get");
    return lib.find(init, "rsmi_init") && lib.find(shutdown, "rsmi_shut_down") &&
           lib.find(count, "rsmi_num_monitor_devices") && lib.find(pci_id, "rsmi_dev_pci_id_get");
  }
};

class RocmReader {
 public:
  RocmReader(const RocmSmi& smi, NodeTopology& node, GresReport& report) : smi_(smi), node_(node), report_(report) {}

  void run() {
    uint32_t count = 0;
    if (const int rc = smi_.count(&count); rc != kOk) {
      report_.warnings.push_back(fmt::format("ROCm SMI cannot count the GPUs: error {}", rc));
      return;
    }
    report_.rocm_smi = true;
    find_devices(std::min(count, kMaxDevices));
    split_partitions();
    add_links();
  }

 private:
  const RocmSmi& smi_;
  NodeTopology& node_;
  GresReport& report_;
  std::map<uint64_t, std::vector<uint32_t>> at_slot_;  // PCI slot -> ROCm SMI indices, ascending
  std::vector<uint32_t> index_of_gpu_;                 // GPU index -> ROCm SMI index, or UINT32_MAX

  void find_devices(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t id = 0;
      if (const int rc = smi_.pci_id(i, &id); rc != kOk) {
        report_.warnings.push_back(fmt::format("ROCm SMI cannot read its GPU {}: error {}", i, rc));
        continue;
      }
      // Domain in the high half; bits 28 to 31 are the partition in newer releases.
      at_slot_[pci_slot(id >> 32, id >> 8 & 0xff, id >> 3 & 0x1f)].push_back(i);
    }
  }

  // hwloc shows one device per PCI address; in partition modes such as CPX the driver shows several.
  void split_partitions() {
    std::vector<Gpu> gpus;
    LinkMatrix old_links = std::move(node_.gpu_links);
    node_.gpu_links.clear();
    const auto before = node_.gpus.size();
    for (size_t g = 0; g < node_.gpus.size();) {
      size_t end = g + 1;
      const auto slot = pci_slot(node_.gpus[g].pci);
      while (end < node_.gpus.size() && pci_slot(node_.gpus[end].pci) == slot) ++end;
      add_slot(std::span(node_.gpus).subspan(g, end - g), slot, gpus);
      g = end;
    }
    node_.gpus = std::move(gpus);
    if (node_.gpus.size() == before) node_.gpu_links = std::move(old_links);
    if (node_.gpu_links.empty()) node_.link_name.clear();
  }

  void add_slot(std::span<const Gpu> known, uint64_t slot, std::vector<Gpu>& out) {
    const auto it = at_slot_.find(slot);
    const auto parts = it != at_slot_.end() ? it->second : std::vector<uint32_t>{};
    if (parts.empty() && known.front().vendor == "amd") {
      report_.warnings.push_back(
          fmt::format("the GPU at {} is on the PCI bus, but the AMD driver does not see it", known.front().pci));
    }
    for (size_t p = 0; p < std::max(known.size(), parts.size()); ++p) {
      Gpu gpu = known[std::min(p, known.size() - 1)];
      gpu.partition = static_cast<uint32_t>(p);
      if (p < parts.size()) describe(gpu, parts[p]);
      index_of_gpu_.push_back(p < parts.size() ? parts[p] : UINT32_MAX);
      out.push_back(std::move(gpu));
    }
  }

  void describe(Gpu& gpu, uint32_t index) const {
    uint64_t value = 0;
    if (smi_.unique_id != nullptr && smi_.unique_id(index, &value) == kOk)
      gpu.uuid = amd_uuid(fmt::format("{:x}", value));
    std::array<char, 128> text{};
    if (smi_.name != nullptr && smi_.name(index, text.data(), text.size() - 1) == kOk && text[0] != 0) {
      gpu.model = base::printable(text.data(), 96);
      if (auto type = type_from_model(gpu.model); !type.empty() && type != "mi200" && type != "mi300") gpu.type = type;
    }
    if (smi_.memory != nullptr && smi_.memory(index, kVram, &value) == kOk && value > 0) gpu.memory_mb = value >> 20;
    uint32_t minor = 0;
    if (smi_.render_minor != nullptr && smi_.render_minor(index, &minor) == kOk) {
      gpu.devices = {"/dev/kfd", fmt::format("/dev/dri/renderD{}", minor)};
    }
  }

  void add_links() {
    if (smi_.link_type == nullptr) return;
    const size_t n = node_.gpus.size();
    LinkMatrix links(n, std::vector<uint64_t>(n, 0));
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (i != j) links[i][j] = xgmi_mbps(index_of_gpu_[i], index_of_gpu_[j]);
      }
    }
    set_links(node_, std::move(links), "xGMI");
  }

  uint64_t xgmi_mbps(uint32_t a, uint32_t b) const {
    uint64_t hops = 0;
    int type = 0;
    if (a == UINT32_MAX || b == UINT32_MAX || smi_.link_type(a, b, &hops, &type) != kOk || type != kLinkXgmi) return 0;
    uint64_t least = 0, most = 0;
    if (smi_.bandwidth != nullptr && smi_.bandwidth(a, b, &least, &most) == kOk && most > 0) return most;
    return kDefaultXgmiMbps;
  }
};

}  // namespace

void add_rocm_smi(NodeTopology& node, const Library& library, GresReport& report) {
  RocmSmi smi;
  if (!smi.bind(library)) {
    report.warnings.emplace_back("the ROCm SMI library is too old: it lacks functions that are needed");
    return;
  }
  if (const int rc = smi.init(0); rc != kOk) {
    report.warnings.push_back(fmt::format("ROCm SMI does not start: error {}", rc));
    return;
  }
  RocmReader(smi, node, report).run();
  smi.shutdown();
}

}  // namespace gw::topo
