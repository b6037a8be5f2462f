// Small clusters for scheduler tests: machines of two sockets with GPUs, built by hand.
#pragma once

#include <memory>
#include <string>

#include "sched/view/view.h"

namespace gw::sched::testing {

/// Two sockets; `cores` cores of two threads each; GPUs dealt evenly to the sockets, two to a switch, all linked.
inline model::NodeTopology machine(uint32_t cores, uint32_t gpus, uint64_t mem_mb, const std::string& type = "h100") {
  model::NodeTopology t;
  t.sockets = 2;
  t.memory_mb = mem_mb;
  for (uint32_t n = 0; n < 2; ++n) t.numa_nodes.push_back({n, n, mem_mb / 2});
  for (uint32_t c = 0; c < cores; ++c) {
    const uint32_t socket = c < cores / 2 ? 0 : 1;
    t.cores.push_back({socket, socket, socket, {c, c + cores}});
  }
  for (uint32_t g = 0; g < gpus; ++g) {
    model::Gpu gpu;
    gpu.type = type;
    gpu.socket = gpu.numa = gpu.host_bridge = g < (gpus + 1) / 2 ? 0 : 1;
    gpu.pcie_switch = g / 2;
    for (uint32_t c = 0; c < cores; ++c)
      if (t.cores[c].socket == gpu.socket) gpu.near_cores.push_back(c);
    t.gpus.push_back(gpu);
  }
  return t;
}

inline NodeFacts node_facts(uint32_t id, const model::NodeTopology& t) {
  NodeFacts f;
  f.id = NodeId(id);
  f.name = "n" + std::to_string(id);
  f.topology = std::make_shared<const model::NodeTopology>(t);
  f.cores = base::IndexSet::first(static_cast<uint32_t>(t.cores.size()));
  f.gpus = base::IndexSet::first(static_cast<uint32_t>(t.gpus.size()));
  f.mem_mb = t.memory_mb;
  f.usable = true;
  return f;
}

/// `nodes` equal machines n1.. in one partition "main".
class Cluster {
 public:
  Cluster(uint32_t nodes, const model::NodeTopology& t) {
    PartitionFacts p;
    p.name = "main";
    for (uint32_t i = 1; i <= nodes; ++i) {
      p.nodes.push_back("n" + std::to_string(i));
      apply(NodeSet{node_facts(i, t)});
    }
    apply(PartitionSet{p});
  }
  void apply(DeltaKind kind) { view.apply(Delta{view.epoch() + 1, std::move(kind)}); }
  const PartitionFacts& partition() const { return *view.capacity().partition("main"); }

  ClusterView view;
};

inline model::Request tasks(uint32_t n, uint32_t cpus = 1) {
  model::Request r;
  r.tasks = n;
  r.tasks_given = true;
  r.cpus_per_task = cpus;
  return r;
}

/// `nodes` nodes with `gpus` GPUs and one task on each.
inline model::Request gang(uint32_t nodes, uint32_t gpus) {
  model::Request r;
  r.nodes_given = true;
  r.min_nodes = r.max_nodes = nodes;
  r.tasks = nodes;
  r.gpu_counting = model::GpuCounting::kPerNode;
  r.gpus = gpus;
  r.mem_per_node_mb = 1000;
  return r;
}

inline PendingJob pending(uint32_t id, const model::Request& r, int64_t priority = 0) {
  PendingJob j;
  j.id = JobId(id);
  j.request = r;
  j.partitions = {"main"};
  j.priority = priority;
  j.submitted = base::Time{static_cast<int64_t>(id)};
  return j;
}

/// A job runs on a node of "main", on the first GPUs and cores that are free there.
inline void run_on(Cluster& c, uint32_t job, uint32_t node, uint32_t gpus, uint32_t cores) {
  const FreeResources& free = c.view.capacity().node(NodeId(node))->free;
  const auto first = [](const base::IndexSet& from, uint32_t count) {
    base::IndexSet out;
    for (uint32_t i = from.next(0); out.size() < count; i = from.next(i + 1)) out.insert(i);
    return out;
  };
  model::NodeShare share;
  share.node = NodeId(node);
  share.name = "n" + std::to_string(node);
  share.gpus = first(free.gpus, gpus);
  share.cores = first(free.cores, cores);
  share.cpus = 2 * cores;
  model::Allocation a;
  a.shares.push_back(share);
  c.apply(JobPlaced{JobId(job), "main", a, Time{1}, Time::never(), nullptr});
}

}  // namespace gw::sched::testing
