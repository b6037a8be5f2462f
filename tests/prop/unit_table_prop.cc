// The chooser inside a node against searches of every subset, on generated, hand-made and random machines; and on the
// exports in the folder that GANGWAY_SHARED_TOPOLOGIES names, if it does.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "sched/units/unit_table.h"
#include "tests/unit/sched/random_machines.h"
#include "topo/generate.h"
#include "topo/reader.h"

namespace gw::sched {
namespace {

using base::IndexSet;
using model::Locality;
using model::NodeTopology;

using Mask = uint32_t;  // GPUs

IndexSet to_set(uint64_t mask) { return IndexSet::from_words({&mask, 1}); }

bool has(Mask mask, uint32_t gpu) { return (mask >> gpu & 1) != 0; }

/// The definitions of level, bandwidth, worth and spread, written down plainly for one machine of up to 32 GPUs.
class Oracle {
 public:
  explicit Oracle(const NodeTopology& t) : t_(t), n_(static_cast<uint32_t>(t.gpus.size())) {
    kinds_[0] = cliques();
    for (uint32_t a = 0; a < n_; ++a) {
      Mask on_switch = 0, numa = 0, socket = 0;
      for (uint32_t b = 0; b < n_; ++b) {
        on_switch |= Mask{t.gpus[a].pcie_switch == t.gpus[b].pcie_switch} << b;
        numa |= Mask{t.gpus[a].numa == t.gpus[b].numa} << b;
        socket |= Mask{t.gpus[a].socket == t.gpus[b].socket} << b;
      }
      kinds_[1].insert(on_switch);
      kinds_[2].insert(numa);
      if (!all_pairs(socket, [&](uint32_t x, uint32_t y) { return t.gpus[x].numa == t.gpus[y].numa; }))
        kinds_[3].insert(socket);
    }
    for (auto& groups : kinds_) std::erase_if(groups, [](Mask m) { return std::popcount(m) < 2; });
  }

  uint32_t gpus() const { return n_; }

  Locality level(Mask m) const {
    const auto& g = t_.gpus;
    if (std::popcount(m) == 1) return Locality::kGpu;
    if (all_pairs(m, [&](uint32_t a, uint32_t b) { return t_.link_mbps(a, b) > 0; })) return Locality::kNvlink;
    if (all_pairs(m, [&](uint32_t a, uint32_t b) { return g[a].pcie_switch == g[b].pcie_switch; }))
      return Locality::kPcie;
    if (all_pairs(m, [&](uint32_t a, uint32_t b) { return g[a].numa == g[b].numa; })) return Locality::kNuma;
    return Locality::kNode;
  }

  uint64_t mbps(Mask m) const {
    uint64_t sum = 0;
    for (uint32_t a = 0; a < n_; ++a)
      for (uint32_t b = 0; b < a; ++b)
        if (has(m, a) && has(m, b)) sum += t_.link_mbps(a, b);
    return sum;
  }

  uint32_t spread(Mask m) const {
    uint32_t sum = 0;
    for (uint32_t a = 0; a < n_; ++a)
      for (uint32_t b = 0; b < a; ++b) {
        const model::Gpu &x = t_.gpus[a], &y = t_.gpus[b];
        if (!has(m, a) || !has(m, b) || x.pcie_switch == y.pcie_switch) continue;
        sum += x.numa == y.numa ? 1 : x.socket == y.socket ? 2 : 3;
      }
    return sum;
  }

  /// Whole groups of each kind, places for jobs of 2, 4, 8, ... and for jobs of any size.
  using Worth = std::array<uint32_t, 6>;
  Worth worth(Mask free) const {
    Worth w{};
    for (size_t kind = 0; kind < kinds_.size(); ++kind)
      for (const Mask group : kinds_[kind]) {
        const auto m = static_cast<uint32_t>(std::popcount(group & free));
        w[kind] += (group & ~free) == 0 ? 1 : 0;
        for (uint32_t k = 2; k <= m; ++k) {
          w[4] += std::has_single_bit(k) ? m / k : 0;
          w[5] += m / k;
        }
      }
    return w;
  }

 private:
  const NodeTopology& t_;
  uint32_t n_;
  std::array<std::set<Mask>, 4> kinds_;

  template <typename Same>
  bool all_pairs(Mask m, Same same) const {
    for (uint32_t a = 0; a < n_; ++a)
      for (uint32_t b = 0; b < a; ++b)
        if (has(m, a) && has(m, b) && !same(a, b)) return false;
    return true;
  }

  /// The maximal linked sets: starting from all GPUs, every unlinked pair splits the sets that hold both in two.
  std::set<Mask> cliques() const {
    std::set<Mask> sets{(n_ == 32 ? Mask{0} : Mask{1} << n_) - 1};
    for (uint32_t a = 0; a < n_; ++a)
      for (uint32_t b = 0; b < a; ++b) {
        if (t_.link_mbps(a, b) > 0) continue;
        std::set<Mask> split;
        for (const Mask m : sets) {
          const bool both = has(m, a) && has(m, b);
          split.insert(both ? m & ~(Mask{1} << a) : m);
          split.insert(both ? m & ~(Mask{1} << b) : m);
        }
        std::erase_if(split, [&](Mask m) {
          return std::any_of(split.begin(), split.end(), [&](Mask o) { return o != m && (m & ~o) == 0; });
        });
        sets = std::move(split);
      }
    return sets;
  }
};

/// Everything that can be known of each subset beforehand, as ranks: smaller is better.
class Ranks {
 public:
  explicit Ranks(const Oracle& oracle) : n_(oracle.gpus()), masks_(size_t{1} << n_) {
    std::map<std::pair<Locality, uint64_t>, uint64_t> closeness;
    std::map<Oracle::Worth, uint64_t, std::greater<>> worth;
    for (Mask m = 0; m < masks_.size(); ++m) {
      closeness[{oracle.level(m), ~oracle.mbps(m)}];
      worth[oracle.worth(m)];
    }
    for (uint64_t rank = 0; auto& entry : closeness) entry.second = rank++;
    for (uint64_t rank = 0; auto& entry : worth) entry.second = rank++;
    for (Mask m = 0; m < masks_.size(); ++m) {
      Mask backward = 0;
      for (uint32_t g = 0; g < n_; ++g) backward |= Mask{has(m, g)} << (n_ - 1 - g);
      // Of two sets of equal size the one with the lowest odd index is the larger when read backward.
      masks_[m] = {
          closeness[{oracle.level(m), ~oracle.mbps(m)}] << 44 | uint64_t{oracle.spread(m)} << 16 | (0xffff - backward),
          worth[oracle.worth(m)] << 26};
    }
  }

  /// The best subset of `free` of each size.
  std::vector<Mask> best(Mask free) const {
    std::vector<uint64_t> keys(n_ + 1, UINT64_MAX);
    std::vector<Mask> out(n_ + 1, 0);
    for (Mask s = free; s != 0; s = (s - 1) & free) {
      const auto size = static_cast<size_t>(std::popcount(s));
      const uint64_t key = masks_[s].chosen + masks_[free & ~s].left;
      if (key >= keys[size]) continue;
      keys[size] = key;
      out[size] = s;
    }
    return out;
  }

 private:
  struct Rank {
    uint64_t chosen = 0;
    uint64_t left = 0;
  };
  uint32_t n_;
  std::vector<Rank> masks_;
};

void expect_choice(const Oracle& oracle, const GpuChoice* choice, Mask best) {
  ASSERT_NE(choice, nullptr) << to_set(best).text();
  EXPECT_EQ(choice->gpus.text(), to_set(best).text());
  EXPECT_EQ(choice->level, oracle.level(best));
  EXPECT_EQ(choice->bandwidth_mbps, oracle.mbps(best));
  EXPECT_EQ(choice->spread, oracle.spread(best));
}

/// Compares the choices out of `free` for every count with a search of all subsets.
void check_mask(UnitTable& table, const Oracle& oracle, const Ranks& ranks, Mask free) {
  const std::vector<Mask> best = ranks.best(free);
  for (uint32_t count = 1; count <= oracle.gpus(); ++count) {
    SCOPED_TRACE("free " + to_set(free).text() + " count " + std::to_string(count));
    if (best[count] == 0) {
      ASSERT_EQ(table.gpus(to_set(free), count), nullptr);
      continue;
    }
    expect_choice(oracle, table.gpus(to_set(free), count), best[count]);
    if (::testing::Test::HasFailure()) return;
  }
}

#ifdef NDEBUG
constexpr bool kIsOptimised = true;
#else
constexpr bool kIsOptimised = false;
#endif

/// Every mask; of 16 GPUs every 11th where the build is not optimised, since a million searches take minutes there.
void check_all_masks(const NodeTopology& t) {
  const Oracle oracle(t);
  const Ranks ranks(oracle);
  UnitTable table(std::make_shared<NodeTopology>(t));
  const Mask step = t.gpus.size() > 12 && !kIsOptimised ? 11 : 1;
  for (Mask free = 0; free < Mask{1} << t.gpus.size() && !::testing::Test::HasFailure(); free += step)
    check_mask(table, oracle, ranks, free);
}

/// The best by trying every way to take from the devices of a machine whose partitions are alike within a device.
Mask best_of_devices(const Oracle& oracle, uint32_t per_device, Mask free, uint32_t count) {
  const uint32_t devices = oracle.gpus() / per_device;
  std::vector<uint32_t> take(devices, 0);
  Mask best = 0;
  std::tuple<Locality, uint64_t, Oracle::Worth, uint32_t, std::vector<uint32_t>> best_key;
  while (true) {
    Mask chosen = 0;
    bool possible = true;
    for (uint32_t d = 0; d < devices && possible; ++d) {
      uint32_t left = take[d];
      for (uint32_t g = d * per_device; g < (d + 1) * per_device && left > 0; ++g)
        if (has(free, g)) chosen |= Mask{1} << g, --left;
      possible = left == 0;
    }
    if (possible && static_cast<uint32_t>(std::popcount(chosen)) == count) {
      Oracle::Worth lost = oracle.worth(free), kept = oracle.worth(free & ~chosen);
      for (size_t i = 0; i < lost.size(); ++i) lost[i] -= kept[i];
      const std::tuple key(oracle.level(chosen), ~oracle.mbps(chosen), lost, oracle.spread(chosen),
                           to_set(chosen).to_vector());
      if (best == 0 || key < best_key) best = chosen, best_key = key;
    }
    uint32_t d = 0;
    while (d < devices && ++take[d] > per_device) take[d++] = 0;
    if (d == devices) return best;
  }
}

void check_partitions(const NodeTopology& t, uint32_t per_device, int rounds) {
  const Oracle oracle(t);
  UnitTable table(std::make_shared<NodeTopology>(t));
  std::mt19937 random(7);
  for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
    // Few, half or most of the GPUs are free.
    const auto draw = [&] { return static_cast<Mask>(random()) & ((Mask{1} << oracle.gpus()) - 1); };
    const Mask free = i % 3 == 0 ? draw() : i % 3 == 1 ? draw() | draw() : draw() & draw();
    if (free == 0) continue;
    const auto size = static_cast<uint32_t>(std::popcount(free));
    const uint32_t count = 1 + static_cast<uint32_t>(random()) % size;
    SCOPED_TRACE("free " + to_set(free).text() + " count " + std::to_string(count));
    expect_choice(oracle, table.gpus(to_set(free), count), best_of_devices(oracle, per_device, free, count));
  }
}

TEST(UnitTableProp, EveryMaskOfGeneratedMachines) {
  for (const std::string& name : topo::generated_names()) {
    SCOPED_TRACE(name);
    const auto t = topo::read_xml_text(topo::generate_xml(name).value());
    ASSERT_TRUE(t);
    check_all_masks(*t);
  }
}

TEST(UnitTableProp, EveryMaskOfHandMadeMachines) {
  for (const NodeTopology& t :
       {testing::cube_mesh(), testing::triples(), testing::dies(), testing::clusters(), testing::lonely(),
        testing::partitions(2, 1, 5), model::flat_topology(8, 1000, 9, "t4")})
    check_all_masks(t);
}

TEST(UnitTableProp, SomeMasksOfSixteen) {
  const NodeTopology t = testing::sixteen();
  const Oracle oracle(t);
  const Ranks ranks(oracle);
  UnitTable table(std::make_shared<NodeTopology>(t));
  std::mt19937 random(3);
  for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i)
    check_mask(table, oracle, ranks, static_cast<Mask>(random()) & 0xffff);
  check_mask(table, oracle, ranks, 0xffff);
}

TEST(UnitTableProp, RandomMasksOfPartitions) { check_partitions(testing::partitions(4, 1, 6), 6, 10'000); }

RC_GTEST_PROP(UnitTableProp, EveryMaskOfRandomMachines, ()) {
  check_all_masks(testing::random_machine(7));
  RC_ASSERT(!::testing::Test::HasFailure());
}

RC_GTEST_PROP(UnitTableProp, EveryMaskOfNestedMachines, ()) {
  const NodeTopology t = testing::nested_machine(7);
  RC_ASSERT(GpuTree::build(GpuGroups(t)).has_value());
  check_all_masks(t);
  RC_ASSERT(!::testing::Test::HasFailure());
}

RC_GTEST_PROP(UnitTableProp, SomeMasksOfLargerMachines, ()) {
  const NodeTopology t = *rc::gen::arbitrary<bool>() ? testing::nested_machine(11) : testing::random_machine(11);
  const Oracle oracle(t);
  const Ranks ranks(oracle);
  UnitTable table(std::make_shared<NodeTopology>(t));
  for (int i = 0; i < 20; ++i) check_mask(table, oracle, ranks, *rc::gen::inRange<Mask>(0, Mask{1} << t.gpus.size()));
  RC_ASSERT(!::testing::Test::HasFailure());
}

// ---- Real machines

/// The folder with the exports; without it there is nothing to instantiate.
std::vector<std::string> folders() {
  const char* folder = std::getenv("GANGWAY_SHARED_TOPOLOGIES");
  if (folder == nullptr) return {};
  return {folder};
}

class UnitTableOfRealMachines : public ::testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UnitTableOfRealMachines);
INSTANTIATE_TEST_SUITE_P(Folder, UnitTableOfRealMachines, ::testing::ValuesIn(folders()),
                         [](const auto&) { return std::string("Given"); });

TEST_P(UnitTableOfRealMachines, EveryMask) {
  for (const auto& file : std::filesystem::directory_iterator(GetParam())) {
    if (file.path().extension() != ".xml") continue;
    SCOPED_TRACE(file.path().filename().string());
    const auto t = topo::read_xml_file(file.path());
    ASSERT_TRUE(t);
    if (t->gpus.size() <= 16)
      check_all_masks(*t);
    else
      check_partitions(*t, 6, 10'000);
  }
}

}  // namespace
}  // namespace gw::sched
