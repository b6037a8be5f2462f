// Where the tasks of a step go on one node: the implementation.
// Invariants: see places.h.
#include "noded/core/places.h"

#include <algorithm>
#include <map>

namespace gw::noded {

namespace {

using base::IndexSet;

std::vector<uint32_t> indices(const std::string& text) {
  const auto set = IndexSet::parse(text);
  return set ? set->to_vector() : std::vector<uint32_t>{};
}

/// What is dealt out: a whole core, or one of its processors.
struct Unit {
  uint32_t core = 0;
  IndexSet pus;
  bool is_taken = false;
};

class Dealer {
 public:
  Dealer(const wire::NodeTopology& node, const wire::NodeShare& share, uint32_t cpus_per_task, uint32_t gpus_per_task)
      : node_(node), places_(share.tasks()) {
    if (places_.empty()) return;
    deal_gpus(indices(share.gpus()), gpus_per_task);
    deal_cores(indices(share.cores()), std::max(cpus_per_task, 1U));
  }

  std::vector<Place> take() { return std::move(places_); }

 private:
  const wire::NodeTopology& node_;
  std::vector<Place> places_;

  const wire::Core& core(uint32_t i) const { return node_.cores(static_cast<int>(i)); }
  const wire::Gpu& gpu(uint32_t i) const { return node_.gpus(static_cast<int>(i)); }

  void add_numa(Place& place, uint32_t numa) const {
    if (numa < static_cast<uint32_t>(node_.numa_nodes_size()))
      place.mems.insert(node_.numa_nodes(static_cast<int>(numa)).os_index());
  }

  /// The GPUs of one task lie at one NUMA node while that can be had; task 0 has the first of them.
  std::vector<std::vector<uint32_t>> gpu_groups(const std::vector<uint32_t>& gpus, uint32_t each) const {
    std::map<uint32_t, std::vector<uint32_t>> by_numa;
    for (const uint32_t g : gpus) by_numa[gpu(g).numa()].push_back(g);
    std::vector<std::vector<uint32_t>> groups;
    std::vector<uint32_t> rest;
    for (const auto& [numa, here] : by_numa) {
      const size_t whole = here.size() - here.size() % each;
      for (size_t i = 0; i < whole; i += each)
        groups.emplace_back(here.begin() + static_cast<ptrdiff_t>(i), here.begin() + static_cast<ptrdiff_t>(i + each));
      rest.insert(rest.end(), here.begin() + static_cast<ptrdiff_t>(whole), here.end());
    }
    std::sort(rest.begin(), rest.end());
    for (size_t i = 0; i + each <= rest.size(); i += each)
      groups.emplace_back(rest.begin() + static_cast<ptrdiff_t>(i), rest.begin() + static_cast<ptrdiff_t>(i + each));
    std::sort(groups.begin(), groups.end());
    return groups;
  }

  void deal_gpus(const std::vector<uint32_t>& gpus, uint32_t each) {
    if (each == 0 || gpus.empty()) return;
    std::vector<std::vector<uint32_t>> groups = gpu_groups(gpus, std::min<uint32_t>(each, gpus.size()));
    for (size_t t = 0; t < places_.size(); ++t)
      for (const uint32_t g : groups[t % groups.size()]) {
        places_[t].gpus.insert(g);
        add_numa(places_[t], gpu(g).numa());
      }
  }

  /// How far a core is from the GPUs of a place: 0 near, 1 on their NUMA node, 2 on their socket, 3 elsewhere.
  uint32_t distance(const Place& place, uint32_t c) const {
    uint32_t best = 3;
    for (const uint32_t g : place.gpus.to_vector()) {
      const auto& near = gpu(g).near_cores();
      uint32_t d = 3;
      if (gpu(g).socket() == core(c).socket()) d = 2;
      if (gpu(g).numa() == core(c).numa()) d = 1;
      if (std::binary_search(near.begin(), near.end(), c)) d = 0;
      best = std::min(best, d);
    }
    return best;
  }

  void deal_cores(const std::vector<uint32_t>& cores, uint32_t cpus) {
    uint32_t threads = 1, all = 0;
    for (const uint32_t c : cores) {
      threads = std::max(threads, static_cast<uint32_t>(core(c).pus_size()));
      all += static_cast<uint32_t>(core(c).pus_size());
    }
    const uint64_t tasks = places_.size();
    const uint64_t in_cores = (uint64_t{cpus} + threads - 1) / threads;
    if (cores.size() >= tasks * in_cores) return deal_units(cores, in_cores, true);
    if (all >= tasks * cpus) return deal_units(cores, cpus, false);
    if (cores.size() >= tasks) return deal_units(cores, cores.size() / tasks, true);
    for (Place& place : places_)
      for (const uint32_t c : cores) give(place, c, pus_of(c));
  }

  IndexSet pus_of(uint32_t c) const {
    IndexSet pus;
    for (const uint32_t pu : core(c).pus()) pus.insert(pu);
    return pus;
  }

  void give(Place& place, uint32_t c, const IndexSet& pus) const {
    place.pus |= pus;
    add_numa(place, core(c).numa());
  }

  std::vector<Unit> units_of(const std::vector<uint32_t>& cores, bool whole) const {
    std::vector<Unit> units;
    for (const uint32_t c : cores) {
      if (whole) units.push_back({c, pus_of(c)});
      if (!whole)
        for (const uint32_t pu : core(c).pus()) units.push_back({c, IndexSet::of({pu})});
    }
    return units;
  }

  /// In rounds, so that no task takes from afar what is near to another: without GPUs simply in order.
  void deal_units(const std::vector<uint32_t>& cores, uint64_t each, bool whole) {
    std::vector<Unit> units = units_of(cores, whole);
    std::vector<uint64_t> missing(places_.size(), each);
    for (uint32_t reach = 0; reach <= 3; ++reach)
      for (size_t t = 0; t < places_.size(); ++t)
        for (Unit& unit : units) {
          if (missing[t] == 0) break;
          if (unit.is_taken || distance(places_[t], unit.core) > reach) continue;
          unit.is_taken = true;
          --missing[t];
          give(places_[t], unit.core, unit.pus);
        }
  }
};

}  // namespace

std::vector<Place> make_places(const wire::NodeTopology& node, const wire::NodeShare& share, uint32_t cpus_per_task,
                               uint32_t gpus_per_task) {
  return Dealer(node, share, cpus_per_task, gpus_per_task).take();
}

}  // namespace gw::noded
