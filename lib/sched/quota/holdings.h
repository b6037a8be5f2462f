// What jobs hold of the resources by which orders compare users.
#pragma once

#include <cstdint>

#include "sched/ledger/capacity.h"
#include "sched/place/node_score.h"
#include "sched/queue/queue.h"

namespace gw::sched {

struct Held {
  int64_t rate = 0;  ///< As usage counts it: millionths of a GPU, or of 32 threads.
  int64_t gpu_milli = 0, cpus = 0, mem_mb = 0;

  Held& operator+=(const Held& o) {
    rate += o.rate, gpu_milli += o.gpu_milli, cpus += o.cpus, mem_mb += o.mem_mb;
    return *this;
  }
  Held& operator-=(const Held& o) {
    rate -= o.rate, gpu_milli -= o.gpu_milli, cpus -= o.cpus, mem_mb -= o.mem_mb;
    return *this;
  }
  double gpus() const { return static_cast<double>(rate) / 1e6; }
  /// The largest part that it is of any of `all`; 0: there is nothing of what it has.
  double dominant_of(const Held& all) const;
};

/// As parts of `all`.
ResourceParts parts_of(const Held& some, const Held& all);
/// What a job says in numbers that it needs, with all its components: what a partition adds by default, and what whole
/// nodes have, is not in it.
Held asked_by(const PendingJob& job);
/// Of what a placement gives.
Held held_of(const model::Allocation& allocation);
/// Of what it holds now on its nodes, by the ledger.
Held held_of(const Capacity& capacity, JobId id);
/// All that the usable nodes of a partition have. Costs a step for each group of like nodes.
Held all_of(const Capacity& capacity, const std::string& partition);
/// What is free on them.
Held free_in(const Capacity& capacity, const std::string& partition);

}  // namespace gw::sched
