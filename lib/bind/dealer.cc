// Dealing cores out.
#include "bind/dealer.h"

#include <algorithm>
#include <map>

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
