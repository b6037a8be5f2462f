// See measures.h.
#include "sim/engine/measures.h"

namespace gw::sim {
void add_nodes(Measures& measures, const std::vector<sched::NodeFacts>& nodes) {
  for (const sched::NodeFacts& node : nodes) {
    measures.gpu_milli += uint64_t{node.gpus.size()} * model::kWholeGpu;
    measures.cpus += uint64_t{node.cores.size()} * node.topology->threads_per_core();
    measures.touched.push_back(node.id);
  }
  measures.fragmented.resize(nodes.size() + 1);
}

void count(Measures& measures, const model::Allocation& allocation, bool is_given) {
  const int64_t sign = is_given ? 1 : -1;
  Sample& current = measures.current;
  current.busy_gpu_milli += static_cast<uint64_t>(sign * static_cast<int64_t>(allocation.total_gpu_milli()));
  for (const model::NodeShare& share : allocation.shares) {
    current.busy_cpus += static_cast<uint64_t>(sign * static_cast<int64_t>(share.cpus));
    measures.touched.push_back(share.node);
  }
}

void let_pass(Measures& measures, Duration time) {
  const uint32_t jobs = measures.current.pending + measures.current.running;
  measures.contention += static_cast<double>(jobs) * static_cast<double>(time.us) / 1e6;
}

void sample(Measures& measures, const sched::ClusterView& view, Time now) {
  Sample& current = measures.current;
  const sched::Workload& workload = measures.workload;
  for (const base::NodeId id : measures.touched) {
    const sched::NodeAccount& account = *view.capacity().node(id);
    double& cached = measures.fragmented[id.value];
    current.fragmented_gpu_milli -= cached;
    cached = workload.total() == 0 ? 0 : sched::fragmented_milli(workload, account, account.free);
    current.fragmented_gpu_milli += cached;
  }
  measures.touched.clear();
  current.at = now;
  std::vector<Sample>& samples = measures.samples;
  if (!samples.empty() && samples.back().at == now) samples.pop_back();
  samples.push_back(current);
}

}  // namespace gw::sim
