// A cluster of equal nodes for the benchmarks of the scheduler's core, and the clock that they measure with.
#pragma once

#include <sys/resource.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "sched/cycle/plan.h"
#include "topo/load.h"

namespace gw::bench {

/// Processor time of this thread: what else runs on the machine does not count.
struct Clock {
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  }
};

inline double since(double t) { return Clock::now() - t; }

inline double peak_mb() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return static_cast<double>(r.ru_maxrss) / 1024;
}

class Cluster {
 public:
  explicit Cluster(uint32_t nodes) {
    const auto topology = std::make_shared<const model::NodeTopology>(*topo::load("dgx-h100"));
    sched::PartitionFacts p;
    p.name = "main";
    p.cores_per_gpu_kept = 1;
    std::vector<model::SwitchConfig> switches;
    for (uint32_t i = 0; i < nodes; ++i) {
      sched::NodeFacts f;
      f.id = base::NodeId(i + 1);
      f.name = "n" + std::to_string(i);
      f.topology = topology;
      f.cores = base::IndexSet::first(static_cast<uint32_t>(topology->cores.size()));
      f.gpus = base::IndexSet::first(8);
      f.mem_mb = topology->memory_mb;
      f.usable = true;
      apply(sched::NodeSet{f});
      p.nodes.push_back(f.name);
      if (i % 32 == 0) switches.push_back({"leaf" + std::to_string(i / 32), {}, {}});
      switches.back().nodes.push_back(f.name);
    }
    apply(sched::PartitionSet{p});
    apply(sched::NetworkSet{*model::build_network(switches, p.nodes)});
  }
  void apply(sched::DeltaKind kind) { view.apply({view.epoch() + 1, std::move(kind)}); }

  sched::ClusterView view;
};

inline model::Request gpus(uint32_t n) {
  model::Request r;
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = n <= 8 ? 1 : n / 8;
  r.tasks = r.min_nodes;
  r.gpu_counting = model::GpuCounting::kPerNode;
  r.gpus = n <= 8 ? n : 8;
  r.cpus_per_task = 4 * r.gpus;
  r.mem_per_node_mb = 16'000ULL * r.gpus;
  return r;
}

inline sched::Budget unbounded() {
  sched::Budget whole;
  whole.starts = UINT64_MAX;
  whole.placements = UINT64_MAX;
  return whole;
}

}  // namespace gw::bench
