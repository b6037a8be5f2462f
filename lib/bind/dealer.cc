// Dealing cores out.
#include "bind/dealer.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace gw::bind {
namespace {

using base::IndexSet;

/// What is dealt out: a whole core, or one of its processors.
struct Unit {
  uint32_t core = 0;
  IndexSet pus;
  bool is_taken = false;
};

/// How far a core is from GPUs: 0 near, 1 on their NUMA node, 2 on their socket, 3 elsewhere, or there are none.
uint32_t distance(const Dealer& d, const IndexSet& gpus, uint32_t c) {
  uint32_t best = 3;
  for (const uint32_t g : gpus.to_vector()) {
    const auto& near = d.gpu(g).near_cores();
    uint32_t here = 3;
    if (d.gpu(g).socket() == d.core(c).socket()) here = 2;
    if (d.gpu(g).numa() == d.core(c).numa()) here = 1;
    if (std::binary_search(near.begin(), near.end(), c)) here = 0;
    best = std::min(best, here);
  }
  return best;
}

std::vector<Unit> units_of(const Dealer& d, bool whole) {
  std::vector<Unit> units;
  for (const uint32_t c : d.cores()) {
    if (whole) units.push_back({c, d.pus_of(c)});
    if (!whole)
      for (const uint32_t pu : d.core(c).pus()) units.push_back({c, IndexSet::of({pu})});
  }
  return units;
}

/// In rounds, so that no task takes from afar what is near to another: without GPUs simply in order.
std::vector<IndexSet> deal_units(const Dealer& d, const std::vector<IndexSet>& gpus, uint64_t each, bool whole) {
  std::vector<Unit> units = units_of(d, whole);
  std::vector<IndexSet> dealt(gpus.size());
  std::vector<uint64_t> missing(gpus.size(), each);
  for (uint32_t reach = 0; reach <= 3; ++reach)
    for (size_t t = 0; t < gpus.size(); ++t)
      for (Unit& unit : units) {
        if (missing[t] == 0) break;
        if (unit.is_taken || distance(d, gpus[t], unit.core) > reach) continue;
        unit.is_taken = true;
        --missing[t];
        dealt[t] |= unit.pus;
      }
  return dealt;
}

/// Tasks and units, and how far from each other.
class Sharing {
 public:
  Sharing(const Dealer& d, const std::vector<IndexSet>& gpus, bool whole)
      : units_(units_of(d, whole)), reach_(gpus.size(), kNuma), counts_(gpus.size()) {
    for (const IndexSet& of_task : gpus) {
      std::vector<uint32_t>& row = far_.emplace_back();
      for (const Unit& unit : units_) row.push_back(distance(d, of_task, unit.core));
    }
  }

  std::vector<IndexSet> run() {
    find_reach();
    count();
    return deal();
  }

 private:
  static constexpr uint32_t kNuma = 1, kAnywhere = 3;
  std::vector<Unit> units_;
  std::vector<std::vector<uint32_t>> far_;  // by task, then unit
  std::vector<uint32_t> reach_;             // by task: how far it goes for its units
  std::vector<uint64_t> counts_;            // likewise: how many it gets

  void free_all() {
    for (Unit& unit : units_) unit.is_taken = false;
  }

  /// The nearest free one, or none.
  Unit* take_nearest(size_t task, uint32_t reach) {
    size_t best = units_.size();
    for (size_t u = 0; u < units_.size(); ++u)
      if (!units_[u].is_taken && far_[task][u] <= reach && (best == units_.size() || far_[task][u] < far_[task][best]))
        best = u;
    if (best == units_.size()) return nullptr;
    units_[best].is_taken = true;
    return &units_[best];
  }

  /// As far as it takes to have one of its own.
  void find_reach() {
    std::vector<bool> has(reach_.size());
    for (uint32_t reach = kNuma; reach <= kAnywhere; ++reach)
      for (size_t t = 0; t < reach_.size(); ++t) {
        if (has[t]) continue;
        reach_[t] = reach;
        has[t] = take_nearest(t, reach) != nullptr;
      }
    free_all();
  }

  /// One after the other, until nobody finds any more.
  void count() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (size_t t = 0; t < reach_.size(); ++t) {
        if (take_nearest(t, reach_[t]) == nullptr) continue;
        ++counts_[t];
        goes_on = true;
      }
    }
    free_all();
  }

  /// Those with the least choice first, so that everybody finds what was counted; to each what lies together.
  std::vector<IndexSet> deal() {
    std::vector<size_t> order(reach_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto choice = [&](size_t t) {
      return std::count_if(far_[t].begin(), far_[t].end(), [&](uint32_t far) { return far <= reach_[t]; });
    };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return choice(a) < choice(b); });
    std::vector<IndexSet> dealt(reach_.size());
    for (const size_t t : order)
      for (uint64_t i = 0; i < counts_[t]; ++i)
        if (const Unit* unit = take_nearest(t, reach_[t])) dealt[t] |= unit->pus;
    return dealt;
  }
};

}  // namespace

IndexSet Dealer::pus_of(uint32_t c) const {
  IndexSet pus;
  for (const uint32_t pu : core(c).pus()) pus.insert(pu);
  return pus;
}

IndexSet Dealer::all_pus() const {
  IndexSet pus;
  for (const uint32_t c : cores_) pus |= pus_of(c);
  return pus;
}

uint32_t Dealer::threads() const {
  uint32_t most = 1;
  for (const uint32_t c : cores_) most = std::max(most, static_cast<uint32_t>(core(c).pus_size()));
  return most;
}

// The GPUs of one task lie at one NUMA node while that can be had; task 0 has the first of them.
std::vector<IndexSet> Dealer::gpu_groups(uint32_t each) const {
  each = std::min(each, static_cast<uint32_t>(gpus_.size()));
  if (each == 0) return {};
  std::map<uint32_t, std::vector<uint32_t>> by_numa;
  for (const uint32_t g : gpus_) by_numa[gpu(g).numa()].push_back(g);
  std::vector<uint32_t> rest, whole;
  for (const auto& [numa, here] : by_numa) {
    const auto end = here.begin() + static_cast<ptrdiff_t>(here.size() - here.size() % each);
    whole.insert(whole.end(), here.begin(), end);
    rest.insert(rest.end(), end, here.end());
  }
  std::sort(rest.begin(), rest.end());
  whole.insert(whole.end(), rest.begin(), rest.end());
  std::vector<IndexSet> groups;
  for (size_t i = 0; i + each <= whole.size(); i += each) {
    IndexSet& group = groups.emplace_back();
    for (size_t k = i; k < i + each; ++k) group.insert(whole[k]);
  }
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.next(0) < b.next(0); });
  return groups;
}

std::vector<IndexSet> Dealer::deal_cores(const std::vector<IndexSet>& gpus_of_tasks, uint32_t cpus, bool whole) const {
  const uint64_t tasks = gpus_of_tasks.size();
  if (tasks == 0) return {};
  cpus = std::max(cpus, 1U);
  const uint64_t in_cores = (uint64_t{cpus} + threads() - 1) / threads();
  const uint64_t all = all_pus().size();
  if (!whole && all >= tasks * cpus) return deal_units(*this, gpus_of_tasks, cpus, false);
  if (cores_.size() >= tasks * in_cores) return deal_units(*this, gpus_of_tasks, in_cores, true);
  if (all >= tasks * cpus) return deal_units(*this, gpus_of_tasks, cpus, false);
  if (cores_.size() >= tasks) return deal_units(*this, gpus_of_tasks, cores_.size() / tasks, true);
  return std::vector<IndexSet>(tasks, all_pus());
}

std::vector<IndexSet> Dealer::share_out(const std::vector<IndexSet>& gpus_of_tasks) const {
  const uint64_t tasks = gpus_of_tasks.size();
  const IndexSet all = all_pus();
  if (all.size() < tasks) return std::vector<IndexSet>(tasks, all);
  return Sharing(*this, gpus_of_tasks, cores_.size() >= tasks).run();
}

std::vector<IndexSet> Dealer::deal_in_order(size_t tasks, uint32_t cpus) const {
  const uint64_t in_cores = (uint64_t{std::max(cpus, 1U)} + threads() - 1) / threads();
  std::vector<IndexSet> dealt(tasks);
  if (cores_.empty()) return dealt;
  const uint64_t each = std::min<uint64_t>(in_cores, cores_.size());
  for (size_t t = 0; t < tasks; ++t)
    for (uint64_t i = 0; i < each; ++i) dealt[t] |= pus_of(cores_[(t * each + i) % cores_.size()]);
  return dealt;
}

}  // namespace gw::bind
