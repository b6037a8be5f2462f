// What NodeTopology can say about itself: counts, GPU locality, its invariants, and a hash of its make.
#include "model/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/stable_hash.h"

namespace gw::model {
namespace {

using base::invalid;
using base::Status;

/// `who` makes a text, which is wanted seldom.
template <typename Who>
Status check_place(const NodeTopology& t, const Who& who, uint32_t socket, uint32_t numa) {
  if (socket >= t.sockets) return invalid(fmt::format("{} is on socket {} of {}", who(), socket, t.sockets));
  if (numa >= t.numa_nodes.size()) {
    return invalid(fmt::format("{} is on NUMA node {} of {}", who(), numa, t.numa_nodes.size()));
  }
  return {};
}

/// A number that stands there twice.
std::optional<uint32_t> first_twice(std::vector<uint32_t> numbers) {
  constexpr uint32_t kUsual = 1 << 16;  // systems count processors from 0 on
  const uint32_t most = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
  if (most < kUsual) {
    std::vector<bool> seen(most + size_t{1});
    for (const uint32_t number : numbers) {
      if (seen[number]) return number;
      seen[number] = true;
    }
    return std::nullopt;
  }
  std::sort(numbers.begin(), numbers.end());
  const auto at = std::adjacent_find(numbers.begin(), numbers.end());
  return at == numbers.end() ? std::nullopt : std::optional(*at);
}

Status check_cores(const NodeTopology& t) {
  std::vector<uint32_t> pus;
  for (size_t i = 0; i < t.cores.size(); ++i) {
    const Core& core = t.cores[i];
    GW_TRY_STATUS(check_place(
        t, [i] { return fmt::format("core {}", i); }, core.socket, core.numa));
    if (core.pus.empty()) return invalid(fmt::format("core {} has no processor", i));
    pus.insert(pus.end(), core.pus.begin(), core.pus.end());
  }
  const auto twice = first_twice(std::move(pus));
  if (twice) return invalid(fmt::format("processor {} belongs to two cores", *twice));
  return {};
}

/// PCI addresses compare as texts once their domains are equally long. An empty address (a flat node) orders nothing.
bool in_pci_order(const Gpu& a, const Gpu& b) {
  if (a.pci.empty() || b.pci.empty()) return true;
  if (a.pci.size() != b.pci.size()) return a.pci.size() < b.pci.size();
  return a.pci != b.pci ? a.pci < b.pci : a.partition < b.partition;
}

Status check_near_cores(const NodeTopology& t, size_t i) {
  const std::vector<uint32_t>& near = t.gpus[i].near_cores;
  for (size_t k = 0; k < near.size(); ++k) {
    if (near[k] >= t.cores.size()) return invalid(fmt::format("GPU {} is near core {}, which is none", i, near[k]));
    if (k > 0 && near[k - 1] >= near[k]) return invalid(fmt::format("the near cores of GPU {} are not ascending", i));
  }
  return {};
}

Status check_gpus(const NodeTopology& t) {
  for (size_t i = 0; i < t.gpus.size(); ++i) {
    const Gpu& gpu = t.gpus[i];
    GW_TRY_STATUS(check_place(
        t, [i] { return fmt::format("GPU {}", i); }, gpu.socket, gpu.numa));
    GW_TRY_STATUS(check_near_cores(t, i));
    if (i > 0 && !in_pci_order(t.gpus[i - 1], gpu)) return invalid(fmt::format("GPU {} is not in PCI order", i));
  }
  return {};
}

Status check_links(const NodeTopology& t) {
  if (t.gpu_links.empty()) return {};
  const size_t n = t.gpus.size();
  if (t.gpu_links.size() != n) return invalid(fmt::format("{} rows of GPU links for {} GPUs", t.gpu_links.size(), n));
  for (size_t i = 0; i < n; ++i) {
    if (t.gpu_links[i].size() != n) return invalid(fmt::format("row {} of the GPU links is not {} long", i, n));
  }
  for (size_t i = 0; i < n; ++i) {
    if (t.gpu_links[i][i] != 0) return invalid(fmt::format("GPU {} is linked to itself", i));
    for (size_t j = 0; j < i; ++j) {
      if (t.gpu_links[i][j] != t.gpu_links[j][i]) return invalid(fmt::format("GPU link {}-{} is not symmetric", j, i));
    }
  }
  return {};
}

}  // namespace

uint32_t NodeTopology::threads_per_core() const {
  size_t most = 1;
  for (const Core& core : cores) most = std::max(most, core.pus.size());
  return static_cast<uint32_t>(most);
}

uint32_t NodeTopology::cpu_count() const {
  size_t count = 0;
  for (const Core& core : cores) count += core.pus.size();
  return static_cast<uint32_t>(count);
}

uint64_t NodeTopology::link_mbps(uint32_t a, uint32_t b) const {
  return a < gpu_links.size() && b < gpu_links[a].size() ? gpu_links[a][b] : 0;
}

GpuLocality locality(const NodeTopology& t, uint32_t a, uint32_t b) {
  if (a == b) return GpuLocality::kSame;
  if (a >= t.gpus.size() || b >= t.gpus.size()) return GpuLocality::kNode;
  const Gpu &x = t.gpus[a], &y = t.gpus[b];
  if (t.link_mbps(a, b) > 0) return GpuLocality::kNvlink;
  if (x.pcie_switch == y.pcie_switch) return GpuLocality::kPcieSwitch;
  if (x.numa == y.numa) return GpuLocality::kNuma;
  return x.socket == y.socket ? GpuLocality::kSocket : GpuLocality::kNode;
}

base::Status validate(const NodeTopology& t) {
  for (size_t i = 0; i < t.numa_nodes.size(); ++i) {
    const uint32_t socket = t.numa_nodes[i].socket;
    if (socket >= t.sockets) return invalid(fmt::format("NUMA node {} is on socket {} of {}", i, socket, t.sockets));
  }
  GW_TRY_STATUS(check_cores(t));
  GW_TRY_STATUS(check_gpus(t));
  for (const Nic& nic : t.nics)
    GW_TRY_STATUS(check_place(
        t, [&nic] { return "NIC " + nic.name; }, nic.socket, nic.numa));
  return check_links(t);
}

uint64_t make_hash(const NodeTopology& t) {
  base::StableHash h;
  h.add_all(uint64_t{t.sockets}, t.memory_mb, t.numa_nodes.size(), t.cores.size(), t.gpus.size(), t.nics.size());
  for (const NumaNode& n : t.numa_nodes) h.add_all(uint64_t{n.socket}, n.memory_mb);
  for (const Core& c : t.cores) h.add_all(uint64_t{c.socket}, uint64_t{c.numa}, uint64_t{c.l3}, c.pus);
  for (const Gpu& g : t.gpus) {
    h.add_all(g.type, uint64_t{g.partition}, uint64_t{g.socket}, uint64_t{g.numa}, uint64_t{g.pcie_switch},
              uint64_t{g.host_bridge}, g.near_cores, g.memory_mb);
  }
  for (const Nic& n : t.nics) {
    h.add_all(n.kind, uint64_t{n.socket}, uint64_t{n.numa}, uint64_t{n.pcie_switch}, uint64_t{n.host_bridge});
  }
  for (const auto& row : t.gpu_links) {
    for (const uint64_t mbps : row) h.add(mbps);
  }
  return h.value();
}

NodeTopology flat_topology(uint32_t cpus, uint64_t memory_mb, uint32_t gpus, const std::string& gpu_type) {
  NodeTopology t;
  t.sockets = 1;
  t.memory_mb = memory_mb;
  t.numa_nodes.push_back({.os_index = 0, .socket = 0, .memory_mb = memory_mb});
  for (uint32_t i = 0; i < cpus; ++i) t.cores.push_back({.socket = 0, .numa = 0, .l3 = 0, .pus = {i}});
  for (uint32_t i = 0; i < gpus; ++i) {
    Gpu gpu;
    gpu.type = gpu_type;
    gpu.pcie_switch = i;
    gpu.host_bridge = i;
    for (uint32_t core = 0; core < cpus; ++core) gpu.near_cores.push_back(core);
    t.gpus.push_back(std::move(gpu));
  }
  return t;
}

}  // namespace gw::model
