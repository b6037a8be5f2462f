// UnitTable::cores() against its definition: the nearest cores in equal shares, few NUMA nodes, whole caches, and the
// shares of free GPUs spared.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "sched/units/unit_table.h"
#include "tests/unit/sched/random_machines.h"

namespace gw::sched {
namespace {

using base::IndexSet;
using model::NodeTopology;

IndexSet random_subset(uint32_t n, uint32_t percent) {
  IndexSet out;
  for (uint32_t i = 0; i < n; ++i)
    if (*rc::gen::inRange<uint32_t>(0, 100) < percent) out.insert(i);
  return out;
}

IndexSet near(const NodeTopology& t, uint32_t gpu) {
  IndexSet out;
  for (const uint32_t c : t.gpus[gpu].near_cores) out.insert(c);
  return out;
}

/// One draw of a question to cores(); GPUs are the job's, still free, or somebody else's.
struct Ask {
  NodeTopology t = testing::random_machine(9);
  uint32_t n = static_cast<uint32_t>(t.cores.size());
  IndexSet free = random_subset(n, *rc::gen::element<uint32_t>(20, 60, 100));
  IndexSet gpus, free_gpus;
  uint32_t count = *rc::gen::inRange<uint32_t>(0, free.size() + 2);

  explicit Ask(bool with_gpus) {
    for (uint32_t g = 0; g < t.gpus.size(); ++g) {
      const auto whose = *rc::gen::inRange(0, 3);
      if (whose == 0 && with_gpus) gpus.insert(g);
      if (whose == 1) free_gpus.insert(g);
    }
    if (with_gpus && gpus.empty()) gpus.insert(0);
  }
  IndexSet answer() const { return UnitTable(std::make_shared<NodeTopology>(t)).cores(free, count, gpus, free_gpus); }
};

RC_GTEST_PROP(UnitCoresProp, CoresOfGpusAreTheNearest, ()) {
  const Ask ask(true);
  const IndexSet got = ask.answer();
  RC_ASSERT(got.size() == (ask.count <= ask.free.size() ? ask.count : 0));
  RC_ASSERT(got.is_subset_of(ask.free));
  if (got.empty()) return;
  std::array<uint32_t, 4> free{}, taken{};
  for (const uint32_t c : ask.free.to_vector()) {
    size_t rank = 3;
    for (const uint32_t g : ask.gpus.to_vector()) {
      const bool numa = ask.t.gpus[g].numa == ask.t.cores[c].numa,
                 socket = ask.t.gpus[g].socket == ask.t.cores[c].socket;
      rank = std::min<size_t>(rank, near(ask.t, g).contains(c) ? 0 : numa ? 1 : socket ? 2 : 3);
    }
    ++free[rank];
    taken[rank] += got.contains(c) ? 1 : 0;
  }
  uint32_t left = ask.count;
  for (size_t rank = 0; rank < 4; ++rank) {
    RC_ASSERT(taken[rank] == std::min(left, free[rank]));
    left -= taken[rank];
  }
}

RC_GTEST_PROP(UnitCoresProp, EachGpuGetsItsShare, ()) {
  const Ask ask(true);
  const IndexSet got = ask.answer();
  if (got.empty()) return;
  uint32_t nth = 0;
  for (const uint32_t g : ask.gpus.to_vector()) {
    const IndexSet mine = near(ask.t, g);
    uint32_t equal = 0, share = 0, rank = 0;
    bool overlaps = false;
    for (const uint32_t o : ask.gpus.to_vector()) {
      const IndexSet theirs = near(ask.t, o);
      if (theirs == mine) share += ask.count / ask.gpus.size() + (rank < ask.count % ask.gpus.size() ? 1 : 0), ++equal;
      overlaps |= theirs != mine && theirs.intersects(mine);
      ++rank;
    }
    if (!overlaps) RC_ASSERT(got.common(mine) >= std::min(share, ask.free.common(mine)));
    RC_CLASSIFY(equal > 1, "shared");
    ++nth;
  }
}

/// Free and spare cores of NUMA nodes, recomputed from the definition: cores near the same GPUs owe each free one of
/// those an equal part of all of them.
struct Room {
  std::map<uint32_t, uint32_t> free, spare, taken;             // by NUMA node
  std::map<std::pair<uint32_t, std::string>, IndexSet> pools;  // all cores
  std::map<std::pair<uint32_t, std::string>, uint32_t> spare_of_pool;
  uint32_t total_spare = 0;

  Room(const Ask& ask, const IndexSet& got) {
    std::vector<IndexSet> fans(ask.n);
    for (uint32_t g = 0; g < ask.t.gpus.size(); ++g)
      for (const uint32_t c : ask.t.gpus[g].near_cores) fans[c].insert(g);
    for (uint32_t c = 0; c < ask.n; ++c) pools[{ask.t.cores[c].numa, fans[c].text()}].insert(c);
    for (const auto& [where, cores] : pools) {
      const IndexSet& gpus = fans[cores.next(0)];
      const uint32_t owed = gpus.empty() ? 0 : cores.size() * gpus.common(ask.free_gpus) / gpus.size();
      const uint32_t here = cores.common(ask.free);
      const uint32_t extra = here > owed ? here - owed : 0;
      free[where.first] += here;
      spare[where.first] += extra;
      spare_of_pool[where] = extra;
      total_spare += extra;
      taken[where.first] += cores.common(got);
    }
  }
  uint32_t used() const {
    return static_cast<uint32_t>(std::count_if(taken.begin(), taken.end(), [](auto& e) { return e.second > 0; }));
  }
  /// How many of the parts it takes to hold `need`, largest first.
  static uint32_t fewest(std::vector<uint32_t> parts, uint32_t need) {
    std::sort(parts.rbegin(), parts.rend());
    uint32_t count = 0;
    for (size_t i = 0; i < parts.size() && need > 0; ++i, ++count) need -= std::min(need, parts[i]);
    return count;
  }
  static std::vector<uint32_t> values(const std::map<uint32_t, uint32_t>& map) {
    std::vector<uint32_t> out;
    for (const auto& entry : map) out.push_back(entry.second);
    return out;
  }
};

RC_GTEST_PROP(UnitCoresProp, CpuJobsTakeFewNumaNodesAndSpareGpus, ()) {
  const Ask ask(false);
  const IndexSet got = ask.answer();
  RC_ASSERT(got.size() == (ask.count <= ask.free.size() ? ask.count : 0));
  RC_ASSERT(got.is_subset_of(ask.free));
  if (got.empty()) return;
  const Room room(ask, got);
  const bool gently = room.total_spare >= ask.count;
  RC_CLASSIFY(gently, "nobody's share is touched");
  const auto& offer = gently ? room.spare : room.free;
  RC_ASSERT(room.used() == Room::fewest(Room::values(offer), ask.count));
  for (const auto& [where, cores] : room.pools)
    if (gently) RC_ASSERT(cores.common(got) <= room.spare_of_pool.at(where));
  if (room.used() != 1) return;
  const auto chosen = std::find_if(room.taken.begin(), room.taken.end(), [](auto& e) { return e.second > 0; })->first;
  const auto key = [&](uint32_t numa) {
    const uint32_t spare = room.spare.at(numa);
    return std::tuple(ask.count - std::min(ask.count, spare), room.free.at(numa), numa);
  };
  for (const auto& [numa, amount] : offer)
    if (amount >= ask.count) RC_ASSERT(key(chosen) <= key(numa));
}

RC_GTEST_PROP(UnitCoresProp, CachesStayWhole, ()) {
  const Ask ask(*rc::gen::arbitrary<bool>());
  const IndexSet got = ask.answer();
  const Room room(ask, got);
  if (!ask.gpus.empty() && ask.gpus.size() > 1) return;  // shares are packed one by one
  for (const auto& [where, cores] : room.pools) {
    std::map<uint32_t, uint32_t> free, taken;  // by last-level cache
    for (const uint32_t c : cores.to_vector()) {
      free[ask.t.cores[c].l3] += ask.free.contains(c) ? 1 : 0;
      taken[ask.t.cores[c].l3] += got.contains(c) ? 1 : 0;
    }
    const uint32_t need = cores.common(got);
    const auto used = std::count_if(taken.begin(), taken.end(), [](auto& e) { return e.second > 0; });
    RC_ASSERT(static_cast<uint32_t>(used) == Room::fewest(Room::values(free), need));
    if (used != 1) continue;
    const auto chosen = std::find_if(taken.begin(), taken.end(), [](auto& e) { return e.second > 0; })->first;
    for (const auto& [cache, amount] : free) RC_ASSERT(amount < need || amount >= free[chosen]);
  }
}

}  // namespace
}  // namespace gw::sched
