// What one machine looks like to the scheduler: sockets, NUMA nodes, cores, GPUs, NICs and how they hang together.
// Invariants (checked by validate()): indices are dense from 0; GPUs are numbered in PCI order; every core's and every
// GPU's NUMA index exists; `gpu_links` is symmetric with a zero diagonal and has gpus.size() rows, or is empty (no
// links).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace gw::model {

/// One physical core. `pus` are the operating system's processor numbers (hardware threads), first thread first.
struct Core {
  uint32_t socket = 0;
  uint32_t numa = 0;  ///< Index into NodeTopology::numa_nodes (not the OS index).
  uint32_t l3 = 0;    ///< Cores with equal l3 share a last-level cache.
  std::vector<uint32_t> pus;
  bool operator==(const Core&) const = default;
};

struct NumaNode {
  uint32_t os_index = 0;  ///< May have holes (POWER9: 0 and 8).
  uint32_t socket = 0;
  uint64_t memory_mb = 0;
  bool operator==(const NumaNode&) const = default;
};

/// One schedulable GPU: a PCI device, or one partition of it (an MI300A in CPX mode shows several).
struct Gpu {
  std::string type;    ///< Short lower-case type as users ask for it: "h100", "a100", "v100", "mi250x", "t4", "l40s".
  std::string model;   ///< As the vendor calls it: "NVIDIA H100 80GB HBM3".
  std::string vendor;  ///< "nvidia", "amd", "intel" or the PCI vendor in hex.
  std::string pci;     ///< "0000:18:00.0"
  uint32_t partition = 0;  ///< Index among the schedulable parts of one PCI device.
  uint32_t socket = 0;
  uint32_t numa = 0;
  uint32_t pcie_switch = 0;  ///< GPUs (and NICs) with equal numbers share a PCIe switch; unique number if alone.
  uint32_t host_bridge = 0;  ///< Likewise for the host bridge (root complex).
  std::vector<uint32_t> near_cores;  ///< Core indices closest by locality (L3, group, NUMA node or package), ascending.
  std::string uuid;                  ///< Where known.
  uint64_t memory_mb = 0;            ///< Where known.
  std::vector<std::string> devices;  ///< Device files such as /dev/nvidia0; empty on an emulated node.
  bool operator==(const Gpu&) const = default;
};

/// One network adapter worth choosing by (InfiniBand, RoCE, Slingshot, EFA; and plain Ethernet).
struct Nic {
  std::string name;  ///< "mlx5_0", "hsi0", "eth0"
  std::string pci;
  std::string kind;  ///< "infiniband" or "ethernet"
  uint32_t socket = 0;
  uint32_t numa = 0;
  uint32_t pcie_switch = 0;
  uint32_t host_bridge = 0;
  bool operator==(const Nic&) const = default;
};

/// The machine. `gpu_links` is the point-to-point interconnect (NVLink, xGMI); only relative meaning within one matrix.
struct NodeTopology {
  std::string product;    ///< Machine model as DMI names it; may be empty.
  std::string link_name;  ///< "NVLink", "xGMI" or empty.
  uint32_t sockets = 0;
  std::vector<NumaNode> numa_nodes;
  std::vector<Core> cores;
  uint64_t memory_mb = 0;  ///< Sum over NUMA nodes.
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::vector<std::vector<uint64_t>> gpu_links;  ///< MB/s between GPU i and j; 0 is no link. Empty: no links at all.

  uint32_t threads_per_core() const;  ///< Most PUs of any core; 1 if there are none.
  uint32_t cpu_count() const;         ///< All PUs.
  uint64_t link_mbps(uint32_t a, uint32_t b) const;
  bool operator==(const NodeTopology&) const = default;
};

/// How close two GPUs of a node are, tightest first. `gangway topo` prints these.
enum class GpuLocality { kSame, kNvlink, kPcieSwitch, kNuma, kSocket, kNode };
GpuLocality locality(const NodeTopology& t, uint32_t a, uint32_t b);

/// Checks the invariants above; an error names the first that is broken.
base::Status validate(const NodeTopology& t);
/// A stable hash of everything the scheduler uses: nodes with equal hashes are of the same make.
uint64_t make_hash(const NodeTopology& t);
/// A machine without topology: `gpus` GPUs alike and unlinked, single-threaded cores, one NUMA node.
NodeTopology flat_topology(uint32_t cpus, uint64_t memory_mb, uint32_t gpus, const std::string& gpu_type);

}  // namespace gw::model
