// The caches in front of GpuSearch, and what needs no search: NICs and NUMA nodes.
#include "sched/unit_table.h"

#include <algorithm>
#include <map>

namespace gw::sched {
namespace {

using base::IndexSet;
using model::NodeTopology;

constexpr uint32_t kSmallGpus = 8;
/// Beyond this the cache is emptied: 16 GPUs have a million different questions.
constexpr size_t kMaxCached = size_t{1} << 14;

int nic_distance(const model::Gpu& gpu, const model::Nic& nic) {
  if (gpu.pcie_switch == nic.pcie_switch) return 0;
  if (gpu.host_bridge == nic.host_bridge) return 1;
  if (gpu.numa == nic.numa) return 2;
  return gpu.socket == nic.socket ? 3 : 4;
}

/// The fast adapters if there are any, else all.
std::vector<uint32_t> eligible_nics(const NodeTopology& topology) {
  std::vector<uint32_t> all, fast;
  for (uint32_t n = 0; n < topology.nics.size(); ++n) {
    all.push_back(n);
    if (topology.nics[n].kind == "infiniband") fast.push_back(n);
  }
  return fast.empty() ? all : fast;
}

std::vector<uint32_t> nearest_nics(const NodeTopology& topology, const model::Gpu& gpu,
                                   const std::vector<uint32_t>& eligible) {
  std::vector<uint32_t> nearest;
  int best = 5;
  for (const uint32_t n : eligible) {
    const int distance = nic_distance(gpu, topology.nics[n]);
    if (distance < best) nearest.clear();
    best = std::min(best, distance);
    if (distance == best) nearest.push_back(n);
  }
  return nearest;
}

}  // namespace

UnitTable::UnitTable(std::shared_ptr<const NodeTopology> topology)
    : topology_(std::move(topology)),
      search_(*topology_),
      packer_(*topology_),
      all_gpus_(IndexSet::first(search_.gpu_count())) {
  const uint32_t n = search_.gpu_count();
  if (n <= kSmallGpus) small_.resize((size_t{1} << n) * n);
  numa_cores_.resize(topology_->numa_nodes.size());
  for (uint32_t c = 0; c < topology_->cores.size(); ++c) {
    const uint32_t numa = topology_->cores[c].numa;
    if (numa < numa_cores_.size()) numa_cores_[numa].insert(c);
  }
  assign_nics();
}

void UnitTable::assign_nics() {
  const std::vector<uint32_t> eligible = eligible_nics(*topology_);
  std::map<std::vector<uint32_t>, size_t> turn;
  for (const model::Gpu& gpu : topology_->gpus) {
    const std::vector<uint32_t> nearest = nearest_nics(*topology_, gpu, eligible);
    nic_of_gpu_.push_back(nearest.empty() ? UINT32_MAX : nearest[turn[nearest]++ % nearest.size()]);
  }
}

const GpuChoice* UnitTable::gpus(const IndexSet& free, uint32_t count, model::Locality at_most) {
  if (count == 0 || free.common(all_gpus_) < count) return nullptr;
  const GpuChoice& best =
      search_.gpu_count() <= kSmallGpus ? look_up_small(free.low_word(), count) : look_up_large(free, count);
  return best.level > at_most ? nullptr : &best;
}

const GpuChoice& UnitTable::look_up_small(uint64_t free, uint32_t count) {
  const uint64_t known = free & all_gpus_.low_word();
  GpuChoice& choice = small_[known * search_.gpu_count() + count - 1];
  if (choice.gpus.empty()) choice = search_.best(IndexSet::from_words({&known, 1}), count);
  return choice;
}

const GpuChoice& UnitTable::look_up_large(const IndexSet& free, uint32_t count) {
  Key key{free, count};
  key.free &= all_gpus_;
  if (const auto found = large_.find(key); found != large_.end()) return found->second;
  if (large_.size() >= kMaxCached) large_.clear();
  GpuChoice choice = search_.best(key.free, count);
  return large_.emplace(std::move(key), std::move(choice)).first->second;
}

size_t UnitTable::KeyHash::operator()(const Key& key) const {
  // Multiply and fold: masks differ in few bits, and the table takes the low ones.
  uint64_t hash = key.count;
  for (size_t i = 0; i < key.free.word_count(); ++i) {
    hash = (hash ^ key.free.word(i)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

std::optional<model::Locality> UnitTable::level(const IndexSet& free, uint32_t count) {
  const GpuChoice* best = gpus(free, count);
  if (best == nullptr) return std::nullopt;
  return best->level;
}

IndexSet UnitTable::cores(const IndexSet& free, uint32_t count, const IndexSet& gpus, const IndexSet& free_gpus) {
  return packer_.pick(free, count, gpus, free_gpus);
}

std::vector<uint32_t> UnitTable::nics(const IndexSet& gpus) const {
  IndexSet nics;
  for (uint32_t g = gpus.next(0); g < nic_of_gpu_.size(); g = gpus.next(g + 1))
    if (nic_of_gpu_[g] != UINT32_MAX) nics.insert(nic_of_gpu_[g]);
  return nics.to_vector();
}

IndexSet UnitTable::numa(const IndexSet& gpus, const IndexSet& cores) const {
  IndexSet nodes;
  for (uint32_t g = gpus.next(0); g < search_.gpu_count(); g = gpus.next(g + 1)) nodes.insert(topology_->gpus[g].numa);
  for (uint32_t n = 0; n < numa_cores_.size(); ++n)
    if (numa_cores_[n].intersects(cores)) nodes.insert(n);
  return nodes;
}

}  // namespace gw::sched
