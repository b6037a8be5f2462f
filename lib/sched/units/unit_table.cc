// The caches in front of GpuSearch, and what needs no search: NICs and NUMA nodes.
#include "sched/units/unit_table.h"

#include <algorithm>

#include "model/nics.h"

namespace gw::sched {
namespace {

using base::IndexSet;
using model::NodeTopology;

constexpr uint32_t kSmallGpus = 8;
/// Beyond this the cache is emptied: 16 GPUs have a million different questions.
constexpr size_t kMaxCached = size_t{1} << 14;

template <typename Device>
model::DeviceSpot spot_of(const Device& d) {
  return {d.pcie_switch, d.host_bridge, d.numa, d.socket};
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
    sockets_[topology_->cores[c].socket].insert(c);
    const uint32_t numa = topology_->cores[c].numa;
    if (numa < numa_cores_.size()) numa_cores_[numa].insert(c);
  }
  assign_nics();
}

void UnitTable::assign_nics() {
  std::vector<model::DeviceSpot> gpus, nics;
  for (const model::Gpu& gpu : topology_->gpus) gpus.push_back(spot_of(gpu));
  for (const model::Nic& nic : topology_->nics) {
    nics.push_back(spot_of(nic));
    nics.back().is_fast = nic.kind == "infiniband";
  }
  nic_of_gpu_ = model::nic_of_gpus(gpus, nics);
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

IndexSet UnitTable::cores_of_sockets(const IndexSet& free, uint32_t count, uint32_t tasks, model::SocketLayout layout,
                                     const IndexSet& gpus, const IndexSet& free_gpus) {
  const auto gpus_on = [&](uint32_t socket) {
    uint32_t there = 0;
    for (uint32_t g = gpus.next(0); g < search_.gpu_count(); g = gpus.next(g + 1))
      there += topology_->gpus[g].socket == socket;
    return there;
  };
  IndexSet chosen;
  for (const model::SocketTasks& part : model::deal_to_sockets(sockets_, free, layout, tasks, gpus_on)) {
    IndexSet there = free;
    there &= sockets_[part.socket];
    chosen |= packer_.pick(there, part.tasks * layout.each, gpus, free_gpus);
    tasks -= part.tasks;
  }
  if (tasks > 0) return {};
  const uint32_t has = chosen.size();
  if (count <= has) return chosen;
  IndexSet rest = free;
  rest -= chosen;
  const IndexSet more = packer_.pick(rest, count - has, gpus, free_gpus);
  if (more.empty()) return {};
  chosen |= more;
  return chosen;
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
