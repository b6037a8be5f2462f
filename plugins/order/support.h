// What several orders share.
#pragma once

#include <algorithm>
#include <span>

#include "plugins/weights.h"
#include "sched/queue/order.h"

namespace gw::sched {

using base::check_weights;
using base::weight_of;

/// Seconds still to run, as far as is known; very long if not.
inline double remaining_seconds(const JobFacts& facts) {
  return facts.remaining == base::kUnlimited ? 1e15 : static_cast<double>(facts.remaining.us) / 1e6;
}

inline double boost(const PendingJob& job) { return static_cast<double>(job.qos_priority - job.nice); }

/// Is the running job served after the waiting one: of a lower submitted priority, or of the same and a larger key?
inline bool is_behind(const JobFacts& running, const JobFacts& waiting, double running_key, double waiting_key) {
  if (running.job.priority != waiting.job.priority) return running.job.priority < waiting.job.priority;
  return running_key > waiting_key;
}

/// GPU-seconds still to come, by the GPUs that it asks for; very many if that is not known.
inline double remaining_service(const JobFacts& facts) {
  return remaining_seconds(facts) * std::max(facts.asked, 1e-3);
}

}  // namespace gw::sched
