// The made-up machines: two packages of cores; per package two host bridges, each with one PCIe switch that carries two
// GPUs and two InfiniBand adapters; with NVSwitches, NVLink bridges or no GPU links.
#include "topo/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gw::topo {
namespace {

enum class Links { kNone, kPairs, kNvSwitch };

struct Machine {
  const char* name;
  const char* product;
  const char* cpu_model;
  unsigned cores_per_package;
  unsigned l3_kib;
  uint64_t memory_gib;    // whole node
  const char* gpu_model;  // nullptr: neither GPUs nor InfiniBand
  const char* gpu_pci;    // device and subsystem ids
  uint64_t gpu_memory_kib;
  unsigned multiprocessors;
  const char* nic_pci;
  const char* link_speed;  // GB/s of the PCIe slots
  Links links;
};

constexpr unsigned kPackages = 2;
constexpr unsigned kThreads = 2;
constexpr unsigned kSwitchesPerPackage = 2;
constexpr unsigned kGpusPerSwitch = 2;
constexpr unsigned kGpus = kPackages * kSwitchesPerPackage * kGpusPerSwitch;
constexpr unsigned kNvSwitches = 4;
constexpr unsigned kLinkMbps = 25'000;
constexpr unsigned kBridgedPairLinks = 12;
constexpr std::array<unsigned, kNvSwitches> kLinksToNvSwitch{5, 4, 4, 5};

constexpr std::array kMachines{
    Machine{"dgx-h100", "NVIDIA DGX H100", "Intel(R) Xeon(R) Platinum 8480C", 56, 107'520, 2048,
            "NVIDIA H100 80GB HBM3", "[10de:2330] [10de:16c1] a1", 83'026'944, 132, "[15b3:1021] [15b3:0041] 00",
            "63.015385", Links::kNvSwitch},
    Machine{"a100-pcie", "Generic 8x A100 PCIe", "Intel(R) Xeon(R) Platinum 8480+", 56, 107'520, 1024,
            "NVIDIA A100-PCIE-40GB", "[10de:20f1] [10de:145f] a1", 41'490'432, 108, "[15b3:101b] [15b3:0007] 00",
            "31.507692", Links::kPairs},
    Machine{"l40s", "Generic 8x L40S", "Intel(R) Xeon(R) Platinum 8480+", 56, 107'520, 1024, "NVIDIA L40S",
            "[10de:26b9] [10de:1851] a1", 47'185'920, 142, "[15b3:101b] [15b3:0007] 00", "31.507692", Links::kNone},
    Machine{"cpu", "Generic 2x 32 cores", "AMD EPYC 9334 32-Core Processor", 32, 131'072, 512, nullptr, nullptr, 0, 0,
            nullptr, nullptr, Links::kNone},
};

// hwloc's bitmap text: 32-bit words in hex, most significant first.
std::string bitmap(const std::vector<unsigned>& bits) {
  std::vector<uint32_t> words(1, 0);
  for (const unsigned bit : bits) {
    if (words.size() <= bit / 32) words.resize(bit / 32 + 1, 0);
    words[bit / 32] |= uint32_t{1} << (bit % 32);
  }
  std::string text;
  for (size_t i = words.size(); i-- > 0;) text += fmt::format("{}0x{:08x}", text.empty() ? "" : ",", words[i]);
  return text;
}

// Puts one machine's text together. Object numbers (gp_index) count up from 1.
class Writer {
 public:
  explicit Writer(const Machine& m) : m_(m) {}

  std::string write() {
    out_ =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
        "<topology version=\"2.0\">\n";
    machine();
    numa_latency();
    if (m_.links == Links::kPairs) pair_matrix();
    if (m_.links == Links::kNvSwitch) nvswitch_matrix();
    return out_ + "</topology>\n";
  }

 private:
  const Machine& m_;
  std::string out_;
  unsigned next_gp_ = 1;
  unsigned gpu_ = 0;
  unsigned nic_ = 0;
  std::vector<unsigned> gpu_gp_;
  std::vector<unsigned> nvswitch_gp_;

  unsigned gp() { return next_gp_++; }
  void info(std::string_view name, std::string_view value) {
    out_ += fmt::format("<info name=\"{}\" value=\"{}\"/>\n", name, value);
  }
  void close(int n = 1) {
    while (n-- > 0) out_ += "</object>\n";
  }

  unsigned pu_count() const { return kPackages * m_.cores_per_package * kThreads; }
  // Socket by socket the first threads, then the second ones.
  std::vector<unsigned> pus_of_core(unsigned package, unsigned core) const {
    const unsigned first = package * m_.cores_per_package + core;
    return {first, first + pu_count() / kThreads};
  }
  std::vector<unsigned> pus_of_package(unsigned package) const {
    std::vector<unsigned> pus;
    for (unsigned core = 0; core < m_.cores_per_package; ++core) {
      for (const unsigned pu : pus_of_core(package, core)) pus.push_back(pu);
    }
    return pus;
  }

  static std::string sets(const std::vector<unsigned>& pus, const std::vector<unsigned>& nodes) {
    const auto c = bitmap(pus), n = bitmap(nodes);
    return fmt::format("cpuset=\"{0}\" complete_cpuset=\"{0}\" nodeset=\"{1}\" complete_nodeset=\"{1}\"", c, n);
  }

  void machine() {
    std::vector<unsigned> all(pu_count());
    for (unsigned i = 0; i < all.size(); ++i) all[i] = i;
    out_ += fmt::format(
        "<object type=\"Machine\" os_index=\"0\" {} allowed_cpuset=\"{}\" allowed_nodeset=\"{}\" gp_index=\"{}\">\n",
        sets(all, {0, 1}), bitmap(all), bitmap({0, 1}), gp());
    info("DMIProductName", m_.product);
    info("Backend", "Linux");
    for (unsigned p = 0; p < kPackages; ++p) package(p);
    close();
  }

  void package(unsigned p) {
    const auto pus = pus_of_package(p);
    out_ += fmt::format("<object type=\"Package\" os_index=\"{}\" {} gp_index=\"{}\">\n", p, sets(pus, {p}), gp());
    info("CPUModel", m_.cpu_model);
    numa_node(p, pus);
    out_ += fmt::format(
        "<object type=\"L3Cache\" {} gp_index=\"{}\" cache_size=\"{}\" depth=\"3\" cache_linesize=\"64\" "
        "cache_associativity=\"15\" cache_type=\"0\">\n",
        sets(pus, {p}), gp(), uint64_t{m_.l3_kib} * 1024);
    for (unsigned c = 0; c < m_.cores_per_package; ++c) core(p, c);
    close();
    if (m_.gpu_model != nullptr) devices(p);
    close();
  }

  void numa_node(unsigned p, const std::vector<unsigned>& pus) {
    const uint64_t bytes = (m_.memory_gib << 30) / kPackages;
    out_ += fmt::format("<object type=\"NUMANode\" os_index=\"{}\" {} gp_index=\"{}\" local_memory=\"{}\">\n", p,
                        sets(pus, {p}), gp(), bytes);
    out_ += fmt::format("<page_type size=\"4096\" count=\"{}\"/>\n", bytes / 4096);
    close();
  }

  void core(unsigned p, unsigned c) {
    const auto pus = pus_of_core(p, c);
    out_ += fmt::format("<object type=\"Core\" os_index=\"{}\" {} gp_index=\"{}\">\n", c, sets(pus, {p}), gp());
    for (const unsigned pu : pus) {
      out_ += fmt::format("<object type=\"PU\" os_index=\"{}\" {} gp_index=\"{}\"/>\n", pu, sets({pu}, {p}), gp());
    }
    close();
  }

  void devices(unsigned p) {
    for (unsigned s = 0; s < kSwitchesPerPackage; ++s) pcie_tree(0x10 + (p * kSwitchesPerPackage + s) * 0x20);
    if (m_.links == Links::kNvSwitch && p == kPackages - 1) nvswitches(0xa0);
  }

  void bridge(unsigned depth, unsigned bus, unsigned dev, unsigned first, unsigned last, const char* ids) {
    out_ += fmt::format(
        "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"1-1\" depth=\"{}\" bridge_pci=\"0000:[{:02x}-{:02x}]\" "
        "pci_busid=\"0000:{:02x}:{:02x}.0\" pci_type=\"0604 {}\" pci_link_speed=\"{}\">\n",
        gp(), depth, first, last, bus, dev, ids, m_.link_speed);
  }
  void host_bridge(unsigned first, unsigned last) {
    out_ += fmt::format(
        "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"0-1\" depth=\"0\" "
        "bridge_pci=\"0000:[{:02x}-{:02x}]\">\n",
        gp(), first, last);
  }

  // Host bridge, root port, switch, and a downstream port for each of two GPUs and two adapters.
  void pcie_tree(unsigned base) {
    constexpr const char* kRootPort = "[8086:352a] [8086:0000] 04";
    constexpr const char* kSwitchPort = "[1000:c030] [1000:a064] b0";
    constexpr unsigned kDevices = 2 * kGpusPerSwitch;
    const unsigned last = base + 2 + kDevices;
    host_bridge(base, last);
    bridge(1, base, 1, base + 1, last, kRootPort);
    bridge(2, base + 1, 0, base + 2, last, kSwitchPort);
    for (unsigned i = 0; i < kDevices; ++i) {
      const unsigned bus = base + 3 + i;
      bridge(3, base + 2, i, bus, bus, kSwitchPort);
      if (i < kGpusPerSwitch) {
        gpu(bus);
      } else {
        nic(bus);
      }
      close();
    }
    close(3);
  }

  void pci_device(unsigned bus, const std::string& type, const char* subtype = "") {
    out_ += fmt::format(
        "<object type=\"PCIDev\" {}gp_index=\"{}\" pci_busid=\"0000:{:02x}:00.0\" pci_type=\"{}\" "
        "pci_link_speed=\"{}\">\n",
        subtype, gp(), bus, type, m_.link_speed);
  }

  void gpu(unsigned bus) {
    pci_device(bus, fmt::format("0302 {}", m_.gpu_pci));
    info("PCIVendor", "NVIDIA Corporation");
    out_ += fmt::format("<object type=\"OSDev\" gp_index=\"{}\" name=\"cuda{}\" subtype=\"CUDA\" osdev_type=\"5\">\n",
                        gp(), gpu_);
    info("Backend", "CUDA");
    info("GPUVendor", "NVIDIA Corporation");
    info("GPUModel", m_.gpu_model);
    info("CUDAGlobalMemorySize", std::to_string(m_.gpu_memory_kib));
    info("CUDAMultiProcessors", std::to_string(m_.multiprocessors));
    close();
    gpu_gp_.push_back(gp());
    out_ += fmt::format("<object type=\"OSDev\" gp_index=\"{}\" name=\"nvml{}\" subtype=\"NVML\" osdev_type=\"1\">\n",
                        gpu_gp_.back(), gpu_);
    info("Backend", "NVML");
    info("GPUVendor", "NVIDIA Corporation");
    info("GPUModel", m_.gpu_model);
    info("NVIDIASerial", fmt::format("{:013}", 1000 + gpu_));
    info("NVIDIAUUID", fmt::format("GPU-00000000-0000-4000-8000-{:012x}", 0x9a7e000 + gpu_));
    close(2);
    ++gpu_;
  }

  void nic(unsigned bus) {
    pci_device(bus, fmt::format("0207 {}", m_.nic_pci));
    info("PCIVendor", "Mellanox Technologies");
    out_ += fmt::format("<object type=\"OSDev\" gp_index=\"{}\" name=\"ibp{}s0\" osdev_type=\"2\">\n", gp(), bus);
    info("Address", fmt::format("00:00:10:49:fe:80:00:00:00:00:00:00:9a:7e:00:03:00:00:00:{:02x}", nic_));
    close();
    out_ += fmt::format("<object type=\"OSDev\" gp_index=\"{}\" name=\"mlx5_{}\" osdev_type=\"3\">\n", gp(), nic_);
    info("NodeGUID", fmt::format("9a7e:0003:0000:{:04x}", nic_));
    info("Port1State", "4");
    info("Port1LID", fmt::format("0x{:x}", 0x10 + nic_));
    close(2);
    ++nic_;
  }

  void nvswitches(unsigned base) {
    host_bridge(base, base + kNvSwitches);
    for (unsigned i = 0; i < kNvSwitches; ++i) {
      const unsigned bus = base + 1 + i;
      bridge(1, base, 1 + i, bus, bus, "[8086:352a] [8086:0000] 04");
      nvswitch_gp_.push_back(next_gp_);
      pci_device(bus, "0680 [10de:22a3] [10de:1796] a1", "subtype=\"NVSwitch\" ");
      close(2);
    }
    close();
  }

  // hwloc counts the bytes of every chunk of ten values.
  void chunks(const char* tag, const std::vector<std::string>& values) {
    for (size_t i = 0; i < values.size(); i += 10) {
      std::string text;
      for (size_t k = i; k < std::min(values.size(), i + 10); ++k) text += values[k] + " ";
      out_ += fmt::format("<{0} length=\"{1}\">{2}</{0}>\n", tag, text.size(), text);
    }
  }

  void numa_latency() {
    out_ += "<distances2 type=\"NUMANode\" nbobjs=\"2\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">\n";
    chunks("indexes", {"0", "1"});
    chunks("u64values", {"10", "21", "21", "10"});
    out_ += "</distances2>\n";
  }

  void pair_matrix() {
    std::vector<std::string> indexes, values;
    for (unsigned i = 0; i < kGpus; ++i) {
      indexes.push_back(std::to_string(gpu_gp_[i]));
      for (unsigned j = 0; j < kGpus; ++j) {
        const unsigned pair = i / 2 == j / 2 ? kBridgedPairLinks * kLinkMbps : 0;
        values.push_back(std::to_string(i == j ? 1'000'000 : pair));
      }
    }
    out_ += fmt::format(
        "<distances2 type=\"OSDev\" nbobjs=\"{}\" kind=\"9\" name=\"NVLinkBandwidth\" indexing=\"gp\">\n", kGpus);
    chunks("indexes", indexes);
    chunks("u64values", values);
    out_ += "</distances2>\n";
  }

  // GPUs see only the switches: each GPU has 5, 4, 4 and 5 links to the four of them.
  void nvswitch_matrix() {
    std::vector<std::string> indexes, values;
    for (const unsigned gpu_index : gpu_gp_) indexes.push_back(fmt::format("OSDev:{}", gpu_index));
    for (const unsigned switch_index : nvswitch_gp_) indexes.push_back(fmt::format("PCIDev:{}", switch_index));
    const unsigned n = kGpus + kNvSwitches;
    for (unsigned i = 0; i < n; ++i) {
      for (unsigned j = 0; j < n; ++j) {
        const bool crosses = (i < kGpus) != (j < kGpus);
        const unsigned links = crosses ? kLinksToNvSwitch[std::max(i, j) - kGpus] : 0;
        values.push_back(std::to_string(i == j ? 1'000'000 : links * kLinkMbps));
      }
    }
    out_ += fmt::format("<distances2hetero nbobjs=\"{}\" kind=\"25\" name=\"NVLinkBandwidth\">\n", n);
    chunks("indexes", indexes);
    chunks("u64values", values);
    out_ += "</distances2hetero>\n";
  }
};

}  // namespace

std::vector<std::string> generated_names() {
  std::vector<std::string> names;
  for (const auto& m : kMachines) names.emplace_back(m.name);
  return names;
}

base::Result<std::string> generate_xml(const std::string& name) {
  for (const auto& m : kMachines) {
    if (name == m.name) return Writer(m).write();
  }
  const auto names = generated_names();
  const auto guess = base::did_you_mean(name, names);
  return base::fail(base::ErrorCode::kNotFound, "there is no topology named \"" + base::printable(name, 64) + "\"",
                    (guess.empty() ? std::string() : guess + " ") + "known are: " + base::join(names, ", "));
}

}  // namespace gw::topo
