// What several orders share.
#pragma once

#include "sched/queue/order.h"

namespace gw::sched {

/// Seconds still to run, as far as is known; very long if not.
inline double remaining_seconds(const PendingJob& job) {
  const Duration d = job.remaining != base::kUnlimited ? job.remaining : job.time_limit;
  return d == base::kUnlimited ? 1e15 : static_cast<double>(d.us) / 1e6;
}

inline double boost(const PendingJob& job) { return static_cast<double>(job.qos_priority - job.nice); }

}  // namespace gw::sched
