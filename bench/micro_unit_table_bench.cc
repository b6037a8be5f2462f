// How long a choice inside a node takes: GPUs asked before (a look-up) and for the first time (a search), cores with
// and without GPUs. Machines: DGX H100 (8 GPUs, 112 cores), and made up after DGX-2 (16 GPUs), MI300A in CPX mode (24),
// a node of 8 devices of 8 partitions (64), a flat one of 64 (argument 0), and one of 16 with links at random (1).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include "sched/units/unit_table.h"
#include "tests/unit/sched/unit_machines.h"
#include "topo/generate.h"
#include "topo/reader.h"

namespace {

using gw::base::IndexSet;
using gw::model::NodeTopology;
using gw::sched::UnitTable;
namespace machines = gw::sched::testing;

NodeTopology dgx_h100() {
  auto node = gw::topo::read_xml_text(gw::topo::generate_xml("dgx-h100").value());
  if (!node) std::abort();
  return *node;
}

/// 16 GPUs with links of random speeds between some: no two alike, no tree.
NodeTopology tangled() {
  NodeTopology node = machines::sixteen();
  std::mt19937 random(2);
  for (uint32_t a = 0; a < 16; ++a)
    for (uint32_t b = 0; b < a; ++b) machines::link(node, a, b, random() % 3 == 0 ? 0 : 25'000 * (random() % 4));
  return node;
}

constexpr int64_t kFlat = 0, kTangled = 1;

NodeTopology machine(int64_t gpus) {
  switch (gpus) {
    case kTangled:
      return tangled();
    case 8:
      return dgx_h100();
    case 16:
      return machines::sixteen();
    case 24:
      return machines::partitions(4, 1, 6);
    case 64:
      return machines::partitions(8, 4, 8);
    default:
      return gw::model::flat_topology(64, 1000, 64, "t4");
  }
}

struct Question {
  IndexSet free;
  uint32_t count;
};

/// Random masks, a few, half or most of the GPUs free, and a count that fits.
std::vector<Question> questions(uint32_t gpus, size_t count) {
  std::mt19937_64 random(1);
  const uint64_t all = gpus == 64 ? ~uint64_t{0} : (uint64_t{1} << gpus) - 1;
  std::vector<Question> out;
  while (out.size() < count) {
    const uint64_t a = random() & all, b = random() & all;
    const uint64_t word = std::array{a, a & b, a | b}[out.size() % 3];
    const IndexSet free = IndexSet::from_words({&word, 1});
    if (!free.empty()) out.push_back({free, 1 + static_cast<uint32_t>(random() % free.size())});
  }
  return out;
}

void gpus_again(benchmark::State& state) {
  UnitTable table(std::make_shared<NodeTopology>(machine(state.range(0))));
  const auto asked = questions(static_cast<uint32_t>(table.topology().gpus.size()), 1024);
  size_t i = 0;
  for (const Question& q : asked) table.gpus(q.free, q.count);
  for (auto step : state) {
    (void)step;
    const Question& q = asked[i++ % asked.size()];
    benchmark::DoNotOptimize(table.gpus(q.free, q.count));
  }
}
BENCHMARK(gpus_again)->Arg(8)->Arg(16)->Arg(24)->Arg(64);

/// Of this thread: other programs on the machine do not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void gpus_first(benchmark::State& state) {
  const gw::sched::GpuSearch search(machine(state.range(0)));
  const auto asked = questions(search.gpu_count(), 256);
  size_t i = 0;
  double slowest = 0;
  for (auto step : state) {
    (void)step;
    const Question& q = asked[i++ % asked.size()];
    const double start = cpu_seconds();
    benchmark::DoNotOptimize(search.best(q.free, q.count));
    slowest = std::max(slowest, cpu_seconds() - start);
  }
  state.counters["slowest_us"] = slowest * 1e6;
}
BENCHMARK(gpus_first)->Arg(8)->Arg(16)->Arg(24)->Arg(64)->Arg(kFlat)->Arg(kTangled)->Unit(benchmark::kMicrosecond);

void build_table(benchmark::State& state) {
  const auto node = std::make_shared<NodeTopology>(machine(state.range(0)));
  for (auto step : state) {
    (void)step;
    UnitTable table(node);
    benchmark::DoNotOptimize(table);
  }
}
BENCHMARK(build_table)->Arg(8)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond);

/// Arguments: the job's GPUs, cores asked for. A tenth of the cores is in use.
void cores_of(benchmark::State& state, const NodeTopology& node) {
  UnitTable table(std::make_shared<NodeTopology>(node));
  IndexSet free = IndexSet::first(static_cast<uint32_t>(node.cores.size()));
  for (uint32_t c = 0; c < node.cores.size(); c += 10) free.erase(c);
  const auto gpus = IndexSet::first(static_cast<uint32_t>(state.range(0)));
  IndexSet free_gpus = IndexSet::first(static_cast<uint32_t>(node.gpus.size()));
  free_gpus -= gpus;
  for (auto step : state) {
    (void)step;
    benchmark::DoNotOptimize(table.cores(free, static_cast<uint32_t>(state.range(1)), gpus, free_gpus));
  }
}
void cores_dgx_h100(benchmark::State& state) { cores_of(state, dgx_h100()); }
void cores_mi250x(benchmark::State& state) { cores_of(state, machines::dies()); }
/// Two sockets of 4 NUMA nodes of 4 caches of 8 cores, a GPU on each NUMA node.
void cores_256(benchmark::State& state) {
  NodeTopology node = machines::board(2, 4, 4, 8);
  for (uint32_t g = 0; g < 8; ++g) machines::add_gpu(node, g, g);
  cores_of(state, node);
}
BENCHMARK(cores_dgx_h100)->Args({0, 8})->Args({0, 64})->Args({1, 14})->Args({4, 56})->Args({8, 96});
BENCHMARK(cores_mi250x)->Args({0, 8})->Args({1, 8})->Args({8, 56});
BENCHMARK(cores_256)->Args({0, 8})->Args({0, 64})->Args({1, 32})->Args({8, 128});

}  // namespace
