// Random machines for properties of what happens inside a node.
#pragma once

#include <rapidcheck.h>

#include "tests/unit/sched/unit_machines.h"

namespace gw::sched::testing {

/// Anything goes: switches that span NUMA nodes, links of three speeds here and there, GPUs near any cores.
inline model::NodeTopology random_machine(uint32_t max_gpus) {
  model::NodeTopology t = board(*rc::gen::inRange<uint32_t>(1, 3), *rc::gen::inRange<uint32_t>(1, 4),
                                *rc::gen::inRange<uint32_t>(1, 4), *rc::gen::inRange<uint32_t>(1, 30));
  const auto numa_nodes = static_cast<uint32_t>(t.numa_nodes.size());
  const auto gpus = *rc::gen::inRange<uint32_t>(1, max_gpus + 1);
  const auto switches = *rc::gen::inRange<uint32_t>(1, gpus + 1);
  const bool by_cache = *rc::gen::arbitrary<bool>();
  for (uint32_t g = 0; g < gpus; ++g) {
    const auto numa = *rc::gen::inRange<uint32_t>(0, numa_nodes);
    const auto cache = *rc::gen::inRange<uint32_t>(0, t.cores.back().l3 + 1);
    add_gpu(t, numa, *rc::gen::inRange<uint32_t>(0, switches), by_cache ? cache : UINT32_MAX);
  }
  const auto density = *rc::gen::inRange<uint32_t>(0, 11);
  for (uint32_t a = 0; a < gpus; ++a)
    for (uint32_t b = 0; b < a; ++b)
      if (*rc::gen::inRange<uint32_t>(0, 10) < density)
        link(t, a, b, *rc::gen::element<uint64_t>(25'000, 25'000, 50'000, 100'000));
  return t;
}

/// Tidy machines, on which GpuTree is built: everything nests, and links depend on where two GPUs meet.
inline model::NodeTopology nested_machine(uint32_t max_gpus) {
  model::NodeTopology t = board(*rc::gen::inRange<uint32_t>(1, 3), *rc::gen::inRange<uint32_t>(1, 3), 1, 1);
  const auto gpus = *rc::gen::inRange<uint32_t>(1, max_gpus + 1);
  const auto numa_nodes = static_cast<uint32_t>(t.numa_nodes.size());
  for (uint32_t g = 0; g < gpus; ++g) {
    const auto numa = *rc::gen::inRange<uint32_t>(0, numa_nodes);
    add_gpu(t, numa, numa * 100 + *rc::gen::inRange<uint32_t>(0, gpus / 2 + 1));
  }
  const auto speed = [] { return *rc::gen::element<uint64_t>(0, 0, 25'000, 50'000); };
  const uint64_t anywhere = speed(), socket = anywhere + speed(), numa = socket + speed(), together = numa + speed();
  for (uint32_t a = 0; a < gpus; ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      const model::Gpu &x = t.gpus[a], &y = t.gpus[b];
      const uint64_t near = x.numa == y.numa ? numa : x.socket == y.socket ? socket : anywhere;
      link(t, a, b, x.pcie_switch == y.pcie_switch ? together : near);
    }
  }
  return t;
}

}  // namespace gw::sched::testing
