// Choice of GPUs and cores inside one node: close together, GPUs and their cores as one unit.
#include <algorithm>
#include <limits>
#include <numeric>

#include "sched/place.h"

namespace gw::sched {
namespace {

using model::GpuLocality;
using model::NodeTopology;

std::vector<uint32_t> candidates(const NodeTopology& topology, const base::IndexSet& free, const std::string& type) {
  std::vector<uint32_t> out;
  for (uint32_t g = free.next(0); g != UINT32_MAX; g = free.next(g + 1))
    if (g < topology.gpus.size() && (type.empty() || topology.gpus[g].type == type)) out.push_back(g);
  return out;
}

/// Distance of two GPUs: locality first, then missing link bandwidth; smaller is closer.
uint64_t distance(const NodeTopology& topology, uint32_t a, uint32_t b) {
  const uint64_t bandwidth = std::min<uint64_t>(topology.link_mbps(a, b), 999'999);
  return static_cast<uint64_t>(model::locality(topology, a, b)) * 1'000'000 + (999'999 - bandwidth);
}

/// Grows a set from `seed` by the GPU nearest to all that are in it; returns the sum of all pairwise distances.
uint64_t grow(const NodeTopology& topology, const std::vector<uint32_t>& pool, uint32_t seed, uint32_t count,
              std::vector<uint32_t>& chosen) {
  std::vector<uint64_t> to_set(pool.size(), 0);
  std::vector<bool> taken(pool.size(), false);
  chosen.clear();
  uint64_t total = 0;
  size_t next = seed;
  while (true) {
    taken[next] = true;
    total += to_set[next];
    chosen.push_back(pool[next]);
    if (chosen.size() == count) return total;
    size_t best = pool.size();
    for (size_t i = 0; i < pool.size(); ++i) {
      if (taken[i]) continue;
      to_set[i] += distance(topology, pool[next], pool[i]);
      if (best == pool.size() || to_set[i] < to_set[best]) best = i;
    }
    next = best;
  }
}

/// Free GPUs that would be left alone on a switch: taking these first keeps whole switches whole.
uint32_t switch_company(const NodeTopology& topology, const std::vector<uint32_t>& pool, uint32_t gpu) {
  return static_cast<uint32_t>(std::count_if(pool.begin(), pool.end(), [&](uint32_t other) {
    return topology.gpus[other].pcie_switch == topology.gpus[gpu].pcie_switch;
  }));
}

}  // namespace

base::IndexSet choose_gpus(const NodeTopology& topology, const base::IndexSet& free, uint32_t count,
                           const std::string& type) {
  base::IndexSet out;
  const std::vector<uint32_t> pool = candidates(topology, free, type);
  if (count == 0 || pool.size() < count) return out;
  uint64_t best_distance = std::numeric_limits<uint64_t>::max();
  uint32_t best_company = 0;
  std::vector<uint32_t> chosen, best;
  for (uint32_t seed = 0; seed < pool.size(); ++seed) {
    const uint64_t total = grow(topology, pool, seed, count, chosen);
    const uint32_t company = switch_company(topology, pool, pool[seed]);
    if (best.empty() || total < best_distance || (total == best_distance && company < best_company)) {
      best_distance = total;
      best_company = company;
      best = chosen;
    }
  }
  for (uint32_t g : best) out.insert(g);
  return out;
}

base::IndexSet choose_cores(const NodeTopology& topology, const base::IndexSet& free, uint32_t count,
                            const base::IndexSet& gpus) {
  // Rank: near a chosen GPU, on its NUMA node, on its socket, elsewhere.
  std::vector<uint32_t> rank(topology.cores.size(), gpus.empty() ? 0 : 3);
  for (uint32_t g = gpus.next(0); g != UINT32_MAX && g < topology.gpus.size(); g = gpus.next(g + 1)) {
    const model::Gpu& gpu = topology.gpus[g];
    for (size_t c = 0; c < topology.cores.size(); ++c) {
      if (topology.cores[c].numa == gpu.numa) rank[c] = std::min(rank[c], 1U);
      if (topology.cores[c].socket == gpu.socket) rank[c] = std::min(rank[c], 2U);
    }
    for (uint32_t c : gpu.near_cores)
      if (c < rank.size()) rank[c] = 0;
  }
  std::vector<uint32_t> free_on_numa(topology.numa_nodes.size() + 1, 0);
  std::vector<uint32_t> pool;
  for (uint32_t c = free.next(0); c != UINT32_MAX && c < topology.cores.size(); c = free.next(c + 1)) {
    pool.push_back(c);
    ++free_on_numa[std::min<size_t>(topology.cores[c].numa, topology.numa_nodes.size())];
  }
  base::IndexSet out;
  if (pool.size() < count) return out;
  // Among equals the NUMA node with the fewest free cores that still holds all of them, so that whole ones stay whole.
  const auto key = [&](uint32_t c) {
    const uint32_t here = free_on_numa[std::min<size_t>(topology.cores[c].numa, topology.numa_nodes.size())];
    return std::tuple(rank[c], here < count, here, topology.cores[c].numa, c);
  };
  std::sort(pool.begin(), pool.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  for (uint32_t i = 0; i < count; ++i) out.insert(pool[i]);
  return out;
}

}  // namespace gw::sched
