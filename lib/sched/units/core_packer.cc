// Cores are dealt top down: to NUMA nodes, within each to pools, within each to leaves; at every level one part that
// holds all is best, and of those the fullest.
#include "sched/units/core_packer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

namespace gw::sched {
namespace {

using base::IndexSet;
using model::NodeTopology;

/// The `count` lowest bits of `bits`, which has at least so many.
uint64_t lowest_bits(uint64_t bits, uint32_t count) {
  uint64_t rest = bits;
  for (uint32_t i = 0; i < count; ++i) rest &= rest - 1;
  return bits & ~rest;
}

std::vector<IndexSet> near_gpus_of_cores(const NodeTopology& topology) {
  std::vector<IndexSet> near(topology.cores.size());
  for (uint32_t g = 0; g < topology.gpus.size(); ++g)
    for (const uint32_t core : topology.gpus[g].near_cores)
      if (core < near.size()) near[core].insert(g);
  return near;
}

}  // namespace

CorePacker::CorePacker(const NodeTopology& topology) : words_(static_cast<uint32_t>(topology.cores.size() / 64 + 1)) {
  build_pools(topology);
  build_classes(topology);
  leaf_free_.resize(leaves_.size());
  leaf_take_.resize(leaves_.size());
  pool_free_.resize(pools_.size());
  pool_reserve_.resize(pools_.size());
  pool_rank_.resize(pools_.size());
  class_quota_.resize(class_pools_.size());
  out_.resize(words_);
}

void CorePacker::build_pools(const NodeTopology& topology) {
  const std::vector<IndexSet> near = near_gpus_of_cores(topology);
  std::vector<uint32_t> order(topology.cores.size()), pool_of_core(topology.cores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return topology.cores[a].numa < topology.cores[b].numa; });
  for (const uint32_t c : order) {
    const model::Core& core = topology.cores[c];
    const auto found = std::find_if(pools_.begin(), pools_.end(), [&](const Pool& p) {
      return p.numa == core.numa && p.socket == core.socket && p.near == near[c];
    });
    pool_of_core[c] = static_cast<uint32_t>(found - pools_.begin());
    if (found == pools_.end()) {
      Pool& pool = pools_.emplace_back();
      pool.numa = core.numa;
      pool.socket = core.socket;
      pool.near = near[c];
    }
    ++pools_[pool_of_core[c]].cores;
  }
  for (Pool& pool : pools_) {
    for (uint32_t g = 0; g < topology.gpus.size(); ++g) {
      if (topology.gpus[g].numa == pool.numa) pool.on_numa.insert(g);
      if (topology.gpus[g].socket == pool.socket) pool.on_socket.insert(g);
    }
  }
  build_leaves(topology, pool_of_core);
}

void CorePacker::build_leaves(const NodeTopology& topology, const std::vector<uint32_t>& pool_of_core) {
  // By pool, then by first core: caches are numbered as their first cores come.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> first_core;
  std::map<std::pair<uint32_t, uint32_t>, IndexSet> sets;
  for (uint32_t c = 0; c < topology.cores.size(); ++c) {
    const auto first = first_core.try_emplace({pool_of_core[c], topology.cores[c].l3}, c).first->second;
    sets[{pool_of_core[c], first}].insert(c);
  }
  for (const auto& [where, cores] : sets) {
    Pool& pool = pools_[where.first];
    if (pool.leaves++ == 0) pool.first_leaf = static_cast<uint32_t>(leaves_.size());
    Leaf leaf;
    leaf.first_word = where.second / 64;
    leaf.words = static_cast<uint32_t>(cores.word_count()) - leaf.first_word;
    leaf.first_mask = static_cast<uint32_t>(masks_.size());
    for (uint32_t i = 0; i < leaf.words; ++i) masks_.push_back(cores.word(leaf.first_word + i));
    leaves_.push_back(leaf);
  }
}

void CorePacker::build_classes(const NodeTopology& topology) {
  for (uint32_t g = 0; g < topology.gpus.size(); ++g) {
    std::vector<uint32_t> pools;
    for (uint32_t p = 0; p < pools_.size(); ++p)
      if (pools_[p].near.contains(g)) pools.push_back(p);
    const auto found = std::find(class_pools_.begin(), class_pools_.end(), pools);
    near_class_.push_back(static_cast<uint32_t>(found - class_pools_.begin()));
    if (found == class_pools_.end()) class_pools_.push_back(std::move(pools));
  }
}

IndexSet CorePacker::pick(const IndexSet& free, uint32_t count, const IndexSet& gpus, const IndexSet& free_gpus) {
  if (count == 0 || load(free) < count) return {};
  reserve(free_gpus, gpus);
  const uint32_t need = near_shares(count, gpus);
  if (need > 0) nearest_pools(need, gpus);
  return collect(free);
}

/// Counts the free cores of every leaf and pool; returns their sum.
uint32_t CorePacker::load(const IndexSet& free) {
  uint32_t total = 0;
  for (size_t p = 0; p < pools_.size(); ++p) {
    uint32_t pool_free = 0;
    for (uint32_t l = pools_[p].first_leaf; l < pools_[p].first_leaf + pools_[p].leaves; ++l) {
      int bits = 0;
      for (uint32_t i = 0; i < leaves_[l].words; ++i)
        bits += std::popcount(free.word(leaves_[l].first_word + i) & masks_[leaves_[l].first_mask + i]);
      leaf_free_[l] = static_cast<uint32_t>(bits);
      leaf_take_[l] = 0;
      pool_free += leaf_free_[l];
    }
    pool_free_[p] = pool_free;
    total += pool_free;
  }
  return total;
}

/// The fair share of every free GPU in the cores near it: a GPU that is one of four near 56 cores has 14.
void CorePacker::reserve(const IndexSet& free_gpus, const IndexSet& gpus) {
  IndexSet others = free_gpus;
  others -= gpus;
  for (size_t p = 0; p < pools_.size(); ++p) {
    const uint32_t waiting = pools_[p].near.common(others);
    pool_reserve_[p] = waiting == 0 ? 0 : pools_[p].cores * waiting / pools_[p].near.size();
  }
}

/// Gives each GPU an equal share out of the cores near it. Returns how many are still to be found.
uint32_t CorePacker::near_shares(uint32_t count, const IndexSet& gpus) {
  const uint32_t chosen = gpus.size();
  if (chosen == 0) return count;
  std::fill(class_quota_.begin(), class_quota_.end(), 0);
  uint32_t nth = 0;
  for (uint32_t g = gpus.next(0); g < near_class_.size(); g = gpus.next(g + 1), ++nth)
    class_quota_[near_class_[g]] += count / chosen + (nth < count % chosen ? 1 : 0);
  uint32_t need = count;
  for (size_t c = 0; c < class_pools_.size(); ++c)
    if (class_quota_[c] > 0) need -= fill(class_pools_[c], class_quota_[c]);
  return need;
}

/// Fills up from the pools nearest to any of the GPUs: near one, on its NUMA node, on its socket, elsewhere.
void CorePacker::nearest_pools(uint32_t need, const IndexSet& gpus) {
  for (uint32_t p = 0; p < pools_.size(); ++p) {
    const Pool& pool = pools_[p];
    pool_rank_[p] = gpus.empty()                      ? 3
                    : pool.near.intersects(gpus)      ? 0
                    : pool.on_numa.intersects(gpus)   ? 1
                    : pool.on_socket.intersects(gpus) ? 2
                                                      : 3;
  }
  for (uint32_t rank = gpus.empty() ? 3 : 0; rank <= 3 && need > 0; ++rank) {
    stage_.clear();
    for (uint32_t p = 0; p < pools_.size(); ++p)
      if (pool_free_[p] > 0 && pool_rank_[p] == rank) stage_.push_back(p);
    need -= fill(stage_, need);
  }
}

/// Takes up to `need` cores of the pools (ascending); returns how many there were.
uint32_t CorePacker::fill(std::span<const uint32_t> pools, uint32_t need) {
  numa_parts_.clear();
  uint32_t free = 0;
  for (uint32_t i = 0; i < pools.size(); ++i) {
    const uint32_t p = pools[i];
    if (i == 0 || pools_[p].numa != pools_[pools[i - 1]].numa) numa_parts_.push_back({.id = i});
    numa_parts_.back().free += pool_free_[p];
    numa_parts_.back().spare += pool_free_[p] - std::min(pool_free_[p], pool_reserve_[p]);
    free += pool_free_[p];
  }
  need = std::min(need, free);
  deal(numa_parts_, need);
  for (size_t i = 0; i < numa_parts_.size(); ++i) {
    const size_t end = i + 1 < numa_parts_.size() ? numa_parts_[i + 1].id : pools.size();
    if (numa_parts_[i].take > 0)
      fill_pools(pools.subspan(numa_parts_[i].id, end - numa_parts_[i].id), numa_parts_[i].take);
  }
  return need;
}

void CorePacker::fill_pools(std::span<const uint32_t> pools, uint32_t need) {
  if (pools.size() == 1) return fill_pool(pools.front(), need);
  pool_parts_.clear();
  for (const uint32_t p : pools)
    pool_parts_.push_back({p, pool_free_[p], pool_free_[p] - std::min(pool_free_[p], pool_reserve_[p]), 0});
  deal(pool_parts_, need);
  for (const Part& part : pool_parts_)
    if (part.take > 0) fill_pool(part.id, part.take);
}

void CorePacker::fill_pool(uint32_t pool, uint32_t need) {
  leaf_parts_.clear();
  const uint32_t end = pools_[pool].first_leaf + pools_[pool].leaves;
  for (uint32_t l = pools_[pool].first_leaf; l < end; ++l) leaf_parts_.push_back({l, leaf_free_[l], leaf_free_[l], 0});
  deal(leaf_parts_, need);
  for (const Part& part : leaf_parts_) {
    leaf_take_[part.id] += part.take;
    leaf_free_[part.id] -= part.take;
  }
  pool_free_[pool] -= need;
}

/// Deals `need` cores (no more than are free) to the parts. Nobody's share is touched if the spare cores do; if they do
/// not, a part that holds all comes before sparing a few. Of the parts that hold (what is left of) it the one that
/// loses the least share, then the fullest, then the first; if none does, the one with the most.
void CorePacker::deal(std::span<Part> parts, uint32_t need) {
  uint32_t spare = 0;
  for (const Part& part : parts) spare += part.spare;
  const bool gently = spare >= need;
  while (need > 0) {
    Part* best = nullptr;
    std::tuple<bool, uint32_t, uint32_t> best_key;
    for (Part& part : parts) {
      const uint32_t room = gently ? part.spare : part.free;
      if (part.take > 0 || room == 0) continue;
      const std::tuple key = room >= need ? std::tuple(false, need - std::min(need, part.spare), part.free)
                                          : std::tuple(true, ~room, uint32_t{0});
      if (best != nullptr && key >= best_key) continue;
      best = &part;
      best_key = key;
    }
    best->take = std::min(need, gently ? best->spare : best->free);
    need -= best->take;
  }
}

/// The lowest cores of every leaf, as many as were taken.
IndexSet CorePacker::collect(const IndexSet& free) {
  std::fill(out_.begin(), out_.end(), 0);
  for (size_t l = 0; l < leaves_.size(); ++l) {
    uint32_t take = leaf_take_[l];
    for (uint32_t i = 0; i < leaves_[l].words && take > 0; ++i) {
      const uint32_t word = leaves_[l].first_word + i;
      const uint64_t bits = free.word(word) & masks_[leaves_[l].first_mask + i];
      const uint32_t here = std::min(take, static_cast<uint32_t>(std::popcount(bits)));
      out_[word] |= lowest_bits(bits, here);
      take -= here;
    }
  }
  return IndexSet::from_words(out_);
}

}  // namespace gw::sched
