// What jobs hold of the resources by which orders compare users.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sched/ledger/capacity.h"

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
  double dominant_of(const Held& all) const {
    const auto part = [](int64_t some, int64_t whole) {
      return whole > 0 ? static_cast<double>(some) / static_cast<double>(whole) : 0;
    };
    return std::max({part(gpu_milli, all.gpu_milli), part(cpus, all.cpus), part(mem_mb, all.mem_mb)});
  }
};

/// Of what a placement gives.
Held held_of(const model::Allocation& allocation);
/// Of what it holds now on its nodes, by the ledger.
Held held_of(const Capacity& capacity, JobId id);
/// All that the usable nodes of a partition have.
Held all_of(const Capacity& capacity, const std::string& partition);

}  // namespace gw::sched
