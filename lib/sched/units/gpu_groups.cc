// Groups, interchangeable GPUs and the value of free ones, from a NodeTopology.
#include "sched/units/gpu_groups.h"

#include <algorithm>
#include <bit>
#include <map>

namespace gw::sched {
namespace {

using base::IndexSet;
using model::NodeTopology;

// The fields of a value, low to high: 16 bits jobs of every size, 16 bits jobs of 2, 4, 8, ..., then whole groups.
constexpr int kPowerShift = 16;
constexpr int kSocketShift = 32;
constexpr int kNumaShift = 37;
constexpr int kSwitchShift = 45;
constexpr int kLinkedShift = 54;

uint32_t distance(const model::Gpu& a, const model::Gpu& b) {
  if (a.pcie_switch == b.pcie_switch) return 0;
  if (a.numa == b.numa) return 1;
  return a.socket == b.socket ? 2 : 3;
}

/// The sets of GPUs with equal `key`, in the order of the keys.
template <typename Key>
std::vector<IndexSet> gpus_by(const NodeTopology& topology, Key key) {
  std::map<uint32_t, IndexSet> sets;
  for (uint32_t g = 0; g < topology.gpus.size(); ++g) sets[key(topology.gpus[g])].insert(g);
  std::vector<IndexSet> out;
  for (auto& [where, set] : sets) out.push_back(std::move(set));
  return out;
}

uint64_t divisors(uint64_t n) {
  uint64_t count = 0;
  for (uint64_t k = 1; k <= n; ++k) count += n % k == 0 ? 1 : 0;
  return count;
}

}  // namespace

bool GpuPick::beats(const GpuPick& other) const {
  if (key() != other.key()) return key() < other.key();
  for (size_t i = 0; i < gpus.word_count(); ++i) {
    const uint64_t differ = gpus.word(i) ^ other.gpus.word(i);
    if (differ != 0) return (gpus.word(i) >> std::countr_zero(differ) & 1) != 0;
  }
  return false;
}

GpuGroups::GpuGroups(const NodeTopology& topology) {
  const auto n = static_cast<uint32_t>(topology.gpus.size());
  class_of_.resize(n);
  groups_of_.resize(n);
  pairs_.resize(size_t{n} * n);
  for (uint32_t a = 0; a < n; ++a) {
    for (uint32_t b = 0; b < n; ++b) {
      const uint64_t mbps = a == b ? 0 : topology.link_mbps(a, b);
      pairs_[size_t{a} * n + b] = {mbps, distance(topology.gpus[a], topology.gpus[b])};
      max_mbps_ = std::max(max_mbps_, mbps);
    }
  }
  add_linked_groups();
  add_places(topology);
  for (uint32_t g = 0; g < n; ++g) {
    class_of_[g] = g;
    for (uint32_t other = 0; other < g && class_of_[g] == g; ++other)
      if (class_of_[other] == other && interchangeable(topology, other, g)) class_of_[g] = other;
  }
  // Taking one of m: a size k loses one job if it divides m, so the powers of two lose as many as m has factors 2.
  job_loss_.push_back(0);
  for (uint32_t m = 1; m <= n; ++m)
    job_loss_.push_back((static_cast<uint64_t>(std::countr_zero(m)) << kPowerShift) + divisors(m) - 1);
}

void GpuGroups::add_group(GroupKind kind, const IndexSet& gpus) {
  const auto id = static_cast<uint32_t>(groups_.size());
  groups_.push_back({kind, gpus.size(), gpus});
  for (uint32_t g = gpus.next(0); g != UINT32_MAX; g = gpus.next(g + 1)) groups_of_[g].push_back(id);
}

void GpuGroups::add_linked_groups() {
  const uint32_t n = gpu_count();
  std::vector<IndexSet> linked(n);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b)
      if (pair(a, b).mbps > 0) linked[a].insert(b);
  extend_clique({}, IndexSet::first(n), {}, linked);
}

/// Bron and Kerbosch's enumeration of maximal cliques (Communications of the ACM 16, 1973), with a pivot: a clique that
/// leaves out the pivot and all that is not linked to it is not maximal.
void GpuGroups::extend_clique(const IndexSet& clique, IndexSet candidates, IndexSet done,
                              const std::vector<IndexSet>& linked) {
  if (groups_.size() >= kMaxLinkedGroups) return;
  if (candidates.empty()) {
    if (done.empty() && clique.size() >= 2) add_group(GroupKind::kLinked, clique);
    return;
  }
  uint32_t pivot = candidates.next(0);
  for (uint32_t g = pivot; g != UINT32_MAX; g = candidates.next(g + 1))
    if (linked[g].common(candidates) > linked[pivot].common(candidates)) pivot = g;
  IndexSet branches = candidates;
  branches -= linked[pivot];
  for (uint32_t g = branches.next(0); g != UINT32_MAX; g = branches.next(g + 1)) {
    IndexSet grown = clique, next = candidates, excluded = done;
    grown.insert(g);
    extend_clique(grown, next &= linked[g], excluded &= linked[g], linked);
    candidates.erase(g);
    done.insert(g);
  }
}

void GpuGroups::add_places(const NodeTopology& topology) {
  for (const IndexSet& gpus : gpus_by(topology, [](const model::Gpu& g) { return g.pcie_switch; }))
    if (gpus.size() >= 2) add_group(GroupKind::kSwitch, gpus);
  for (const IndexSet& gpus : gpus_by(topology, [](const model::Gpu& g) { return g.numa; }))
    if (gpus.size() >= 2) add_group(GroupKind::kNuma, gpus);
  for (const IndexSet& gpus : gpus_by(topology, [](const model::Gpu& g) { return g.socket; })) {
    const uint32_t numa = topology.gpus[gpus.next(0)].numa;
    const auto members = gpus.to_vector();
    if (std::any_of(members.begin(), members.end(), [&](uint32_t g) { return topology.gpus[g].numa != numa; }))
      add_group(GroupKind::kSocket, gpus);
  }
}

bool GpuGroups::interchangeable(const NodeTopology& topology, uint32_t a, uint32_t b) const {
  const model::Gpu &x = topology.gpus[a], &y = topology.gpus[b];
  for (uint32_t g = 0; g < gpu_count(); ++g) {
    if (g == a || g == b) continue;
    const model::Gpu& other = topology.gpus[g];
    if (pair(a, g).mbps != pair(b, g).mbps ||
        (x.pcie_switch == other.pcie_switch) != (y.pcie_switch == other.pcie_switch) ||
        (x.numa == other.numa) != (y.numa == other.numa) || (x.socket == other.socket) != (y.socket == other.socket))
      return false;
  }
  return true;
}

uint64_t GpuGroups::whole(GroupKind kind) {
  switch (kind) {
    case GroupKind::kLinked:
      return uint64_t{1} << kLinkedShift;
    case GroupKind::kSwitch:
      return uint64_t{1} << kSwitchShift;
    case GroupKind::kNuma:
      return uint64_t{1} << kNumaShift;
    case GroupKind::kSocket:
      return uint64_t{1} << kSocketShift;
  }
  return 0;
}

uint64_t GpuGroups::loss(const GpuGroup& group, uint32_t free, uint32_t taken) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < taken; ++i) sum += loss(group, free - i);
  return sum;
}

uint64_t GpuGroups::value(const IndexSet& free) const {
  uint64_t sum = 0;
  for (const GpuGroup& group : groups_) {
    const uint32_t here = group.gpus.common(free);
    sum += loss(group, here, here);
  }
  return sum;
}

}  // namespace gw::sched
