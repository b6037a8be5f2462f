// Machines for tests of what happens inside a node, built by hand after real ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/topology.h"

namespace gw::sched::testing {

/// Sockets of `numa_per_socket` NUMA nodes of `caches` last-level caches of `cores` cores each. No GPUs.
inline model::NodeTopology board(uint32_t sockets, uint32_t numa_per_socket, uint32_t caches, uint32_t cores) {
  model::NodeTopology t;
  t.sockets = sockets;
  for (uint32_t n = 0; n < sockets * numa_per_socket; ++n) {
    t.numa_nodes.push_back({n, n / numa_per_socket, 1000});
    t.memory_mb += 1000;
    for (uint32_t l = 0; l < caches; ++l)
      for (uint32_t c = 0; c < cores; ++c) {
        const auto index = static_cast<uint32_t>(t.cores.size());
        t.cores.push_back({n / numa_per_socket, n, n * caches + l, {index}});
      }
  }
  return t;
}

/// A GPU on a NUMA node, near all of its cores or those of one last-level cache.
inline void add_gpu(model::NodeTopology& t, uint32_t numa, uint32_t pcie_switch, uint32_t cache = UINT32_MAX) {
  model::Gpu gpu;
  gpu.type = "gpu";
  gpu.numa = numa;
  gpu.socket = t.numa_nodes[numa].socket;
  gpu.pcie_switch = pcie_switch;
  gpu.host_bridge = pcie_switch;
  for (uint32_t c = 0; c < t.cores.size(); ++c)
    if (cache == UINT32_MAX ? t.cores[c].numa == numa : t.cores[c].l3 == cache) gpu.near_cores.push_back(c);
  t.gpus.push_back(gpu);
}

inline void link(model::NodeTopology& t, uint32_t a, uint32_t b, uint64_t mbps) {
  t.gpu_links.resize(t.gpus.size(), std::vector<uint64_t>(t.gpus.size(), 0));
  t.gpu_links[a][b] = t.gpu_links[b][a] = mbps;
}

inline void link_all(model::NodeTopology& t, uint32_t first, uint32_t end, uint64_t mbps) {
  for (uint32_t a = first; a < end; ++a)
    for (uint32_t b = first; b < a; ++b) link(t, a, b, mbps);
}

inline void add_nic(model::NodeTopology& t, uint32_t numa, uint32_t pcie_switch, uint32_t host_bridge,
                    const char* kind = "infiniband") {
  model::Nic nic;
  nic.kind = kind;
  nic.numa = numa;
  nic.socket = t.numa_nodes[numa].socket;
  nic.pcie_switch = pcie_switch;
  nic.host_bridge = host_bridge;
  t.nics.push_back(nic);
}

/// 8 GPUs on 4 switches with 2 adapters each, 2 sockets of 56 cores; all linked, linked in pairs, or not.
enum class Links { kNone, kPairs, kAll };
inline model::NodeTopology eight(Links links) {
  model::NodeTopology t = board(2, 1, 1, 56);
  for (uint32_t g = 0; g < 8; ++g) add_gpu(t, g / 4, g / 2);
  for (uint32_t n = 0; n < 8; ++n) add_nic(t, n / 4, n / 2, n / 2);
  if (links == Links::kAll) link_all(t, 0, 8, 450'000);
  for (uint32_t g = 0; links == Links::kPairs && g < 8; g += 2) link(t, g, g + 1, 300'000);
  return t;
}

/// DGX-1 with V100: a hybrid cube mesh of single and double links, 4 switches.
inline model::NodeTopology cube_mesh() {
  model::NodeTopology t = board(2, 1, 1, 20);
  for (uint32_t g = 0; g < 8; ++g) add_gpu(t, g / 4, g / 2);
  for (uint32_t quad = 0; quad < 8; quad += 4) {
    link(t, quad, quad + 1, 25'000);
    link(t, quad, quad + 2, 25'000);
    link(t, quad, quad + 3, 50'000);
    link(t, quad + 1, quad + 2, 50'000);
    link(t, quad + 1, quad + 3, 25'000);
    link(t, quad + 2, quad + 3, 50'000);
  }
  for (uint32_t g = 0; g < 4; ++g) link(t, g, g + 4, g == 2 ? 25'000 : 50'000);
  return t;
}

/// Summit: two sockets with three linked GPUs each.
inline model::NodeTopology triples() {
  model::NodeTopology t = board(2, 1, 1, 22);
  for (uint32_t g = 0; g < 6; ++g) add_gpu(t, g / 3, g);
  link_all(t, 0, 3, 50'000);
  link_all(t, 3, 6, 50'000);
  return t;
}

/// DGX-2: 16 GPUs, all linked, two to a switch, eight to a socket.
inline model::NodeTopology sixteen() {
  model::NodeTopology t = board(2, 1, 1, 24);
  for (uint32_t g = 0; g < 16; ++g) add_gpu(t, g / 8, g / 2);
  link_all(t, 0, 16, 150'000);
  return t;
}

/// MI300A in CPX mode: `per_device` partitions on each of `devices` devices, each device a switch.
inline model::NodeTopology partitions(uint32_t devices, uint32_t devices_per_numa, uint32_t per_device) {
  model::NodeTopology t = board(devices / devices_per_numa, 1, 3, 8);
  for (uint32_t g = 0; g < devices * per_device; ++g) add_gpu(t, g / per_device / devices_per_numa, g / per_device);
  link_all(t, 0, devices * per_device, 100'000);
  return t;
}

/// MI250X: 8 dies, two to a NUMA node of one socket, each near the cores of its own last-level cache.
inline model::NodeTopology dies() {
  model::NodeTopology t = board(1, 4, 2, 8);
  const std::vector<uint32_t> cache{6, 7, 2, 3, 0, 1, 4, 5};
  for (uint32_t g = 0; g < 8; ++g) add_gpu(t, cache[g] / 2, g, cache[g]);
  link_all(t, 0, 8, 100'000);
  return t;
}

/// Four linked GPUs, each with its own switch and sub-NUMA cluster: two on each of two sockets of four clusters.
inline model::NodeTopology clusters() {
  model::NodeTopology t = board(2, 4, 1, 14);
  for (const uint32_t numa : {1, 3, 5, 7}) add_gpu(t, numa, numa);
  link_all(t, 0, 4, 150'000);
  return t;
}

/// Seven unlinked GPUs, each alone on its NUMA node: three on the first socket, four on the second.
inline model::NodeTopology lonely() {
  model::NodeTopology t = board(2, 4, 1, 2);
  for (const uint32_t numa : {0, 1, 2, 4, 5, 6, 7}) add_gpu(t, numa, numa);
  return t;
}

}  // namespace gw::sched::testing
