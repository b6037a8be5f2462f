// Adapters for GPUs.
#include "model/nics.h"

#include <algorithm>
#include <map>

namespace gw::model {
namespace {

int distance(const DeviceSpot& gpu, const DeviceSpot& nic) {
  if (gpu.pcie_switch == nic.pcie_switch) return 0;
  if (gpu.host_bridge == nic.host_bridge) return 1;
  if (gpu.numa == nic.numa) return 2;
  return gpu.socket == nic.socket ? 3 : 4;
}

std::vector<uint32_t> nearest(const DeviceSpot& gpu, std::span<const DeviceSpot> nics,
                              const std::vector<uint32_t>& eligible) {
  std::vector<uint32_t> found;
  int best = 5;
  for (const uint32_t n : eligible) {
    const int here = distance(gpu, nics[n]);
    if (here < best) found.clear();
    best = std::min(best, here);
    if (here == best) found.push_back(n);
  }
  return found;
}

}  // namespace

std::vector<uint32_t> eligible_nics(std::span<const DeviceSpot> nics) {
  std::vector<uint32_t> all, fast;
  for (uint32_t n = 0; n < nics.size(); ++n) {
    all.push_back(n);
    if (nics[n].is_fast) fast.push_back(n);
  }
  return fast.empty() ? all : fast;
}

std::vector<uint32_t> nic_of_gpus(std::span<const DeviceSpot> gpus, std::span<const DeviceSpot> nics) {
  const std::vector<uint32_t> eligible = eligible_nics(nics);
  std::map<std::vector<uint32_t>, size_t> turn;
  std::vector<uint32_t> chosen;
  for (const DeviceSpot& gpu : gpus) {
    const std::vector<uint32_t> near = nearest(gpu, nics, eligible);
    chosen.push_back(near.empty() ? UINT32_MAX : near[turn[near]++ % near.size()]);
  }
  return chosen;
}

}  // namespace gw::model
