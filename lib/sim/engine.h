// The virtual clock: jobs arrive, run and end, and the daemon's own scheduler decides everything else. The engine keeps
// a sched::ClusterView by the same deltas as the controller, calls sched::plan(), and carries out what it decides.
// What happens to a job is in machines over one World (sim/engine).
// Invariants: at one instant first what ends, then what arrives, then passes until the scheduler decides nothing more;
// how long a job will run is known to the engine alone (an order that is told, is told by SimJob::tells_work); equal
// input gives equal output.
#pragma once

#include <vector>

#include "sim/engine/world.h"

namespace gw::sim {

class Engine {
 public:
  Engine(const Cluster& cluster, std::vector<SimJob> jobs, const EngineOptions& options);
  /// Errors: a job that runs at the start does not fit ("job r0: ..."); the scheduler does not come to rest.
  base::Status run();

  const std::vector<SimJob>& jobs() const { return world_.jobs; }
  const std::vector<Record>& records() const { return world_.records; }
  const Estimates& estimates() const { return world_.estimates; }
  const std::vector<Sample>& samples() const { return world_.measures.samples; }
  Time now() const { return world_.now; }
  uint64_t gpu_milli() const { return world_.measures.gpu_milli; }
  uint64_t cpus() const { return world_.measures.cpus; }
  uint64_t passes() const { return passes_; }

 private:
  World world_;
  EngineOptions options_;
  uint64_t passes_ = 0;

  Time next_instant() const;
  void go_to(Time t);
  base::Status settle();
  void end_what_is_due();
  void admit_what_is_due();
  base::Status plan_to_rest();
};

}  // namespace gw::sim
